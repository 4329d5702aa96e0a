// Logs that arrive piece by piece: the same results for all cuts, with few bytes held.
#include <filesystem>

#include <fmt/format.h>

#include "logs/detect/log_reader.h"
#include "logs/profile/kineto.h"
#include "logs/profile/neuron_profile.h"
#include "logs/profile/profile_tables.h"
#include "logs/training/event_file.h"
#include "tests/logs/readings.h"
#include "text/byte_stream.h"
#include "text/json_reader.h"
#include "text/line_splitter.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

constexpr std::size_t kPieces[] = {1, 7, 4096};

/// Everything that was understood, in words.
std::string words_of(const Detected& d) {
  std::string text;
  for (const auto& k : d.kinds) text += fmt::format("{} {}\n", k.pieces, k.name);
  for (const StepSample& s : d.steps) {
    text += fmt::format("{}-{} {} {} {} {} {} {} {} {} {}\n", s.at.line, s.last_line, s.format, s.basis,
                        s.framework, s.seconds, s.spread.value_or(-1), s.count, s.left_out,
                        s.wall_seconds.value_or(-1), s.global_batch.value_or(-1));
  }
  for (const MemorySample& m : d.memory)
    text += fmt::format("{} {} {} {} {}\n", m.at.line, m.bytes.value_or(-1), m.core.value_or(-1), m.where,
                        m.count);
  for (const CollectiveSample& c : d.collectives)
    text += fmt::format("{} {} {} {} {} {} {}\n", c.at.line, c.op, c.ranks, c.bytes, c.seconds,
                        c.median_seconds, c.count);
  for (const DeviceSample& g : d.devices)
    text += fmt::format("{} {} {} {}\n", g.at.line, g.name, g.seconds, g.engine_seconds.size());
  for (const NccomTable& t : d.tables) {
    text += fmt::format("{}:{} {} {} rows\n", t.at.line, t.at.column, t.command, t.rows.size());
    for (const NccomRow& r : t.rows) text += fmt::format("{} {} {}\n", r.at.line, r.bytes, r.seconds);
    for (const Diagnostic& w : t.warnings) text += to_string(w) + "\n";
  }
  text += fmt::format("{} {} {}\n", d.points.size(), d.runs.size(), d.kernels.rows);
  for (const Diagnostic& w : d.skipped) text += to_string(w) + "\n";
  return text;
}

std::string words_of(ByteStream& bytes) {
  NccomCommand fallback;
  fallback.op = "all_gather";
  fallback.ranks = 32;
  try {
    return words_of(detect(bytes, "log", fallback));
  } catch (const InputError& e) {
    return e.what();
  }
}

/// A pipe: what was read is gone.
class Pipe : public ByteStream {
 public:
  Pipe(std::string_view text, std::size_t piece) : text_(text, piece) {}
  std::size_t read(char* out, std::size_t size) override { return text_.read(out, size); }
  bool rewind() override { return false; }
  bool rewindable() const override { return false; }

 private:
  TextStream text_;
};

std::vector<std::string> fixtures() {
  std::vector<std::string> texts;
  for (const char* folder : {"/tests/calibrate/fixtures/logs", "/tests/calibrate/fixtures/nccom",
                             "/tests/calibrate/fixtures/kernels", "/tests/launch/fixtures"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(TRNPLAN_SOURCE_DIR) + folder))
      texts.push_back(read_text(entry.path()));
  }
  return texts;
}

/// `text` as often as it takes to be longer than what tells the kind of a file.
std::string long_text(const std::string& heading, const std::string& text,
                      std::size_t bytes = (1 << 20) + (1 << 18)) {
  std::string all = heading;
  while (all.size() < bytes) all += text;
  return all;
}

}  // namespace

TEST_CASE("every fixture reads the same in pieces of 1, 7 and 4096 bytes, also from a pipe", "[calibrate]") {
  const std::vector<std::string> all = fixtures();
  REQUIRE(all.size() > 35);
  for (const std::string& text : all) {
    TextStream whole(text);
    const std::string expected = words_of(whole);
    for (const std::size_t piece : kPieces) {
      INFO(text.substr(0, 200));
      TextStream cut(text, piece);
      CHECK(words_of(cut) == expected);
      Pipe pipe(text, piece);
      CHECK(words_of(pipe) == expected);
    }
  }
}

