// Dumps of PyTorch's flight recorder: times of collectives, and where a run hangs.
#include "logs/nccl/flight_recorder.h"

#include "io/catalog/catalog.h"
#include "io/input/measured_network.h"
#include "tests/logs/nccl/flight_sample.h"
#include "tests/logs/readings.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

constexpr long kMebibyte = 1 << 20;

FlightDump dump_of(const std::string& entries, int rank) {
  return detect(flight_dump(entries), fmt::format("trace_{}", rank)).dumps.at(0);
}

std::string hung_text(const std::vector<FlightDump>& dumps) {
  std::string text;
  for (const Diagnostic& d : hung_collectives(dumps)) text += to_string(d) + "\n";
  return text;
}

}  // namespace

// Faults that this catches: a mean where the least is wanted, input for output, elements for bytes, milliseconds.
TEST_CASE("durations of a dump are rows as of nccl-tests", "[calibrate]") {
  const std::string entries = flight_entry(1, "all_reduce", kMebibyte, kMebibyte, "0.5") + "," +
                              flight_entry(2, "all_reduce", kMebibyte, kMebibyte, "0.25") + "," +
                              flight_entry(3, "_all_gather_base", kMebibyte, 8 * kMebibyte, "1.5") + "," +
                              flight_entry(4, "broadcast", 64, 64, "0.02") + "," +
                              flight_entry(5, "all_reduce", kMebibyte, kMebibyte, "", "started");
  const Detected d = detect(flight_dump(entries), "nccl_trace_rank_3");
  CHECK(d.kinds.at(0).name == "flight recorder dump");
  REQUIRE(d.nccl.size() == 2);
  const NcclTable &gather = d.nccl[0], &reduce = d.nccl[1];
  CHECK(gather.program == "all_gather_perf");
  CHECK_FALSE(gather.reduces);
  CHECK(gather.times.at(0).bytes == 8 * kMebibyte);
  CHECK(gather.times.at(0).seconds == Approx(0.0015));
  CHECK(gather.times.at(0).bus_factor == Approx(7.0 / 8));
  CHECK(reduce.ranks == 8);
  CHECK(reduce.members.size() == 8);
  CHECK(reduce.times.size() == 1);
  CHECK(reduce.times.at(0).seconds == Approx(0.00025));
  CHECK(reduce.times.at(0).bus_factor == Approx(14.0 / 8));
  REQUIRE(d.collectives.size() == 3);
  CHECK(d.collectives[1].count == 2);
  CHECK(d.dumps.at(0).rank == 3);
  // The groups' ranks may be missing: then the operation alone is known.
  std::string text = flight_dump(entries);
  text.erase(text.find(",\"pg_config\""));
  const Detected bare = detect(text + "}", "x");
  CHECK(bare.nccl.empty());
  CHECK(bare.collectives.size() == 3);
  CHECK(bare.dumps.at(0).rank == -1);
}

// Ranks of one job: the least of them is the collective's; a group of one GPU of each node says less than a table.
TEST_CASE("dumps of several ranks are one table", "[calibrate]") {
  const topology::Instance on = io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").instance("p5.48xlarge");
  std::vector<NcclTable> tables;
  for (const char* milliseconds : {"0.5", "0.2", "0.9"}) {
    const Detected d =
        detect(flight_dump(flight_entry(1, "all_reduce", kMebibyte, kMebibyte, milliseconds)), "x");
    tables.insert(tables.end(), d.nccl.begin(), d.nccl.end());
  }
  const std::vector<MeasuredCollective> points = io::points_of_nccl(tables, on);
  REQUIRE(points.size() == 1);
  CHECK(points[0].seconds == Approx(0.0002));
  CHECK(points[0].ranks == 8);
  CHECK(points[0].nodes == 1);
  for (NcclTable& table : tables) table.members = {0, 8, 16, 24, 32, 40, 48, 56};
  CHECK(io::points_of_nccl(tables, on).empty());
}

TEST_CASE("a dump without durations says so", "[calibrate]") {
  const Detected d = detect(flight_dump(flight_entry(1, "all_reduce", kMebibyte, kMebibyte, "")), "trace_0");
  CHECK(d.nccl.empty());
  CHECK(skips(d, 0, "TORCH_NCCL_ENABLE_TIMING=1"));
}

