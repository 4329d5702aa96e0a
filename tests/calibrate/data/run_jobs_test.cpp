#include "calibrate/data/run_jobs.h"

#include <algorithm>

#include "logs/table/measured_runs.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;

namespace {

const calibrate::MappedRuns& catalogue() {
  static const auto mapped = calibrate::map_runs(
      logs::parse_measured_runs(read_text(TRNPLAN_SOURCE_DIR "/catalog/measured-runs.csv"), "runs"),
      test_catalog().instance("trn1.32xlarge"));
  return mapped;
}

const calibrate::MeasuredStep& step(const std::string& id) {
  const auto& all = catalogue().steps;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.id == id; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

// 169 training rows: 2 of quality D, 7 of quality C; counted in the file.
TEST_CASE("every published training run is a job or has a reason", "[calibrate]") {
  CHECK(catalogue().steps.size() == 160);
  REQUIRE(catalogue().excluded.size() == 9);
  for (const auto& e : catalogue().excluded) CHECK(e.reason.starts_with("quality"));
  CHECK(std::count_if(catalogue().steps.begin(), catalogue().steps.end(),
                      [](const auto& s) { return s.kind == "bert"; }) == 90);
  CHECK(std::count_if(catalogue().steps.begin(), catalogue().steps.end(),
                      [](const auto& s) { return s.outlier; }) == 2);
}

TEST_CASE("a run's columns become its job and strategy", "[calibrate]") {
  const auto& s = step("T115");
  CHECK(s.job.architecture.layers == 80);
  CHECK(s.job.architecture.kv_heads == 8);
  CHECK(s.job.architecture.mlp == models::Mlp::gated);
  CHECK(s.job.cluster.nodes == 32);
  CHECK(s.job.training.global_batch == 1024);
  CHECK(s.strategy.tensor_parallel == 32);
  CHECK(s.strategy.pipeline_parallel == 8);
  CHECK(s.strategy.kv_replicator == 4);
  CHECK(s.strategy.recompute.core_attention);
  CHECK_FALSE(s.strategy.flash_attention);
  CHECK(s.strategy.zero1);
  CHECK(s.job.software.framework == "nxd");
  CHECK(s.job.software.release == "2.20");
  CHECK(s.seconds == Approx(72.113));
  // 1024 sequences x 4096 tokens in 72.113 s; published as 14.2 sequences/s.
  CHECK(1024 / s.seconds == Approx(14.2).epsilon(1e-4));
}

TEST_CASE("the stack of a run is what the table says", "[calibrate]") {
  CHECK(step("T053").job.software.framework == "nemo-megatron");
  CHECK(step("T005").job.software.framework == "megatron");
  CHECK(step("T184").job.software.framework == "megatron");
  CHECK(step("T180").job.software.framework == "nemo-megatron");
  CHECK(step("T072").job.software.framework == "nxd");
  CHECK(step("T163").job.software.framework == "nxd");
  CHECK(step("T172").job.software.framework == "nxdt");
  CHECK(step("T001").job.software.framework == "bert");
  CHECK(step("T178").job.software.release == "2.11");
  CHECK(step("T175").job.software.release.empty());
  CHECK(step("T009").strategy.precision == models::Precision::fp32);
  CHECK(step("T001").job.architecture.dropout);
  CHECK_FALSE(step("T072").job.architecture.dropout);
}

TEST_CASE("the framework is a column; a table without it is guessed, and says so", "[calibrate]") {
  const std::string head =
                        "id,kind,quality,model,hardware,nodes,accelerators,layers,hidden,ffn,heads,vocab,"
                        "tp,pp,dp,global_batch,seq_len,step_s,precision,sp,source",
                    row = "a,train,A,m,trn1.32xlarge,1,32,2,256,512,4,1000,8,1,4,8,128,1,BF16+SR,yes,";
  const auto mapped = [&](const std::string& text) {
    const auto all = calibrate::map_runs(logs::parse_measured_runs(text, "runs"),
                                         test_catalog().instance("trn1.32xlarge"));
    REQUIRE(all.steps.size() == 1);
    return all.steps[0];
  };
  // A citation that names another framework does not matter.
  const auto stated = mapped(head + ",framework\n" + row + "how NxDT compares,nxd\n");
  CHECK(stated.job.software.framework == "nxd");
  CHECK_FALSE(stated.framework_guessed);
  CHECK(mapped(head + ",framework\n" + row + "how NxDT compares,\n").job.software.framework.empty());
  const auto guessed = mapped(head + "\n" + row + "a paper\n");
  CHECK(guessed.job.software.framework == "nemo-megatron");
  CHECK(guessed.framework_guessed);
  try {
    logs::parse_measured_runs(head + ",framework\n" + row + "a paper,nxtd\n", "runs");
    FAIL("accepted");
  } catch (const InputError& e) {
    REQUIRE(e.faults().size() == 1);
    CHECK(e.faults()[0].key == "framework");
    CHECK(e.faults()[0].at.line == 2);
  }
  // The catalogue's states it of every run that is used.
  for (const auto& s : catalogue().steps) {
    CAPTURE(s.id);
    CHECK_FALSE(s.framework_guessed);
    CHECK_FALSE(s.job.software.framework.empty());
  }
}

TEST_CASE("releases and batches of a layout are one configuration", "[calibrate]") {
  CHECK(step("T026").configuration == step("T002").configuration);
  CHECK(step("T085").configuration == step("T053").configuration);
  CHECK(step("T085").configuration != step("T178").configuration);  // 32 and 4 nodes
  CHECK(step("T087").configuration != step("T056").configuration);
}

TEST_CASE("what a row lacks is said", "[calibrate]") {
  const std::string head =
      "id,kind,quality,model,hardware,nodes,accelerators,layers,hidden,ffn,heads,vocab,"
      "tp,pp,dp,global_batch,seq_len,step_s\n";
  const auto reason = [&](const std::string& row) {
    const auto mapped = calibrate::map_runs(logs::parse_measured_runs(head + row + "\n", "runs"),
                                            test_catalog().instance("trn1.32xlarge"));
    return mapped.excluded.empty() ? std::string() : mapped.excluded.front().reason;
  };
  const std::string network = ",2,256,512,4,1000";
  CHECK(reason("a,train,A,m,trn1.32xlarge,1,32" + network + ",8,1,4,8,128,1").empty());
  CHECK(reason("a,train,A,m,trn1.32xlarge,1,32" + network + ",8,1,4,8,128,") == "no step time");
  CHECK(reason("a,train,A,m,H100,1,32" + network + ",8,1,4,8,128,1") == "not on trn1");
  CHECK(reason("a,train,A,m,trn1.32xlarge,1,32" + network + ",8,1,2,8,128,1") ==
        "layout not stated, or not for all cores");
  CHECK(reason("a,train,A,m,trn1.32xlarge,1,32,,,,,,8,1,4,8,128,1") == "the network is not stated");
  CHECK(reason("a,train,,m,trn1.32xlarge,1,32" + network + ",8,1,4,8,128,1").starts_with("quality not"));
  CHECK(reason("a,kernel,D,m,trn1.32xlarge,1,32" + network + ",8,1,4,8,128,1").empty());  // no training row
}
