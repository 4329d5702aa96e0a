#include "planner/search/search.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "models/framework/framework.h"
#include "models/step/step_bound.h"
#include "planner/check/judge.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/search/candidates.h"
#include "planner/search/explain.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

models::Job tutorial() {
  return job_of("llama3-8b", 1, 8192, 1024);
}

const Refusal* find(const std::vector<Refusal>& list, int tp, int dp, const std::string& rule) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const Refusal& r) {
    return r.strategy.tensor_parallel == tp && r.strategy.data_parallel == dp && r.why.rule == rule;
  });
  return it == list.end() ? nullptr : &*it;
}

int total(const SpaceCounts& c) {
  return c.refused + c.too_large + c.bounded + c.simulated;
}

}  // namespace

TEST_CASE("the tutorial's job", "[planner]") {
  const SearchResult result = search(tutorial(), datasheet());
  CHECK(result.counts.enumerated == total(result.counts));
  REQUIRE(result.plans.size() == 5);
  const Plan& winner = result.plans.front();
  CHECK(winner.memory.fits());

  const Plan tp32 = *judge(tutorial(), strategy_of(tutorial(), "tp=32"), datasheet()).plan;
  CHECK(winner.report.step < tp32.report.step);

  const Refusal* pair = find(result.refused, 16, 2, "replica-group");
  REQUIRE(pair != nullptr);
  CHECK(pair->chips == std::vector<int>{0, 8});
  const auto large = std::find_if(result.refused.begin(), result.refused.end(), [](const Refusal& r) {
    return r.why.rule == "memory" && r.strategy.tensor_parallel == 8 && r.strategy.data_parallel == 4 &&
           to_string(r.strategy.recompute) == "CoreAttention";
  });
  REQUIRE(large != result.refused.end());
  CHECK(large->memory->worst().peak() > gibibytes(16));
  for (const Refusal& r : result.refused) CHECK(r.lower_bound < winner.report.step);
}

TEST_CASE("no two strategies are the same program", "[planner]") {
  const auto all = enumerate(tutorial());
  for (const models::Strategy& s : all) CHECK(models::canonical(s) == s);
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(std::is_sorted(all.begin(), all.end()));
}

// Both kinds of attention where the framework has the kernel and the sequence its blocks; a pin takes one, legal or
// not.
TEST_CASE("attention is searched", "[planner]") {
  const auto kinds = [](const models::Job& job) {
    std::pair<int, int> count;  // flash, plain
    for (const models::Strategy& s : enumerate(job)) {
      ++(s.flash_attention ? count.first : count.second);
      if (s.context_parallel > 1) CHECK(s.flash_attention);
    }
    return count;
  };
  models::Job job = job_of("llama2-7b", 1, 4096, 64);
  const auto [flash, plain] = kinds(job);
  CHECK(flash > 0);
  CHECK(plain > 0);
  job.pin.flash_attention = true;
  CHECK(kinds(job) == std::pair(flash, 0));
  job.pin.flash_attention = false;
  CHECK(kinds(job) == std::pair(0, plain));
  CHECK(kinds(job_of("llama2-7b", 1, 3000, 64)).first == 0);
  job = job_of("llama2-7b", 1, 4096, 64);
  job.pin.context_parallel = 2;
  CHECK(kinds(job).second == 0);
  CHECK(kinds(job_of("gpt3-23b", 4, 2048, 256)).first == 0);
  CHECK(kinds(job_of("mixtral-8x7b", 4, 4096, 128)).first == 0);
}

