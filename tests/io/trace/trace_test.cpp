#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "io/trace/chrome_trace.h"
#include "io/trace/perfetto.h"
#include "io/trace/protobuf.h"
#include "io/trace/trace_events.h"
#include "models/step/timeline.h"
#include "tests/catch.h"
#include "tests/io/wire.h"
#include "tests/models/setup.h"
#include "text/document.h"
#include "topology/chip_graph.h"

using namespace trnplan;
using models::Timeline;

namespace {

Timeline timeline_of(const char* text, int batch, std::size_t most = 200'000) {
  models::Job job = job_of("llama3-8b", 1, 2048, batch);
  job.architecture.layers = 8;
  const models::Strategy s = strategy_of(job, text);
  const models::StepModel model(job, s, datasheet(), topology::ChipGraph(job.cluster.instance));
  return models::timeline(model, job, s, datasheet(), {.most_slices = most});
}

/// Timelines with every kind of slice: passes and operators, messages that block and that do not, a
/// collective engine, passes without operators.
std::vector<Timeline> timelines() {
  std::vector<Timeline> all;
  all.push_back(timeline_of("tp=8", 16));
  all.push_back(timeline_of("tp=8,pp=4", 8));
  all.push_back(timeline_of("tp=8,pp=4,vpp=2", 8));
  all.push_back(timeline_of("tp=8,pp=4,schedule=zero-bubble", 8));
  all.push_back(timeline_of("tp=8,cp=4", 4));
  all.push_back(timeline_of("tp=8,pp=4", 64, 1000));
  return all;
}

Timeline small() {
  Timeline t;
  t.lanes = {{}};
  t.tracks = {{0, "Tensor", false, ""}, {0, "HBM used", true, "bytes"}};
  t.slices.push_back({.track = 0, .start = {1'000'000}, .end = {3'000'999}, .name = "matmul"});
  t.samples.push_back({1, {1'000'001}, 4096});
  t.end = {3'000'999};
  return t;
}

struct Counts {
  std::size_t slices = 0, samples = 0, flows = 0;
  std::set<std::string> names;
  std::map<std::string, std::map<std::uint64_t, int>> annotations;  ///< how often each has a value
  bool operator==(const Counts&) const = default;
};

Counts counts_of(const Timeline& t) {
  Counts c{t.slices.size(), t.samples.size(), 0, {}, {}};
  for (const Timeline::Slice& s : t.slices) {
    c.flows += s.flow != 0 ? 1 : 0;
    c.names.insert(std::string(s.name));
    if (s.micro_batch >= 0) ++c.annotations["micro_batch"][static_cast<std::uint64_t>(s.micro_batch)];
    if (s.chunk >= 0) ++c.annotations["chunk"][static_cast<std::uint64_t>(s.chunk)];
  }
  return c;
}

/// Reads a trace back, checking every packet.
Counts read_perfetto(const std::string& trace, const Timeline& t) {
  Counts counts;
  struct Track {
    std::string name;
    bool counter = false;
    std::uint64_t last = 0, unit = 0;
    std::vector<std::string> open;
  };
  std::map<std::uint64_t, Track> tracks;
  std::map<std::uint64_t, std::string> processes;
  std::map<std::uint64_t, int> flows;  // 1: sent, 2: received
  std::uint64_t now = 0;
  for (const WireField& packet : wire_fields(trace)) {
    REQUIRE(packet.number == 1);
    const WireField descriptor = wire_field(packet.text, 60);
    if (descriptor.number != 0) {
      const std::uint64_t uuid = wire_field(descriptor.text, 1).value;
      REQUIRE(tracks.count(uuid) + processes.count(uuid) == 0);
      const WireField process = wire_field(descriptor.text, 3), parent = wire_field(descriptor.text, 5),
                      counter = wire_field(descriptor.text, 8);
      if (process.number != 0) {
        CHECK(wire_field(process.text, 1).value > 0);
        processes[uuid] = wire_field(process.text, 6).text;
      } else {
        CHECK(processes.count(parent.value) == 1);
        tracks[uuid] = {std::string(wire_field(descriptor.text, 2).text),
                        counter.number != 0,
                        0,
                        wire_field(counter.text, 3).value,
                        {}};
      }
      continue;
    }
    CHECK(wire_field(packet.text, 10).value == 1);
    const std::uint64_t at = wire_field(packet.text, 8).value;
    REQUIRE(at >= now);
    now = at;
    const std::string_view event = wire_field(packet.text, 11).text;
    Track& track = tracks.at(wire_field(event, 11).value);
    REQUIRE(at >= track.last);
    track.last = at;
    switch (wire_field(event, 9).value) {
      case 1: {
        CHECK_FALSE(track.counter);
        track.open.emplace_back(wire_field(event, 23).text);
        counts.names.insert(track.open.back());
        CHECK_FALSE(wire_field(event, 22).text.empty());
        for (const WireField& f : wire_fields(event)) {
          if (f.number != 4) continue;
          ++counts.annotations[std::string(wire_field(f.text, 10).text)][wire_field(f.text, 4).value];
        }
        const std::uint64_t sent = wire_field(event, 47).value, received = wire_field(event, 48).value;
        if (sent != 0) CHECK(++flows[sent] == 1);
        if (received != 0) CHECK(++flows[received] == 2);
        counts.flows += sent + received != 0 ? 1 : 0;
        break;
      }
      case 2:
        REQUIRE_FALSE(track.open.empty());
        track.open.pop_back();
        ++counts.slices;
        break;
      case 4: {
        CHECK(track.counter);
        ++counts.samples;
        if (track.unit == 3) {
          CHECK(wire_field(event, 30).value > 0);
        } else {
          const double use = std::bit_cast<double>(wire_field(event, 44).value);
          CHECK(use >= 0);
          CHECK(use <= 1);
        }
        break;
      }
      default:
        FAIL("an event of no known type");
    }
  }
  for (const auto& [uuid, track] : tracks) CHECK(track.open.empty());
  for (const auto& [id, ends] : flows) CHECK(ends == 2);
  CHECK(now == static_cast<std::uint64_t>(io::nanoseconds(t.end)));
  REQUIRE(tracks.size() == t.tracks.size());
  std::size_t i = 0;
  for (const auto& [uuid, track] : tracks) {
    CHECK(track.name == t.tracks[i].name);
    CHECK(track.counter == t.tracks[i++].counter);
  }
  return counts;
}

Counts read_chrome(const std::string& trace, const Timeline& t) {
  Counts counts;
  const nlohmann::json j = nlohmann::json::parse(trace);
  std::map<int, std::vector<std::int64_t>> open;  // ends of the slices of a tid
  std::map<std::uint64_t, int> flows;
  std::set<std::string> threads;
  std::int64_t now = 0;
  const auto ns = [](const nlohmann::json& us) { return std::llround(us.get<double>() * 1000); };
  constexpr std::int64_t kOpen = -1;
  for (const nlohmann::json& e : j.at("traceEvents")) {
    const std::string ph = e.at("ph");
    if (ph == "M") {
      if (e.at("name") == "thread_name") threads.insert(e.at("args").at("name"));
      continue;
    }
    const std::int64_t at = ns(e.at("ts"));
    REQUIRE(at >= now);
    now = at;
    if (ph == "C") {
      ++counts.samples;
      continue;
    }
    std::vector<std::int64_t>& stack = open[e.at("tid")];
    CHECK(t.tracks.at(e.at("tid")).lane == e.at("pid"));
    while (!stack.empty() && stack.back() != kOpen && stack.back() <= at) stack.pop_back();
    if (ph == "X") {
      const std::int64_t end = at + ns(e.at("dur"));
      REQUIRE((stack.empty() || stack.back() == kOpen || end <= stack.back()));
      stack.push_back(end);
      ++counts.slices;
    } else if (ph == "B") {
      stack.push_back(kOpen);
      ++counts.slices;
    } else if (ph == "E") {
      REQUIRE_FALSE(stack.empty());
      REQUIRE(stack.back() == kOpen);
      stack.pop_back();
    } else {
      REQUIRE_FALSE(stack.empty());
      CHECK(stack.back() == kOpen);
      CHECK((ph == "s" || (ph == "f" && e.at("bp") == "e")));
      CHECK(++flows[e.at("id")] == (ph == "s" ? 1 : 2));
      ++counts.flows;
      continue;
    }
    if (ph != "E" && e.contains("args")) {
      for (const auto& [key, value] : e.at("args").items()) ++counts.annotations[key][value];
    }
    if (ph != "E") counts.names.insert(e.at("name").get<std::string>());
  }
  for (const auto& [id, ends] : flows) CHECK(ends == 2);
  for (const Timeline::Track& track : t.tracks) CHECK(threads.count(track.name) == (track.counter ? 0 : 1));
  return counts;
}

}  // namespace

