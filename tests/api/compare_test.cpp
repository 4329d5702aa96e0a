// compare: two plans of one job against each other.
#include "api/compare.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <variant>

#include "api/plan.h"
#include "api/simulate.h"
#include "planner/plan/strategy_grammar.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

constexpr const char* kOneNode = "examples/llama3-8b-one-node/job.yaml";

planner::PlanComparison compared(const std::string& a, const std::string& b,
                                 const std::string& job = kOneNode) {
  api::CompareRequest r;
  r.first = a;
  r.second = b;
  r.job.job = job;
  Remarks remarks;
  return api::compare(r, remarks);
}

std::vector<Diagnostic> faults_of(const std::string& a, const std::string& b,
                                  const std::string& job = kOneNode) {
  try {
    (void)compared(a, b, job);
  } catch (const InputError& e) {
    return e.faults();
  }
  return {};
}

}  // namespace

// Catches probabilities of the same two plans that differ by command: that of plan knew nothing of how little each is
// tested, and took two training loops for one.
TEST_CASE("plan and compare are equally sure which of two plans is faster", "[api]") {
  int loops = 0;
  for (const char* instance : {"trn1.32xlarge", "p5.48xlarge"}) {
    api::PlanRequest request;
    request.job.job = "llama3-8b";
    request.job.options.instance = instance;
    request.job.options.nodes = "4";
    Remarks remarks;
    const api::PlanResult plan = api::plan(request, remarks);
    const planner::Plan& best = *plan.search.recommended_plan();
    REQUIRE_FALSE(plan.ties.empty());
    for (const planner::Tie& tie : plan.ties) {
      api::CompareRequest c;
      c.job = request.job;
      c.first = planner::strategy_grammar(plan.job, best);
      c.second = planner::strategy_grammar(plan.job, tie.plan);
      CAPTURE(c.first, c.second);
      const planner::PlanComparison compared = api::compare(c, remarks);
      CHECK(compared.ratio.positive() == Approx(tie.first_is_better).margin(1e-9));
      loops += !compared.shared;
    }
  }
  CHECK(loops > 0);
}

// A side that is another strategy than the one asked for; a ratio the wrong way round.
TEST_CASE("both sides are what simulate says, and the ratio is theirs", "[api]") {
  const planner::PlanComparison c = compared("tp=8,pp=4", "tp=32"), back = compared("tp=32", "tp=8,pp=4");
  api::SimulateRequest simulate;
  simulate.job.job = kOneNode;
  simulate.strategy = "tp=32";
  Remarks remarks;
  const Seconds step = api::simulate(simulate, remarks).judgement.plan->report.step;
  CHECK(c.plans[1].plan.report.step == step);
  CHECK(c.shared);
  const auto times = planner::times_as_long(c.ratio), inverse = planner::times_as_long(back.ratio);
  CHECK(times[1] == Approx(step / c.plans[0].plan.report.step));
  CHECK(times[0] == Approx(1 / inverse[2]));
  CHECK(c.ratio.positive() + back.ratio.positive() == Approx(1));
  Seconds sum{};
  for (const planner::PartSeconds& p : c.by_cause) sum = sum + p.seconds[1];
  CHECK(sum.value == Approx(step.value));
  REQUIRE(c.differs.size() == 3);  // and the KV heads, which TP 32 copies
  CHECK(c.differs[0].key == "tensor_parallel");
  CHECK(c.differs[0].values == std::array<std::string, 2>{"8", "32"});
}

TEST_CASE("a strategy against itself, and against the same on a larger batch", "[api]") {
  const planner::PlanComparison same = compared("tp=32", "1xtrn1.32xlarge:tp=32");
  CHECK(same.differs.empty());
  CHECK(planner::times_as_long(same.ratio) == std::array{1.0, 1.0, 1.0});
  CHECK(same.ratio.positive() == 0.5);
  // Four nodes take a quarter of the work each, and reduce gradients besides.
  const planner::PlanComparison four = compared("tp=32", "4xtrn1.32xlarge:tp=32");
  CHECK(four.step_scale == 1);
  CHECK(planner::times_as_long(four.ratio)[1] > 0.25);
  CHECK(planner::times_as_long(four.ratio)[1] < 0.3);
}

