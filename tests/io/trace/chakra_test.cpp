#include "io/trace/chakra.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/io/wire.h"
#include "tests/models/rank_totals.h"
#include "tests/models/setup.h"
#include "topology/chip_graph.h"

using namespace trnplan;
using models::CollectiveOp;
using models::RankTrace;
using Kind = RankTrace::Node::Kind;

namespace {

struct ReadNode {
  std::uint64_t id = 0, type = 0, micros = 0;
  std::string name;
  std::vector<std::uint64_t> needs;
  std::map<std::string, std::uint64_t> numbers;
  std::string group;
};

/// Every message of the file, to its last byte.
std::vector<ReadNode> nodes_in(const std::string& file) {
  std::vector<ReadNode> nodes;
  std::string_view rest = file;
  REQUIRE(wire_field(take(rest, take_varint(rest)), 1).text == "0.0.4");
  while (!rest.empty()) {
    ReadNode n;
    for (const WireField& f : wire_fields(take(rest, take_varint(rest)))) {
      if (f.number == 1) n.id = f.value;
      if (f.number == 2) n.name = f.text;
      if (f.number == 3) n.type = f.value;
      if (f.number == 7) n.micros = f.value;
      if (f.number == 4 || f.number == 5) {
        for (std::string_view ids = f.text; !ids.empty();) n.needs.push_back(take_varint(ids));
      }
      if (f.number == 10) {
        const auto fields = wire_fields(f.text);
        REQUIRE(fields.size() == 2);
        if (fields[0].text == "pg_name") {
          n.group = fields[1].text;
        } else {
          n.numbers[std::string(fields[0].text)] = fields[1].value;
        }
      }
    }
    nodes.push_back(std::move(n));
  }
  return nodes;
}

}  // namespace

// all_reduce_4npus_1MB/all_reduce.1.et of astra-sim/astra-sim@518bd513, as it is.
TEST_CASE("an all-reduce as ASTRA-sim's own example has it", "[io][chakra]") {
  RankTrace t;
  t.nodes.push_back({.kind = Kind::collective,
                     .name = "all_reduce_4npus_1MB",
                     .op = CollectiveOp::all_reduce,
                     .bytes = Bytes(1048576),
                     .members = 4});
  const std::string file = io::chakra_trace(t);
  CHECK(file.size() == 83);
  CHECK(file == from_hex("07 0a05302e302e34 4a 0801 1214 616c6c5f7265647563655f346e7075735f314d42 1807"
                         "520e 0a0969735f6370755f6f70 d80100 520d 0a09636f6d6d5f74797065 4800"
                         "520f 0a09636f6d6d5f73697a65 48808040"));
}

TEST_CASE("computing, then an all-gather of its shard", "[io][chakra]") {
  RankTrace t;
  t.nodes.push_back({.kind = Kind::compute, .name = "fwd", .length = {100'000'000}});
  t.nodes.push_back({.kind = Kind::collective,
                     .name = "ag",
                     .op = CollectiveOp::all_gather,
                     .bytes = Bytes(4 * 262144),
                     .members = 4,
                     .needs = {0}});
  const std::string file = io::chakra_trace(t);
  CHECK(file.size() == 96);
  CHECK(file ==
        from_hex(
            "070a05302e302e341b0801120366776418043864520e0a0969735f6370755f6f70d801003b08021202616718072a01"
            "01520e0a0969735f6370755f6f70d80100520d0a09636f6d6d5f747970654802520f0a09636f6d6d5f73697a654880"
            "8010"));
}

TEST_CASE("sizes by kind, groups and messages", "[io][chakra]") {
  RankTrace t;
  for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::all_to_all,
                                CollectiveOp::reduce_scatter}) {
    t.nodes.push_back(
        {.kind = Kind::collective, .name = "c", .op = op, .bytes = Bytes(1 << 20), .group = 6, .members = 8});
  }
  t.nodes.push_back({.kind = Kind::collective, .name = "scalar", .bytes = Bytes(4), .members = 8});
  t.nodes.push_back({.kind = Kind::send, .name = "s", .bytes = Bytes(100), .peer = 3, .tag = 9});
  t.nodes.push_back({.kind = Kind::receive, .name = "r", .bytes = Bytes(100), .peer = 0, .tag = 8});
  t.nodes.push_back({.kind = Kind::compute, .name = "k", .flops = Flops(1e12)});
  const std::vector<ReadNode> n = nodes_in(io::chakra_trace(t));
  REQUIRE(n.size() == 8);
  const std::pair<std::uint64_t, std::uint64_t> expected[] = {
      {0, 1 << 20}, {2, 1 << 17}, {6, 1 << 20}, {7, 1 << 20}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(n[i].numbers.at("comm_type") == expected[i].first);
    CHECK(n[i].numbers.at("comm_size") == expected[i].second);
    CHECK(n[i].group == "7");
  }
  CHECK(n[4].numbers.at("comm_size") == 64 * 8);
  CHECK(n[4].group.empty());
  CHECK(n[5].numbers == std::map<std::string, std::uint64_t>{
                            {"is_cpu_op", 0}, {"comm_dst", 3}, {"comm_size", 100}, {"comm_tag", 9}});
  CHECK(n[6].numbers == std::map<std::string, std::uint64_t>{
                            {"is_cpu_op", 0}, {"comm_src", 0}, {"comm_size", 100}, {"comm_tag", 8}});
  CHECK(n[7].numbers.at("num_ops") == 1'000'000'000'000);
  CHECK(io::comm_groups_json({{0, 1}, {2, 3}}) == "{\"1\":[0,1],\"2\":[2,3]}\n");
  t.nodes = {{.kind = Kind::collective, .name = "p", .op = CollectiveOp::permute, .members = 8}};
  CHECK_THROWS_AS(io::chakra_trace(t), std::logic_error);
}