TEST_CASE("varints, fixed and packed fields", "[io][trace]") {
  CHECK(io::ProtoMessage().number(1, 0).bytes() == from_hex("0800"));
  CHECK(io::ProtoMessage().number(1, 127).number(2, 128).bytes() == from_hex("087f 108001"));
  CHECK(io::ProtoMessage().number(16, ~std::uint64_t{0}).bytes() == from_hex("8001 ffffffffffffffffff01"));
  CHECK(io::ProtoMessage().fixed64(47, 0x0102030405060708).bytes() == from_hex("f902 0807060504030201"));
  CHECK(io::ProtoMessage().real(44, 1.0).bytes() == from_hex("e102 000000000000f03f"));
  CHECK(io::ProtoMessage().packed(5, {}).bytes().empty());
  CHECK(io::ProtoMessage().packed(5, {1, 300}).bytes() == from_hex("2a03 01ac02"));
}

// By hand from the field numbers; the bytes of begin, end and counter as google/perfetto@ec5d16b1 writes
// them.
TEST_CASE("a Perfetto trace of one slice and one sample, byte by byte", "[io][trace]") {
  Timeline t = small();
  CHECK(io::perfetto_trace(t) == from_hex("0a14 e20311 0801 1a0b 0801 3207 7374616765 2030 5803"
                                          "0a0f e2030c 0802 2801 1206 54656e736f72"
                                          "0a17 e20314 0803 2801 42021803 1208 48424d2075736564 6001"
                                          "0a14 40e807 5001 5a0d 4801 5802 ba0106 6d61746d756c"
                                          "0a0f 40e807 5001 5a08 4804 5803 f0018020"
                                          "0a0b 40b817 5001 5a04 4802 5802"));
}