// 6144 tokens are two pieces of each of CP 4 though no multiple of 4 x 1024; 8 experts go on 4 x 2 ranks of CP and DP.
// Catches: mixtures searched without CP, EP up to DP alone, tiles of another machine's kernel.
TEST_CASE("mixtures on GPUs are searched with CP, and EP above DP", "[planner]") {
  models::Job job = job_of("mixtral-8x7b", 1, 6144, 8);
  job.cluster.instance = gpu_machine();
  job.pin.framework = "megatron";
  const auto all = enumerate(job);
  const auto any = [&](const auto& holds) { return std::any_of(all.begin(), all.end(), holds); };
  CHECK(any([](const models::Strategy& s) { return s.context_parallel == 4; }));
  CHECK(any([](const models::Strategy& s) { return s.expert_parallel == 8 && s.data_parallel == 2; }));
  CHECK_FALSE(any([](const models::Strategy& s) {
    const int free = s.tensor_parallel / models::expert_tensor_degree(s);
    return free * s.data_parallel * s.context_parallel % s.expert_parallel != 0 || s.context_parallel > 4;
  }));
}

// EP 8 on the 8 ranks of TP needs experts that TP does not cut, and those need sequence parallel. megatron cuts experts
// by TP if nothing is said, megatron-bridge does not with EP: each finds the other cut too, and nothing twice.
// Catches: a search that knows the loop's usual cut alone, or counts it twice under its number.
TEST_CASE("mixtures are searched with whole experts and with those that TP cuts", "[planner]") {
  const char* const framework = GENERATE("megatron", "megatron-bridge");
  models::Job job = job_of("mixtral-8x7b", 1, 4096, 8);
  job.cluster.instance = gpu_machine();
  job.pin.framework = models::stated_framework(framework);
  job.pin.tensor_parallel = 8;
  std::set<std::tuple<int, int>> cuts;
  std::set<std::string> seen;
  for (models::Strategy s : enumerate(job)) {
    s.expert_tensor_parallel = models::expert_tensor_degree(s);
    cuts.emplace(s.expert_parallel, s.expert_tensor_parallel);
    if (models::has_whole_experts(s)) CHECK(s.sequence_parallel);
    CHECK(seen.insert(models::describe(s)).second);
  }
  CHECK(cuts == std::set<std::tuple<int, int>>{{1, 1}, {1, 8}, {2, 1}, {4, 1}, {8, 1}});
  job.pin.expert_tensor_parallel = 8;
  for (const models::Strategy& s : enumerate(job)) CHECK_FALSE(models::has_whole_experts(s));
}

TEST_CASE("schedules are those the framework has", "[planner]") {
  const auto all = [](const models::Job& job) {
    std::set<models::Schedule> found;
    for (const models::Strategy& s : enumerate(job)) {
      CHECK((s.schedule == models::Schedule::interleaved) == (s.virtual_pipeline > 1));
      found.insert(s.schedule);
    }
    return found;
  };
  using enum models::Schedule;
  models::Job job = tutorial();
  CHECK(all(job) == std::set{one_f_one_b, interleaved});
  job.pin.pipeline_parallel = 4;
  job.pin.schedule = interleaved;
  CHECK(all(job) == std::set{interleaved});
  job.pin.schedule = one_f_one_b;
  CHECK(all(job) == std::set{one_f_one_b});
}

TEST_CASE("the result does not depend on the number of threads", "[planner]") {
  struct Case {
    const char* model;
    int nodes, sequence, batch, layers, top;
  };
  const auto c = GENERATE(values<Case>({{"llama3-8b", 2, 8192, 256, 32, 5},
                                        {"llama3-8b", 4, 2048, 64, 16, 1},
                                        {"llama3-8b", 8, 4096, 128, 24, 1},
                                        {"llama2-13b", 2, 4096, 64, 40, 2}}));
  models::Job job = job_of(c.model, c.nodes, c.sequence, c.batch);
  job.architecture.layers = c.layers;
  CAPTURE(c.model, c.nodes, c.layers);
  const SearchResult one = search(job, datasheet(), {.top = c.top, .threads = 1}),
                     many = search(job, datasheet(), {.top = c.top, .threads = 5});
  CHECK(one.counts.simulated == many.counts.simulated);
  CHECK(one.counts.bounded == many.counts.bounded);
  for (const auto& list : {&SearchResult::plans, &SearchResult::layouts}) {
    REQUIRE((one.*list).size() == (many.*list).size());
    for (std::size_t i = 0; i < (one.*list).size(); ++i) {
      CHECK((one.*list)[i].strategy == (many.*list)[i].strategy);
      CHECK((one.*list)[i].report.step.value == (many.*list)[i].report.step.value);
    }
  }
  REQUIRE(one.refused.size() == many.refused.size());
  for (std::size_t i = 0; i < one.refused.size(); ++i) {
    CHECK(one.refused[i].strategy == many.refused[i].strategy);
    CHECK(one.refused[i].why.fix == many.refused[i].why.fix);
  }
}

