// plan --require: what is read, and what a plan keeps.
#include "api/require.h"

#include <string>

#include "tests/catch.h"
#include "text/diagnostic.h"

using namespace trnplan;

namespace {

bool met(const std::string& text, const api::PlanResult& plan) {
  return api::judge(api::read_requirements({text}), plan).front().met();
}

}  // namespace

// A sign the wrong way round, a bound that is met only without its end, per cent read as a number.
TEST_CASE("requirements compare the recommended plan's own numbers", "[api]") {
  api::PlanRequest request;
  request.job.job = "examples/llama3-8b-one-node/job.yaml";
  request.top = 1;
  Remarks remarks;
  const api::PlanResult r = api::plan(request, remarks);
  const planner::Plan& plan = *r.search.recommended_plan();
  const std::string step = fmt::format("{}", plan.report.step.value);
  CHECK(met("step_seconds<=" + step, r));
  CHECK_FALSE(met("step_seconds<" + step, r));
  CHECK(met("step_seconds>=" + step, r));
  CHECK_FALSE(met("step_seconds>" + step, r));
  CHECK(met("fits>=50%", r));
  CHECK(met("fits>0.5", r));
  CHECK_FALSE(met("mfu>=99%", r));
  CHECK(met("days>=1", r));
  CHECK_FALSE(met("in_time>=1%", r));  // no deadline is stated
  CHECK(api::to_string(api::judge(api::read_requirements({"in_time>=1%"}), r).front()) ==
        "in_time>=1%: not known, so not met");
  CHECK_FALSE(met("fits>=0", api::PlanResult{}));
}

TEST_CASE("requirements that cannot be read are refused together", "[api]") {
  try {
    (void)api::read_requirements({"fits", "fit>=1", "days<=", "days<=soon", "usd>=-1", "works>=99%"});
    FAIL("they were read");
  } catch (const InputError& e) {
    CHECK(e.faults().size() == 5);
    for (const Diagnostic& d : e.faults()) CHECK_FALSE(d.fix.empty());
  }
}