TEST_CASE("microseconds are rounded so that their sums stay right", "[io][chakra]") {
  RankTrace t;
  for (int i = 0; i < 1000; ++i) t.nodes.push_back({.name = "third", .length = {333'333}});
  std::uint64_t sum = 0;
  for (const ReadNode& n : nodes_in(io::chakra_trace(t))) {
    CHECK(n.micros <= 1);
    sum += n.micros;
  }
  CHECK(sum == 333);
}

TEST_CASE("a whole step, read back: ids, dependencies, groups, messages, totals", "[io][chakra]") {
  const char* text = GENERATE("tp=8", "tp=8,pp=4", "tp=8,pp=4,vpp=2", "tp=8,pp=2,vpp=4", "tp=8,cp=4",
                              "tp=8,cp=2,pp=2", "tp=8,zero1=false");
  CAPTURE(text);
  models::Job job = job_of("llama3-8b", 1, 2048, 8);
  job.architecture.layers = 8;
  const models::Strategy s = strategy_of(job, text);
  const models::StepModel model(job, s, datasheet(), topology::ChipGraph(job.cluster.instance));
  const models::RankTracer tracer(model);
  const nlohmann::json groups = nlohmann::json::parse(io::comm_groups_json(tracer.groups()));
  using Message = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
  std::map<Message, int> messages;
  std::map<std::string, std::map<int, std::vector<std::pair<std::string, std::uint64_t>>>> order;
  std::map<CollectiveOp, double> bytes, rounded;  // by at most half a byte a shard
  const std::map<std::uint64_t, CollectiveOp> kinds = {{0, CollectiveOp::all_reduce},
                                                       {2, CollectiveOp::all_gather},
                                                       {6, CollectiveOp::all_to_all},
                                                       {7, CollectiveOp::reduce_scatter}};
  double ops = 0;
  for (int rank = 0; rank < tracer.ranks(); ++rank) {
    const RankTrace trace = tracer.trace(rank);
    const std::string file = io::chakra_trace(trace);
    CHECK(file == io::chakra_trace(models::RankTracer(model).trace(rank)));
    std::uint64_t micros = 0, id = 0;
    for (const ReadNode& n : nodes_in(file)) {
      REQUIRE(n.id == ++id);
      for (const std::uint64_t needed : n.needs) REQUIRE((needed >= 1 && needed < n.id));
      micros += n.micros;
      const auto r = static_cast<std::uint64_t>(rank);
      const auto number = [&](const char* key) { return n.numbers.at(key); };
      if (n.type == 4 && n.numbers.count("num_ops") > 0) ops += static_cast<double>(number("num_ops"));
      if (n.type == 5) bytes[CollectiveOp::send_recv] += static_cast<double>(number("comm_size"));
      if (n.type == 5) messages[{r, number("comm_dst"), number("comm_tag"), number("comm_size")}] += 1;
      if (n.type == 6) messages[{number("comm_src"), r, number("comm_tag"), number("comm_size")}] += 1000;
      if (n.type == 7) {
        if (!n.group.empty()) {
          const std::vector<int> members = groups.at(n.group);
          CHECK(std::find(members.begin(), members.end(), rank) != members.end());
          const CollectiveOp op = kinds.at(number("comm_type"));
          const double shards = op == CollectiveOp::all_gather ? static_cast<double>(members.size()) : 1;
          bytes[op] += static_cast<double>(number("comm_size")) * shards;
          rounded[op] += 0.5 * shards;
        }
        order[n.group][rank].emplace_back(n.name, number("comm_size"));
      }
    }
    double seconds = 0;
    for (const RankTrace::Node& n : trace.nodes) seconds += to_seconds(n.length).value;
    CHECK(std::abs(static_cast<double>(micros) * 1e-6 - seconds) < 1e-6);
  }
  for (const auto& [message, ends] : messages) REQUIRE(ends == 1001);
  CHECK(messages.empty() == (s.pipeline_parallel == 1 && s.context_parallel == 1));
  for (const auto& [group, by_rank] : order) {
    CHECK(by_rank.size() ==
          (group.empty() ? static_cast<std::size_t>(tracer.ranks()) : groups.at(group).size()));
    for (const auto& [rank, calls] : by_rank) REQUIRE(calls == by_rank.begin()->second);
  }
  // HFU counts the same operations.
  const models::StepReport report = model.simulate();
  const double executed =
      report.hfu * report.step.value * job.cluster.instance.core.bf16.value * job.cluster.cores();
  CHECK(ops == Approx(executed).epsilon(1e-9));
  // And so does the simulation the bytes, kind by kind.
  for (const auto& [op, wanted] : models::bytes_of_all_ranks(model)) {
    CAPTURE(static_cast<int>(op));
    CHECK(std::abs(bytes[op] - wanted) <= rounded[op] + 1e-12 * wanted);
    CHECK(rounded[op] < 1e-4 * wanted);
  }
}