// The best plan of each layout by simulating everything: the first four.
TEST_CASE("of clusters that are compared only what may be a plan is kept", "[planner]") {
  const models::Job job = job_of("llama3-8b", 2, 8192, 1024);
  const models::Profile profile = datasheet();
  Candidates all(job, profile, false, 0.5, 1), open(job, profile, false, 0.5, 1, {}, Keep::open);
  CHECK(all.dropped.refused + all.dropped.too_large == 0);
  std::vector<Candidate> legal;
  int refused = 0, too_large = 0;
  for (const Candidate& c : all.all) {
    if (c.feasibility == Feasibility::legal) legal.push_back(c);
    refused += c.feasibility == Feasibility::refused || c.feasibility == Feasibility::doubtful;
    too_large += c.feasibility == Feasibility::too_large;
  }
  CHECK(open.dropped.refused == refused);
  CHECK(open.dropped.too_large == too_large);
  REQUIRE(open.all.size() == legal.size());
  REQUIRE(legal.size() > 10);
  for (std::size_t i = 0; i < legal.size(); i += legal.size() / 10) {
    CHECK(open.all[i].strategy == legal[i].strategy);
    CHECK(open.all[i].bound == legal[i].bound);
    open.refine(open.all[i]);
    all.refine(legal[i]);
    CHECK(open.all[i].strategy == legal[i].strategy);  // with its cuts
    CHECK(open.all[i].bound == legal[i].bound);
  }
  all.take_legal(open);
  CHECK(std::count_if(all.all.begin(), all.all.end(), [](const Candidate& c) {
          return c.feasibility == Feasibility::legal && c.refined;
        }) >= 10);
}

TEST_CASE("several clusters are explained as the best one alone is", "[planner]") {
  models::Job job = job_of("llama3-8b", 2, 8192, 1024);
  job.space.nodes = {1, 2};
  const SearchResult both = search(job, datasheet());
  REQUIRE_FALSE(both.plans.empty());
  models::Job one = job;
  one.space.nodes.clear();
  one.cluster.nodes = both.plans.front().nodes;
  const SearchResult alone = search(one, datasheet());
  REQUIRE(both.refused.size() == alone.refused.size());
  for (std::size_t i = 0; i < both.refused.size(); ++i) {
    CHECK(both.refused[i].strategy == alone.refused[i].strategy);
    CHECK(both.refused[i].why.fix == alone.refused[i].why.fix);
    CHECK(both.refused[i].lower_bound == alone.refused[i].lower_bound);
  }
  CHECK(both.doubtful.size() == alone.doubtful.size());
  CHECK(both.counts.enumerated > alone.counts.enumerated);
}

TEST_CASE("what is not explained is found all the same", "[planner]") {
  const SearchResult with = search(tutorial(), datasheet()),
                     without = search(tutorial(), datasheet(), {.layouts = 0, .explain = false});
  REQUIRE(with.plans.size() == without.plans.size());
  for (std::size_t i = 0; i < with.plans.size(); ++i) {
    CHECK(with.plans[i].strategy == without.plans[i].strategy);
    CHECK(with.plans[i].report.step == without.plans[i].report.step);
  }
  CHECK(with.sensitivity);
  CHECK_FALSE(without.sensitivity);
  CHECK(without.refused.empty());
  CHECK(without.layouts.empty());
}