// Reported: the interval of the ratio was narrower than those of the two steps allow, where one layout was far from all
// that is known to have run.
TEST_CASE("a plan that is less tested is less surely the faster one", "[api]") {
  planner::ComparedPlan a{"a", job_of("llama3-8b", 1, 8192, 64), {}, {}}, b = a;
  for (planner::ComparedPlan* p : {&a, &b}) {
    p->plan.instance = "trn1.32xlarge";
    p->plan.global_batch = 64;
    p->plan.report.schema = datasheet().schema;
    p->plan.report.by_operator = {{"qkv", Seconds(10)}};
    p->plan.report.step = Seconds(10);
  }
  b.plan.report.by_operator = {{"qkv", Seconds(9)}};
  b.plan.report.step = Seconds(9);
  const models::Profile profile = datasheet();
  const auto ratio = [&] { return planner::compare_plans({a, b}, {&profile, &profile}).ratio; };
  CHECK(ratio().positive() == 0);  // b has less work
  b.plan.untested_log_sd = 0.3;
  CHECK(ratio().sd == Approx(0.3));
  CHECK(ratio().positive() > 0.1);
  a.plan.untested_log_sd = 0.3;  // what both lack counts for neither
  CHECK(ratio().sd == Approx(0).margin(1e-12));
}

// Reported: two types of one family counted as independent, though one set of parameters times both. Of equal steps the
// sd is that of the two layouts' own errors c. A site learnt on one of them, with variance v, has its whole part there
// and half on the other, where (log f)^2 / 12 is unknown: 2 c^2 + v / 4 + (log f)^2 / 12.
TEST_CASE("what is uncertain of a family counts by the difference of its types", "[api]") {
  planner::ComparedPlan a{"a", job_of("llama3-8b", 1, 8192, 64), {}, {}}, b = a;
  b.job.cluster.instance.name = "trn1n.32xlarge";
  for (planner::ComparedPlan* p : {&a, &b}) {
    p->job.software = {"nxdt", "2.22"};
    p->plan.instance = p->job.cluster.instance.name;
    p->plan.global_batch = 64;
    p->plan.strategy = strategy_of(p->job, "tp=8");
    p->plan.report.schema = datasheet().schema;
    p->plan.report.step = p->plan.report.low = p->plan.report.high = Seconds(10);
  }
  models::Profile profile = datasheet();
  const auto sd = [&] { return planner::compare_plans({a, b}, {&profile, &profile}).ratio.sd; };
  const double own = profile[models::common::configuration_spread];
  CHECK(sd() == Approx(std::sqrt(2) * own));
  models::Calibration c;
  c.stacks = {{"nxdt", "2.22", 1.5, 0.1, "trn1.32xlarge"}};
  const std::size_t places = profile.schema->places();
  c.covariance.assign(places + 1, std::vector<double>(places + 1, 0));
  c.covariance[places][places] = 0.01;
  profile.calibration = std::make_shared<const models::Calibration>(c);
  const double borrowed = 0.01 / 4 + std::pow(std::log(1.5), 2) / 12,
               stack = profile[models::common::stack_spread];
  CHECK(sd() == Approx(std::sqrt(2 * own * own + borrowed)));
  // Where runs of other stacks are known, the spread of an unknown stack is that of the side without a site.
  c.stacks.push_back({"nxd", "", 1, 0});
  c.covariance.assign(places + 2, std::vector<double>(places + 2, 0));
  c.covariance[places][places] = 0.01;
  profile.calibration = std::make_shared<const models::Calibration>(c);
  const double release = profile[models::common::release_spread];
  CHECK(sd() == Approx(std::sqrt(2 * own * own + borrowed + stack * stack + release * release)));
  // Half of a second of a parameter that is certain to a tenth: the difference of the two shares counts.
  const models::Parameter p = profile.schema->parameters().front();
  a.plan.report.by_parameter[p.place()] = Seconds(5);
  b.plan.report.by_parameter[p.place()] = Seconds(3);
  c.covariance[p.place()][p.place()] = 0.01;
  profile.calibration = std::make_shared<const models::Calibration>(c);
  CHECK(sd() ==
        Approx(std::sqrt(2 * own * own + borrowed + stack * stack + release * release + 0.2 * 0.2 * 0.01)));
}