TEST_CASE("files longer than their head read the same in pieces", "[calibrate]") {
  std::string collectives = log_text("cc-op.csv"), report = log_text("neuron-monitor-trn1.2xlarge.json");
  const std::size_t heading = collectives.find('\n') + 1;
  if (!collectives.ends_with('\n')) collectives += '\n';
  if (!report.ends_with('\n')) report += '\n';
  std::string event =
      R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#12", "dur": 250000.5, "args": {"a": [1, "\"x\u00e4"]}},)";
  const std::string texts[] = {
      long_text(collectives.substr(0, heading), collectives.substr(heading)),
      long_text("", report),
      long_text("", report + "{\"neuron_runtime_data\": [ cut\n"),
      long_text(R"({"traceEvents": [)", event) + event.substr(0, event.size() - 1) + "]}",
      long_text(R"({"traceEvents": [)", event),  // cut
      long_text(std::string(R"({"other": [)"), "1234567, ") + R"(1], "traceEvents": [)" +
          event.substr(0, event.size() - 1) + "]}",  // the key behind the head
      long_text(log_text("bert-log-lines.txt"), "a line of no use\r\n") + log_text("nxd-llama3-70b.txt"),
  };
  for (const std::string& text : texts) {
    INFO(text.substr(0, 100));
    TextStream whole(text, text.size());
    const std::string expected = words_of(whole);
    CHECK(expected.find("nothing in it") == std::string::npos);
    for (const std::size_t piece : {997, 4096}) {
      TextStream cut(text, piece);
      CHECK(words_of(cut) == expected);
    }
  }
}

TEST_CASE("JSON and tables read from a stream as from a text", "[calibrate]") {
  const std::string trace = log_text("kineto-2-a100.json"), device = log_text("device-profile.json"),
                    table = log_text("instruction.csv");
  const auto as_words = [](Samples&& samples) {
    Detected d;
    take_samples(std::move(samples), d);
    return words_of(d);
  };
  const auto read_all = [&](const auto& open) {
    std::string all;
    {
      Samples out;
      auto json = open(trace);
      read_kineto(*json, "t", out);
      all += as_words(std::move(out)) + std::to_string(json->offset()) + " " + std::to_string(json->line()) +
             json->problem();
    }
    Samples out;
    auto json = open(device);
    read_device_profile(*json, "t", out);
    return all + as_words(std::move(out)) + std::to_string(json->column());
  };
  const std::string expected =
      read_all([](const std::string& text) { return std::make_unique<JsonReader>(text); });
  TextStream whole(table);
  Samples rows;
  read_profile_table(whole, "t", rows);
  const std::string expected_rows = as_words(std::move(rows));
  for (const std::size_t piece : kPieces) {
    std::vector<std::unique_ptr<TextStream>> streams;
    CHECK(read_all([&](const std::string& text) {
            streams.push_back(std::make_unique<TextStream>(text, piece));
            return std::make_unique<JsonReader>(*streams.back());
          }) == expected);
    TextStream cut(table, piece);
    Samples again;
    read_profile_table(cut, "t", again);
    CHECK(as_words(std::move(again)) == expected_rows);
  }
}

TEST_CASE("of a line of 3 MiB one is held, and the lines around it count", "[calibrate]") {
  const std::string text = "first\r\n" + std::string(3 << 20, 'x') + "\rthird\r\r\nlast";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, text.size()}) {
    LineSplitter lines;
    std::vector<std::string> seen;
    std::size_t most = 0;
    const auto take = [&](const RawLine& line) {
      seen.push_back(
          fmt::format("{} {} {} {}", line.number, line.text.size(), line.text.substr(0, 5), line.ended));
    };
    for (std::size_t at = 0; at < text.size(); at += piece) {
      lines.feed(std::string_view(text).substr(at, piece), take);
      most = std::max(most, lines.held());
    }
    lines.finish(take);
    CHECK(seen == std::vector<std::string>{"1 5 first true", "2 1048576 xxxxx true", "3 5 third true",
                                           "4 0  true", "5 4 last false"});
    CHECK(most <= kLineKept);
  }
}

TEST_CASE("event files record by record; a record too large is passed over", "[calibrate]") {
  const auto record = [](const std::string& data) {
    std::string length;
    for (int i = 0; i < 8; ++i) length += static_cast<char>(data.size() >> (8 * i));
    const auto crc = [](std::string_view bytes) {
      const std::uint32_t value = masked_crc32c(bytes);
      std::string four;
      for (int i = 0; i < 4; ++i) four += static_cast<char>(value >> (8 * i));
      return four;
    };
    return length + crc(length) + data + crc(data);
  };
  std::string file = record(std::string("\x1a\x0d", 2) + "brain.Event:2"),
              damaged = record(std::string((65 << 20), 'g'));
  damaged.back() ^= 1;
  file += record(std::string((65 << 20), 'g')) + damaged + record("\x08");
  for (const std::size_t piece : {std::size_t{1} << 20, file.size()}) {
    EventFile events("e");
    for (std::size_t at = 0; at < file.size(); at += piece)
      events.feed(std::string_view(file).substr(at, piece));
    Samples out;
    events.finish(out);
    std::string said;
    for (const Diagnostic& w : out.warnings.take()) said += fmt::format("{}: {}\n", w.at.line, w.problem);
    CHECK(said ==
          "3: the checksum of this record is wrong; it is left out\n"
          "4: this record is not an event; what comes before it is read\n"
          "0: this event file has no scalar\n");
  }
}
