#include "planner/confidence/ties.h"

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using models::Parameter;
using planner::Plan;
using planner::Tie;

namespace {

/// Configurations differ by 3 %, all else is known.
models::Profile tie_profile() {
  models::Profile p = datasheet();
  for (models::Value& v : p.values) v.log_sd = 0;
  p.value(models::common::configuration_spread).median = 0.03;
  p.value(models::common::stack_spread).median = 0;
  return p;
}

/// `fit`: probability of fitting.
Plan plan_of(const models::Job& job, const char* strategy, double seconds, double fit) {
  Plan plan;
  plan.strategy = strategy_of(job, strategy);
  plan.report.step = Seconds(seconds);
  plan.nodes = 1;
  plan.instance = job.cluster.instance.name;
  plan.global_batch = job.training.global_batch;
  plan.memory.fit_probability = fit;
  return plan;
}

}  // namespace

TEST_CASE("ties are what the model cannot tell from the first plan, a line a layout", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  planner::SearchResult found;
  found.plans = {plan_of(job, "tp=8,pp=4,cuts=5/14/23", 100, 0.95),
                 plan_of(job, "tp=8,pp=4,recompute=full,cuts=7/15/23", 100.5, 0.99),
                 plan_of(job, "tp=8,mbs=2", 101, 0.91), plan_of(job, "tp=8", 102, 0.96),
                 plan_of(job, "tp=8,recompute=LlamaMLP", 102.5, 0.97)};
  found.layouts = {found.plans[0], found.plans[2], plan_of(job, "tp=4,pp=2,cuts=15", 102, 0.99),
                   plan_of(job, "tp=32", 130, 0.99)};

  const std::vector<Tie> ties = planner::ties_of(job, found, tie_profile(), 0.9);
  REQUIRE(ties.size() == 4);  // TP 32 is slower for sure
  // As safe as the first plan, the likeliest first; TP 8 with full recompute stands for both of its kind.
  CHECK(ties[0].plan.strategy == found.plans[3].strategy);
  CHECK(ties[0].others == 1);
  CHECK(ties[1].plan.strategy == found.layouts[2].strategy);
  CHECK(ties[1].others == 0);
  // Less memory to spare than the first.
  CHECK(ties[2].plan.strategy == found.plans[2].strategy);
  // The first plan's own layout.
  CHECK(ties[3].like_first);
  CHECK(ties[3].plan.strategy == found.plans[1].strategy);
  for (const Tie& t : ties) {
    CHECK(t.first_is_better > 0.5);
    CHECK(t.first_is_better < 0.9);
  }
  CHECK(planner::ties_of(job, found, tie_profile(), 0.5).empty());
  // What is less likely to work, to nine tenths, is no tie.
  found.plans[0].works = found.layouts[0].works = found.layouts[2].works = 0.9;
  found.plans[3].works = found.plans[4].works = 0.8;
  CHECK(planner::ties_of(job, found, tie_profile(), 0.9).size() == 3);
  found.plans.clear();
  CHECK(planner::ties_of(job, found, tie_profile(), 0.9).empty());
}
