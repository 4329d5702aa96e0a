// Jobs and configs in memory, without a file.
#include "api/check.h"
#include "api/documents.h"
#include "api/plan.h"
#include "api/simulate.h"
#include "api/what_ran.h"
#include "tests/folder.h"

using namespace trnplan;

namespace {

constexpr const char* kJob =
    "model: llama3-8b\n"
    "training: {sequence: 4096, global_batch: 64}\n"
    "cluster: {instance: trn1.32xlarge, nodes: 1}\n";

api::PlanRequest request_of(const std::string& job) {
  api::PlanRequest request;
  request.job.job = job;
  request.top = 2;
  request.threads = 1;
  return request;
}

/// Without the wall time of the search.
std::string timeless(api::PlanResult result) {
  result.wall = {};
  return api::document(result);
}

}  // namespace

TEST_CASE("a job in memory is the job of a file", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::PlanRequest in_memory = request_of("<job>");
  in_memory.job.texts.state("<job>", kJob);
  const std::string file = folder.write("job.yaml", kJob);
  CHECK(timeless(api::plan(in_memory, remarks)) == timeless(api::plan(request_of(file), remarks)));
}

TEST_CASE("a fault of a text has its name and place", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::PlanRequest request = request_of("<job>");
  request.job.texts.state("<job>", std::string(kJob) + "traning: {}\n");
  try {
    (void)api::plan(request, remarks);
    FAIL("nothing was refused");
  } catch (const InputError& e) {
    REQUIRE(e.faults().size() == 1);
    const Diagnostic& fault = e.faults().front();
    CHECK(fault.at.file == "<job>");
    CHECK(fault.at.line == 4);
    CHECK(fault.key == "traning");
  }
}

TEST_CASE("what a text names is looked up among the texts, then on disk", "[api]") {
  const TestFolder folder;
  api::StatedFiles files;
  files.state("stated", "one");
  const std::string written = folder.write("written", "two");
  CHECK(files.has("stated"));
  CHECK(files.states("stated"));
  CHECK(files.text("stated") == "one");
  CHECK(files.has(written));
  CHECK_FALSE(files.states(written));
  CHECK(files.text(written) == "two");
  CHECK_FALSE(files.has(written + "-not"));
  CHECK_THROWS_AS(files.text(written + "-not"), InputError);
}

TEST_CASE("an NxDT config in memory is checked, compared with plans and planned again", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::PlanRequest request = request_of("<job>");
  request.job.texts.state("<job>", kJob);
  request.out = folder / "plan";
  const api::PlanResult written = api::plan(request, remarks);
  REQUIRE(written.written);
  CHECK(written.script.empty());  // measure.sh would plan again, and has no job to name
  const std::string text = read_text(folder / "plan/nxdt.yaml");

  api::CheckRequest check;
  check.file = "<config>";
  check.texts.state("<config>", text);
  CHECK(api::check(check).verdict != "refused");

  api::PlanRequest with_baseline = request_of("<job>");
  with_baseline.job.texts.state("<job>", kJob);
  with_baseline.baseline = "<baseline>";
  with_baseline.job.texts.state("<baseline>", text);
  const api::PlanResult compared = api::plan(with_baseline, remarks);
  REQUIRE(compared.baseline);
  CHECK(compared.baseline->strategy.tensor_parallel ==
        written.search.recommended_plan()->strategy.tensor_parallel);

  api::PlanRequest alone = request_of("<config>");
  alone.job.texts.state("<config>", text);
  CHECK(api::plan(alone, remarks).baseline);  // its own

  const auto ran =
      api::what_ran({"", "", "<config>", "trn1.32xlarge", 0, check.texts}, io::Catalog::standard(), remarks);
  REQUIRE(ran);
  CHECK(ran->job.training.sequence == 4096);
}

TEST_CASE("the document of a strategy without a program holds what it breaks", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::SimulateRequest request;
  request.job.job = "<job>";
  request.job.texts.state("<job>", kJob);
  request.strategy = "tp=8,mbs=3";
  const std::string document = api::document(api::simulate(request, remarks));
  CHECK(document.find("\"violations\"") != std::string::npos);
  CHECK(document.find("\"strategy\"") == std::string::npos);
}