TEST_CASE("prices and hardware of the machines that are compared", "[api]") {
  api::CompareRequest r;
  r.first = "1xtrn1.32xlarge:tp=8";
  r.second = "1xtrn1n.32xlarge:tp=8";
  r.job.job = kOneNode;
  r.price = "trn1=20,trn1n=1";
  r.hardware = {"core.memory=32GiB"};
  Remarks remarks;
  const planner::PlanComparison c = api::compare(r, remarks);
  CHECK(c.plans[0].plan.usd_per_hour == 20);
  CHECK(c.plans[1].plan.usd_per_hour == 1);
  CHECK(c.plans[1].job.cluster.instance.core.memory.value == 32.0 * (1 << 30));
  r.price = "trn1=20,p5=1";
  CHECK_THROWS_AS(api::compare(r, remarks), InputError);  // no side is a p5
  r.price.clear();
  r.second = "tests/planner/fixtures/oom.yaml";
  CHECK_THROWS_AS(api::compare(r, remarks), InputError);  // a file states its own machine
}

TEST_CASE("a folder is compared as it is", "[api]") {
  const TestFolder folder;
  api::PlanRequest plan;
  plan.job.job = kOneNode;
  plan.out = folder / "out";
  plan.top = 1;
  Remarks remarks;
  const api::PlanResult planned = api::plan(plan, remarks);
  const planner::PlanComparison c = compared(plan.out, "1xtrn1.32xlarge", "llama3-8b");
  CHECK(c.plans[0].plan.report.step == planned.search.recommended_plan()->report.step);
  CHECK(c.plans[0].plan.strategy == planned.search.recommended_plan()->strategy);
  // Reported: a folder whose script was edited was compared as planned, without a word.
  const auto remarks_of = [&] {
    api::CompareRequest r;
    r.first = plan.out;
    r.second = "tp=32";
    r.job.job = kOneNode;
    Remarks said;
    (void)api::compare(r, said);
    std::string all;
    for (const Remark& x : said.all())
      if (const auto* text = std::get_if<std::string>(&x)) all += *text + "\n";
    return all;
  };
  CHECK(remarks_of().find("as the folder was written") == std::string::npos);
  std::ofstream(std::filesystem::path(plan.out) / "node_run.sh", std::ios::app) << "export A=1\n";
  CHECK(remarks_of().find("is not as the folder was written") != std::string::npos);
  // Reported: a config that was edited to another layout was answered by plan.json.
  const std::string file = plan.out + "/nxdt.yaml", from = "pipeline_model_parallel_size: 4";
  std::string config = read_text(file);
  REQUIRE(config.find(from) != std::string::npos);
  config.replace(config.find(from), from.size(), "pipeline_model_parallel_size: 2");
  std::ofstream(file) << config;
  CHECK(remarks_of().find("it trains TP 8 x PP 2") != std::string::npos);
  CHECK(compared(plan.out, "tp=8", kOneNode).plans[0].plan.strategy.pipeline_parallel == 2);
}

TEST_CASE("faults of both sides come at once, each side with its own", "[api]") {
  const auto both = faults_of("tp=5", "no-such-file.yaml");
  REQUIRE(both.size() >= 2);
  CHECK(faults_of("tp=8", "tp=32", "").size() == 2);
  const auto other = faults_of("tests/planner/fixtures/oom.yaml", "tp=8", "llama2-13b");
  REQUIRE(other.size() == 1);
  CHECK(other.front().problem.find("it trains llama2-13b") == 0);
}
