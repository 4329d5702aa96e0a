#include "logs/table/layout_runs.h"

#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

const std::string kHeader =
    "id,source,gpu,gpus,layers,hidden,seq,tp,pp,dp,micro_batch,global_batch,measured,step_s,mem_gib\n";

std::vector<LayoutRun> layouts_of(const std::string& rows) {
  return parse_layout_runs(kHeader + rows, "t.csv", RunTable::gpu_runs);
}

}  // namespace

TEST_CASE("tables are distinguished by their headers", "[logs]") {
  CHECK(table_of(kHeader) == RunTable::gpu_runs);
  CHECK(table_of("case,suite,gpu,mem_max\n") == RunTable::gpu_memory);
  CHECK(table_of("id,kind,model,hardware\n") == RunTable::neuron_runs);
  CHECK_FALSE(table_of("a,b\n"));
  CHECK_FALSE(table_of(""));
  CHECK_FALSE(table_of(std::string("\0\xff\"", 3)));
}

TEST_CASE("a row of a run and one that ran out of memory", "[logs]") {
  const auto runs =
      layouts_of("a,s,G,16,4,64,128,2,1,8,1,8,step_s,0.5,2\nb,s,G,16,4,64,128,2,1,8,1,8,oom,,\n");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].faults.empty());
  CHECK(runs[0].step_seconds == 0.5);
  CHECK(runs[0].memory_bytes == 2.0 * 1024 * 1024 * 1024);
  CHECK(runs[0].data_parallel == 8);
  CHECK(runs[1].out_of_memory);
  CHECK_FALSE(runs[1].step_seconds);
  CHECK(runs[1].at.line == 3);
}

TEST_CASE("a hostile row spoils no other", "[logs]") {
  const std::string good = "ok,s,G,16,4,64,128,2,1,8,1,8,step_s,0.5,2\n";
  const struct {
    const char* row;
    int column;
    const char* problem;
  } bad[] = {{"x,s,G,1e99,4,64,128,2,1,8,1,8,step_s,0.5,\n", 7, "not a whole number"},
             {"x,s,G,16,-4,64,128,2,1,8,1,8,step_s,0.5,\n", 10, "not a number of at least 0"},
             {"x,s,G,16,4,64,128,2,1,8,1,8,step_s,nan,\n", 36, "not a number of at least 0"},
             {"x,s,G,16,4,64,128,2,1,8,1,8,step_s,0,\n", 36, "a step takes some time"},
             {"x,s,G,16,4,64,128,2,1,8,1,8,oom,3,\n", 33, "no step time"},
             {"x,s,G,16,4\n", 1, "5 fields, the header has 15"},
             {",s,G,16,4,64,128,2,1,8,1,8,step_s,0.5,\n", 1, "no id"}};
  for (const auto& b : bad) {
    CAPTURE(b.row);
    const auto runs = layouts_of(b.row + good);
    REQUIRE(runs.size() == 2);
    REQUIRE(runs[0].faults.size() == 1);
    CHECK(runs[0].faults[0].at.line == 2);
    CHECK(runs[0].faults[0].at.column == b.column);
    CHECK(contains(runs[0].faults[0].problem, b.problem));
    CHECK(runs[1].faults.empty());
    CHECK(runs[1].id == "ok");
  }
  const auto twice = layouts_of(good + good);
  CHECK(twice[0].faults.empty());
  CHECK(contains(twice[1].faults.at(0).problem, "line 2 has this id too"));
}

TEST_CASE("a table that is none is refused as a whole", "[logs]") {
  CHECK(contains(refusal_of([] { (void)parse_layout_runs("", "t.csv", RunTable::gpu_runs); }), "empty"));
  CHECK(contains(refusal_of([] { (void)parse_layout_runs("id,gpu,gpus\n", "t.csv", RunTable::gpu_runs); }),
                 "missing"));
  CHECK(contains(refusal_of([] { (void)layouts_of("x,\"never closed\n"); }), "never closed"));
}

// 32 layers on PP 4 in chunks of one layer: 32 / 4 / 1 = 8 chunks a stage; DP is 8 / (1 x 4).
TEST_CASE("cases of peak memory", "[logs]") {
  const auto runs = parse_layout_runs(
      "case,suite,gpu,layers,hidden,seq,tp,pp,vpp_layers,mbs,gbs,dist_opt,mem_max\n"
      "gpt/one,dgx,A100,32,4096,8192,1,4,1,1,8,true,1000\n",
      "m.csv", RunTable::gpu_memory);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].id == "dgx/gpt/one");
  CHECK(runs[0].virtual_pipeline == 8);
  CHECK(runs[0].data_parallel == 2);
  CHECK(runs[0].sharding == "zero1");
  CHECK(runs[0].memory_bytes == 1000.0);
}

// Products of what columns may state at most stay within 64 bits; a chunk of 65536 layers on 65536 stages once divided
// by 0.
TEST_CASE("columns have bounds, and products of them do not wrap", "[logs]") {
  const auto table = [](const std::string& row) {
    return parse_layout_runs(
               "case,suite,gpu,layers,hidden,seq,tp,pp,cp,vpp_layers,mbs,gbs,mem_max\nx,s,G," + row + "\n",
               "m.csv", RunTable::gpu_memory)
        .at(0);
  };
  CHECK(table("4096,1024,2048,1000000,1000000,1000000,4096,1,8,1000").faults.empty());
  CHECK(table("4096,1024,2048,1000000,1000000,1000000,4096,1,8,1000").virtual_pipeline == 1);
  CHECK(table("32,1024,2048,1,8,1,0,1,8,1000").virtual_pipeline == 1);
  const auto refused = table("32,1024,2048,1,65536,1,65536,1,8,1000").faults;
  REQUIRE(refused.size() == 1);
  CHECK(to_string(refused[0])
            .starts_with("m.csv:2:30: vpp_layers: \"65536\" is not a whole number from 0 to 4096"));
  CHECK(table("32,262145,2048,1,1,1,1,1,8,1000").faults.at(0).key == "hidden");
}

TEST_CASE("a note may say what the run measured of its network", "[logs]") {
  const auto measured = [](const std::string& note) {
    const auto runs = parse_layout_runs(
        "id,source,gpu,gpus,layers,hidden,seq,tp,pp,dp,micro_batch,global_batch,measured,step_s,note\n"
        "a,s,g,8,2,64,128,1,1,8,1,8,step_s,1," +
            note + "\n",
        "t.csv", RunTable::gpu_runs);
    REQUIRE(runs.size() == 1);
    return runs[0].all_reduce;
  };
  CHECK(measured("tied; measured all-reduce 180.5 GB/s; memory 1") == 180.5e9);
  CHECK_FALSE(measured("measured all-reduce GB/s"));
  CHECK_FALSE(measured("measured all-reduce 12"));
  CHECK_FALSE(measured("measured all-reduce -1 GB/s"));
  CHECK_FALSE(measured(""));
}

TEST_CASE("another tool's predictions", "[logs]") {
  const auto all = parse_predictions("id,step_s,mem_gib\na,2,1\nb,,\n", "p.csv");
  REQUIRE(all.size() == 2);
  CHECK(all[0].step_seconds == 2.0);
  CHECK_FALSE(all[1].step_seconds);
  CHECK(contains(refusal_of([] { (void)parse_predictions("id,step_s\na,0\n", "p.csv"); }),
                 "p.csv:2:3: step_s"));
  CHECK(contains(refusal_of([] { (void)parse_predictions("id,step_s\na,1\na,1\n", "p.csv"); }), "too"));
}