TEST_CASE("what cannot be said of the winner costs no plan", "[once][planner]") {
  // Steps of days: some what-if of the winner is beyond the simulation clock.
  models::Job job = job_of("llama3-8b", 1, 8192, 8388608);
  job.pin.pipeline_parallel = 1;
  job.pin.tensor_parallel = 8;
  job.pin.context_parallel = 1;
  CHECK_FALSE(search(job, datasheet()).plans.empty());
}

TEST_CASE("nothing fits: the shortfall and the nodes that would do", "[planner]") {
  const models::Job job = job_of("llama3.1-405b", 1, 8192, 256);
  const SearchResult result = search(job, datasheet());
  CHECK(result.plans.empty());
  REQUIRE(result.infeasible);
  REQUIRE(result.infeasible->closest);
  CHECK(result.infeasible->memory->worst().peak() > result.infeasible->memory->limit);
  const int nodes = result.infeasible->nodes_that_would_do;
  REQUIRE(nodes > 1);
  CHECK_FALSE(search(job_of("llama3.1-405b", nodes, 8192, 256), datasheet(), {.top = 1}).plans.empty());
}

TEST_CASE("a batch that no layout divides names the nearest that one does", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1022);
  job.pin.tensor_parallel = 8;
  job.pin.data_parallel = 4;
  const SearchResult result = search(job, datasheet());
  CHECK(result.plans.empty());
  REQUIRE(result.infeasible);
  CHECK(result.infeasible->nearest_batch == 1020);  // 1020 and 1024 are equally near
}

TEST_CASE("doubtful layouts come in when asked for or pinned", "[planner]") {
  models::Job job = tutorial();
  const auto has_pp2 = [](const SearchResult& r) {
    return std::any_of(r.layouts.begin(), r.layouts.end(),
                       [](const Plan& p) { return p.strategy.pipeline_parallel == 2; });
  };
  CHECK_FALSE(has_pp2(search(job, datasheet())));
  CHECK(has_pp2(search(job, datasheet(), {.allow_doubtful = true})));
  job.pin.tensor_parallel = 8;
  job.pin.pipeline_parallel = 2;
  CHECK(has_pp2(search(job, datasheet())));
}

TEST_CASE("pins are taken as they are", "[planner]") {
  models::Job job = tutorial();
  job.pin.tensor_parallel = 32;
  job.pin.micro_batch = 1;
  const SearchResult result = search(job, datasheet());
  REQUIRE_FALSE(result.plans.empty());
  for (const Plan& p : result.plans) CHECK(p.strategy.tensor_parallel == 32);
  job.pin.tensor_parallel = 3;
  CHECK(search(job, datasheet()).plans.empty());
}

TEST_CASE("numbers beyond all measure", "[planner]") {
  SECTION("pins whose product overflows") {
    models::Job job = tutorial();
    job.pin.tensor_parallel = 1;
    job.pin.pipeline_parallel = 1;
    job.pin.data_parallel = 65536;
    job.pin.micro_batch = 65536;
    const SearchResult result = search(job, datasheet());
    CHECK(result.plans.empty());
    CHECK(result.infeasible);
  }
  SECTION("a step beyond the simulation clock") {
    models::Job job = tutorial();
    job.cluster.instance.core.tensor_hertz = 100;  // hours a matmul
    job.pin.context_parallel = job.pin.micro_batch = 1;
    const SearchResult result = search(job, datasheet());
    CHECK(result.plans.empty());
    REQUIRE(result.infeasible);
    const auto& rules = result.infeasible->rules;
    CHECK(std::any_of(rules.begin(), rules.end(),
                      [](const RuleCount& r) { return r.why.rule == "not-modelled"; }));
    const Judgement j = judge(job, strategy_of(job, "tp=32"), datasheet());
    CHECK_FALSE(j.plan);
    REQUIRE_FALSE(j.broken.empty());
    CHECK(j.broken.back().message.find("simulation clock") != std::string::npos);
  }
}

