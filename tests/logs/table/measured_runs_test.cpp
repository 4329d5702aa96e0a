#include "logs/table/measured_runs.h"

#include <algorithm>

#include "tests/catch.h"
#include "text/diagnostic.h"
#include "text/document.h"

using namespace trnplan;
using logs::parse_measured_runs;

namespace {

const std::string kRunHeader =
    "id,kind,model,hardware,nodes,tp,pp,dp,global_batch,seq_len,step_s,recompute,precision\n";

}  // namespace

TEST_CASE("the catalogue's table", "[calibrate]") {
  const std::string path = TRNPLAN_SOURCE_DIR "/catalog/measured-runs.csv";
  const auto runs = parse_measured_runs(read_text(path), path);
  CHECK(runs.size() == 328);
  const auto row = std::find_if(runs.begin(), runs.end(), [](const auto& r) { return r.id == "T165"; });
  REQUIRE(row != runs.end());
  CHECK(row->model == "Llama3-70B");
  CHECK(row->strategy.pipeline_parallel == 8);
  CHECK(to_string(row->strategy.recompute) == "CoreAttention+LlamaMLP");
  CHECK(*row->step_seconds == 243.81);
}

TEST_CASE("quoted fields", "[calibrate]") {
  const auto runs = parse_measured_runs(kRunHeader +
                                            "A,train,\"Llama, \"\"big\"\"\",trn1,1,8,1,4,16,2048,1.5,\"full "
                                            "(uniform,\nevery layer)\",BF16+SR\n",
                                        "t.csv");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].model == "Llama, \"big\"");
  CHECK(runs[0].strategy.recompute.full);
  CHECK(runs[0].strategy.precision == models::Precision::bf16_sr);
}

TEST_CASE("every bad row is named", "[calibrate]") {
  try {
    parse_measured_runs(
        kRunHeader + "A,train,m,h,1.5,8,1,4,16,2048,1,,\nB,train,m,h,1,x,1,4,16,2048,-1,,\nC,train\n",
        "t.csv");
    FAIL("no error");
  } catch (const InputError& e) {
    REQUIRE(e.faults().size() == 4);
    CHECK(e.faults()[0].at.line == 2);
    CHECK(e.faults()[0].key == "nodes");
    CHECK(e.faults()[1].key == "step_s");
    CHECK(e.faults()[3].at.line == 4);
  }
  CHECK_THROWS_AS(parse_measured_runs("", "t.csv"), InputError);
  CHECK_THROWS_AS(parse_measured_runs("id,kind\nA,train\n", "t.csv"), InputError);
}