TEST_CASE("every slice, sample and message of a step is in its traces", "[io][trace]") {
  for (const Timeline& t : timelines()) {
    CAPTURE(t.tracks.size(), t.slices.size(), t.micro_batches);
    const Counts expected = counts_of(t);
    CHECK(expected.slices > 20);
    CHECK(read_perfetto(io::perfetto_trace(t), t) == expected);
    CHECK(read_chrome(io::chrome_trace(t), t) == expected);
  }
}

TEST_CASE("slices of a virtual pipeline say their micro-batch and chunk", "[io][trace]") {
  const auto annotations = counts_of(timeline_of("tp=8,pp=4,vpp=2", 8)).annotations;
  CHECK(annotations.at("micro_batch").size() == 8);
  CHECK(annotations.at("chunk").size() == 2);
  CHECK(counts_of(timeline_of("tp=8,pp=4", 8)).annotations.count("chunk") == 0);
}

TEST_CASE("the same step gives the same bytes", "[io][trace]") {
  const Timeline first = timeline_of("tp=8,pp=4", 8), second = timeline_of("tp=8,pp=4", 8);
  CHECK(io::perfetto_trace(first) == io::perfetto_trace(second));
  CHECK(io::chrome_trace(first) == io::chrome_trace(second));
}

TEST_CASE("slices that do not nest are our fault", "[io][trace]") {
  Timeline t = small();
  t.slices.push_back({.track = 0, .start = {2'000'000}, .end = {4'000'000}, .name = "late"});
  CHECK_THROWS_AS(io::perfetto_trace(t), std::logic_error);
  t.slices.back().start = {3'000'999};  // within a nanosecond of the end of the other
  CHECK_NOTHROW(io::chrome_trace(t));
}

TEST_CASE("names are escaped in JSON", "[io][trace]") {
  Timeline t = small();
  t.tracks[0].name = "a \"b\"\n\\\x01";
  t.slices[0].name = "\xff\"";
  const nlohmann::json j = nlohmann::json::parse(io::chrome_trace(t));
  bool found = false;
  for (const nlohmann::json& e : j.at("traceEvents"))
    found = found || (e.at("name") == "thread_name" && e.at("args").at("name") == t.tracks[0].name);
  CHECK(found);
}