TEST_CASE("nothing found is always explained", "[planner]") {
  // PP 3 is odd, and smaller models of parallelism do not fit on three nodes.
  const SearchResult result = search(job_of("llama3.1-405b", 3, 8192, 256), datasheet());
  REQUIRE(result.infeasible);
  CHECK_FALSE(result.infeasible->rules.empty());
  int counted = 0;
  for (const RuleCount& r : result.infeasible->rules) {
    CHECK_FALSE(r.why.message.empty());
    CHECK_FALSE(r.why.fix.empty());
    counted += r.strategies;
  }
  CHECK(counted + result.counts.too_large >= result.counts.enumerated);
}

TEST_CASE("a doubtful plan says so", "[planner]") {
  const SearchResult result = search(tutorial(), datasheet(), {.allow_doubtful = true});
  REQUIRE_FALSE(result.plans.empty());
  const auto with_pp2 = std::find_if(result.layouts.begin(), result.layouts.end(),
                                     [](const Plan& p) { return p.strategy.pipeline_parallel == 2; });
  REQUIRE(with_pp2 != result.layouts.end());
  CHECK_FALSE(with_pp2->doubts.empty());
}

TEST_CASE("a limit that no plan keeps ends the search by bounds, not by brute force", "[planner]") {
  models::Job job = tutorial();
  job.training.tokens = 1e12;
  const SearchResult free = search(job, datasheet());
  REQUIRE(free.counts.bounded > 50);
  job.budget = 1;
  const SearchResult poor = search(job, datasheet());
  CHECK(poor.plans.empty());
  CHECK(poor.counts.simulated < 10);
  REQUIRE(poor.infeasible);
  REQUIRE(poor.infeasible->too_expensive);
  CHECK(poor.infeasible->too_expensive->strategy == free.plans.front().strategy);
  job.budget = 0;
  job.deadline = Seconds(1);
  const SearchResult hasty = search(job, datasheet());
  CHECK(hasty.counts.simulated < 10);
  REQUIRE(hasty.infeasible);
  CHECK(hasty.infeasible->too_slow);
}

TEST_CASE("a search that is stopped at once says so", "[planner]") {
  const std::atomic<bool> stop{true};
  const SearchResult result = search(tutorial(), datasheet(), {.stop = &stop});
  CHECK(result.plans.empty());
  CHECK_FALSE(result.complete);
  CHECK_FALSE(result.infeasible);
}

// The limit was over before the search began: no clock decides what comes out.
TEST_CASE("a time limit leaves a plan and says what is missing", "[planner]") {
  const auto long_ago = std::chrono::steady_clock::now() - std::chrono::hours(1);
  for (const int threads : {1, 3}) {
    const SearchResult result = search(job_of("llama3-70b", 16, 8192, 1024), datasheet(),
                                       {.threads = threads, .time_limit = Seconds(1), .since = long_ago});
    REQUIRE(result.plans.size() == 1);
    CHECK_FALSE(result.complete);
    CHECK(result.layouts.empty());
    CHECK(result.refused.empty());
    CHECK_FALSE(result.sensitivity);
    CHECK(result.cut_short.size() >= 4);
  }
  // Where nothing is legal, nothing is claimed of what was not looked at.
  const SearchResult none = search(job_of("llama3.1-405b", 1, 8192, 64), datasheet(),
                                   {.time_limit = Seconds(1), .since = long_ago});
  CHECK(none.plans.empty());
  CHECK_FALSE(none.complete);
  CHECK_FALSE(none.infeasible);
  CHECK_FALSE(none.cut_short.empty());
  const SearchResult unlimited = search(tutorial(), datasheet());
  CHECK(unlimited.cut_short.empty());
}
