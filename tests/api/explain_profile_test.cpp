// calibrate --explain: profiles as documents.
#include "api/explain_profile.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "api/simulate.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/folder.h"

using namespace trnplan;

namespace {

constexpr const char* kExplainedJob = "examples/llama3-8b-one-node/job.yaml";

const models::ExplainedParameter& named_parameter(const models::ExplainedProfile& p,
                                                  const std::string& name) {
  const auto it = std::find_if(p.parameters.begin(), p.parameters.end(),
                               [&](const auto& e) { return to_string(e.parameter) == name; });
  REQUIRE(it != p.parameters.end());
  return *it;
}

api::ExplainProfileRequest explained_plan(const std::string& profile, const std::string& against = "") {
  api::ExplainProfileRequest r;
  r.profile = profile;
  r.against = against;
  r.job = kExplainedJob;
  r.strategy = "tp=8,recompute=full";
  return r;
}

}  // namespace

// A parameter without its prior; a fit whose stacks or files are lost.
TEST_CASE("a fitted profile says what taught it and for what it holds", "[api]") {
  Remarks remarks;
  const auto p = api::explain_profile({.profile = "trn1"}, remarks);
  CHECK(p.prior == "trn1-datasheet");
  CHECK(p.instance == "trn1");
  CHECK(p.files.size() == 2);
  CHECK_FALSE(p.stacks.empty());
  CHECK_FALSE(p.plan);
  const auto& flash = named_parameter(p, "flash_efficiency");
  REQUIRE(flash.prior);
  CHECK(flash.prior->median == 0.25);
  CHECK(*flash.spread_left() == Approx(0.1685 / 0.50));
  CHECK(contains(flash.value.source, "identified"));
  CHECK_FALSE(flash.step_share);
}

// A step of another plan, or shares that do not add up to its variance.
TEST_CASE("the plan's step is that of simulate, and its doubt is shared out", "[api]") {
  Remarks remarks;
  const auto p = api::explain_profile(explained_plan("trn1"), remarks);
  api::SimulateRequest s;
  s.job.job = kExplainedJob;
  s.strategy = "tp=8,recompute=full";
  REQUIRE(p.plan);
  CHECK(p.plan->step.value == api::simulate(s, remarks).judgement.plan->report.step.value);
  double doubt = p.plan->other_doubt, most = 0;
  for (const auto& e : p.parameters) {
    doubt += e.doubt_share.value_or(0);
    most = std::max(most, std::abs(*e.step_share));
  }
  CHECK(doubt == Approx(1));
  CHECK(most == std::abs(*named_parameter(p, "matmul_efficiency").step_share));
  CHECK(*named_parameter(p, "matmul_efficiency").step_share < 0);  // a faster engine makes a shorter step
}

TEST_CASE("two profiles against each other", "[api]") {
  Remarks remarks;
  const auto same = api::explain_profile(explained_plan("trn1", "trn1"), remarks);
  CHECK(*same.plan->other == same.plan->step);
  const auto two = api::explain_profile(explained_plan("trn1", "trn1-datasheet"), remarks);
  CHECK(two.plan->other->value != two.plan->step.value);
  // ln(0.25 / 0.1688) over the root of 0.1685^2 + 0.5^2
  CHECK(*named_parameter(two, "flash_efficiency").apart() == Approx(0.744).margin(0.001));
  CHECK(contains(
      refusal_of([&] { (void)api::explain_profile({.profile = "trn1", .against = "h100"}, remarks); }),
      "--against: h100 has the parameters of gpu"));
  auto alone = explained_plan("trn1");
  alone.strategy.clear();
  CHECK(contains(refusal_of([&] { (void)api::explain_profile(alone, remarks); }), "a job alone is no plan"));
  CHECK(contains(refusal_of([&] { (void)api::explain_profile(explained_plan("h100"), remarks); }),
                 "is timed with trn1"));
}

// A profile of one stack once timed another without a word.
TEST_CASE("a plan on a stack that the profile was not fitted to says so", "[api]") {
  models::Calibration fit;
  fit.stacks = {{"nxd", "", 1, 0.1}, {"nxd", "2.20", 1, 0.1}};
  models::Profile profile;
  profile.name = "mine";
  profile.calibration = std::make_shared<const models::Calibration>(fit);
  const auto said = [&](const std::string& framework) {
    Remarks remarks;
    models::Job job;
    job.software.framework = framework;
    api::remark_release(profile, job, remarks);
    return remarks.all().size();
  };
  CHECK(said("nxdt") == 1);
  CHECK(said("nxd") == 0);
  CHECK(said("") == 0);
}

// Catches a remark that a stack is predicted without what another one showed on its machine, which moves it.
// Half of log 1.27 and sqrt((log 1.27)^2 / 12 + 0.08^2 / 4) = 0.0798: 1.127 times, give or take 8 %.
TEST_CASE("a plan says how much it takes from another stack or machine", "[api]") {
  models::Calibration fit;
  fit.stacks = {{"nxdt", "2.23", 1.27, 0.08, "trn1.32xlarge"}};
  models::Profile profile;
  profile.name = "mine";
  const std::size_t parameters = profile.schema->places();
  fit.covariance.assign(parameters + 1, std::vector<double>(parameters + 1, 0));
  fit.covariance.back().back() = 0.08 * 0.08;
  profile.calibration = std::make_shared<const models::Calibration>(fit);
  const auto said = [&](const std::string& framework, const std::string& instance) {
    Remarks remarks;
    models::Job job;
    job.software.framework = framework;
    job.software.release = "2.23";
    job.cluster.instance.name = instance;
    api::remark_release(profile, job, remarks);
    return remarks.all().empty() ? std::string() : std::get<std::string>(remarks.all().front());
  };
  CHECK(said("nxdt", "trn1.32xlarge").empty());
  CHECK(said("nxd", "trn1.32xlarge") ==
        "mine has learnt nxdt 2.23 on trn1.32xlarge (1.27 times as long); how much of that holds for nxd "
        "2.23 on "
        "trn1.32xlarge is unknown, so it is predicted 1.13 times as long, give or take 8 % [profile]");
  CHECK(said("nxdt", "trn1n.32xlarge")
            .find("holds for nxdt 2.23 on trn1n.32xlarge is unknown, so it is predicted "
                  "1.13 times as long, give or take 8 %") != std::string::npos);
  CHECK(said("nxd", "trn1n.32xlarge") ==
        "mine has learnt nxdt 2.23 on trn1.32xlarge; nxd on trn1n.32xlarge is predicted without that "
        "[profile]");
}

// Catches a loop's own values on one side of a comparison only.
TEST_CASE("a profile does not differ from itself", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::ExplainProfileRequest r = explained_plan("h100", "h100");
  r.job = folder.write("job.yaml",
                       "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 128}\n"
                       "cluster: {instance: p5.48xlarge, nodes: 2}\nsoftware: {framework: megatron}\n");
  r.strategy = "tp=2";
  const auto p = api::explain_profile(r, remarks);
  for (const auto& e : p.parameters) {
    INFO(to_string(e.parameter));
    REQUIRE(e.other);
    CHECK(e.other->median == e.value.median);
  }
}