TEST_CASE("ranks that a hung collective waits for", "[calibrate]") {
  const std::string done = flight_entry(3, "all_reduce", kMebibyte, kMebibyte, "");
  const auto at = [&](const char* op, const char* state) {
    return done + "," + flight_entry(4, op, kMebibyte, kMebibyte, "", state);
  };
  std::vector<FlightDump> dumps;
  for (int rank = 0; rank < 6; ++rank) dumps.push_back(dump_of(at("all_reduce", "started"), rank));
  dumps.push_back(dump_of(done, 6));
  const std::string text = hung_text(dumps);
  INFO(text);
  CHECK(text.find("all_reduce 4 of group 0 (default_pg), 1048576 bytes, had not completed; rank 6 did not "
                  "call it; ranks "
                  "0-5 started it; no dump of rank 7 is given") != std::string::npos);
  CHECK(text.find("look at the logs and the threads of rank 6") != std::string::npos);
  // A dump that is given twice is noticed, and its rank counts once.
  std::vector<FlightDump> twice = dumps;
  twice.push_back(dumps[0]);
  CHECK(hung_text(twice).find("left out: a second dump of rank 0") != std::string::npos);
  CHECK(hung_text(twice).find("ranks 0-5 started it") != std::string::npos);
  dumps[6] = dump_of(at("broadcast", "scheduled"), 6);
  CHECK(hung_text(dumps).find("rank 6 called another operation in its place") != std::string::npos);
  dumps[6] = dump_of(at("all_reduce", "scheduled"), 6);
  dumps.push_back(dump_of(at("all_reduce", "started"), 7));
  CHECK(hung_text(dumps).find("look at the network and the GPUs") != std::string::npos);
  for (FlightDump& d : dumps) d = dump_of(done, d.rank);
  CHECK(hung_text(dumps).empty());  // all is well
}

// A differential test: the pickle of a dump says what its JSON says. 300 entries need numbers of more than a byte.
TEST_CASE("a dump reads the same as a pickle", "[calibrate]") {
  std::string entries;
  for (int i = 1; i <= 300; ++i) {
    const std::string ms = fmt::format("0.{:03}", 100 + i);
    entries += flight_entry(i, i % 2 == 0 ? "all_reduce" : "_reduce_scatter_base", kMebibyte + 64 * i,
                            kMebibyte, ms.c_str()) +
               ",";
  }
  const std::string json =
      flight_dump(entries + flight_entry(70'000, "all_reduce", 1L << 40, 1L << 40, "", "started"));
  const Detected a = detect(json, "trace_5"), b = detect(TorchPickle::of(json), "trace_5");
  CHECK(b.kinds.at(0).name == "flight recorder dump");
  REQUIRE(a.collectives.size() == 300);
  REQUIRE(a.collectives.size() == b.collectives.size());
  for (std::size_t i = 0; i < a.collectives.size(); ++i) {
    CHECK(a.collectives[i].op == b.collectives[i].op);
    CHECK(a.collectives[i].bytes == b.collectives[i].bytes);
    CHECK(a.collectives[i].seconds == b.collectives[i].seconds);
  }
  CHECK(a.nccl.size() == b.nccl.size());
  CHECK(b.dumps.at(0).rank == 5);
  CHECK(hung_text(a.dumps) == hung_text(b.dumps));
  CHECK(hung_text(b.dumps).find("all_reduce 70000 of group 0") != std::string::npos);
}

// Faults that this catches: a call that is run, a read behind the end, memory or time without a bound.
TEST_CASE("pickles that are cut, hostile or of something else", "[calibrate]") {
  const std::string start =
                        "\x80\x02"
                        "ctorch.jit._pickle\n",
                    tag = start + "restore_type_tag\n";
  const std::string whole =
      TorchPickle::of(flight_dump(flight_entry(1, "all_reduce", kMebibyte, kMebibyte, "0.5")));
  for (std::size_t size = tag.size(); size < whole.size(); ++size) {
    INFO(size);
    CHECK(refusal(whole.substr(0, size)).find("a pickle that is not read") != std::string::npos);
  }
  CHECK(refusal(tag + "cos\nsystem\n(X\x04\0\0\0true\x85R.").find("names something to import") !=
        std::string::npos);
  CHECK(refusal(start + "build_tensor_from_id\n.").find("not known") != std::string::npos);
  for (const std::string ending : {"b", "\x81", "Q", "\x95", "0"})
    CHECK(refusal(tag + "}" + ending + ".").find("opcode 0x") != std::string::npos);
  // A list of itself; lists of lists, doubled 60 times; a dict with what is left out, many times.
  CHECK(refusal(tag + "0").find("opcode") != std::string::npos);
  CHECK(refusal(start + std::string("restore_type_tag\nq\0]q\1(h\1e\x86R.", 30)).find("a pickle") !=
        std::string::npos);
  std::string doubled = start + "restore_type_tag\n]";
  for (int i = 0; i < 60; ++i) {
    doubled += std::string("q") + static_cast<char>(i) + "(h" + static_cast<char>(i) + "h" +
               static_cast<char>(i) + "t";
  }
  CHECK_FALSE(refusal(doubled + "\x85.").empty());
  CHECK(refusal(tag + "]X" + std::string("\1\0\0\0", 4) + "a\x86R.").find("no dump of its flight recorder") !=
        std::string::npos);
}
