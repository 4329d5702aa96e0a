#include "models/step_bound.h"

#include <algorithm>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/memory.h"
#include "models/schedule.h"
#include "models/step.h"
#include "planner/rules.h"
#include "planner/space.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

std::vector<int> cuts_of(const std::vector<int>& layers) {
  std::vector<int> cuts;
  int last = -1;
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) cuts.push_back(last += layers[i]);
  return cuts;
}

/// All ways to write `layers` as a sum of `stages` positive numbers.
std::vector<std::vector<int>> compositions(int layers, int stages) {
  if (stages == 1) return {{layers}};
  std::vector<std::vector<int>> all;
  for (int first = 1; first <= layers - (stages - 1); ++first) {
    for (std::vector<int>& rest : compositions(layers - first, stages - 1)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

/// The end of 1F1B: each stage does its actions in order, a message when both its stages are there.
SimTime followed(const StepCosts& c) {
  using Kind = StageAction::Kind;
  const int count = static_cast<int>(c.stages.size());
  std::vector<std::vector<StageAction>> todo;
  std::vector<SimTime> now(c.stages.size());
  for (int s = 0; s < count; ++s) {
    todo.push_back(one_f_one_b(s, count, c.micro_batches));
    std::reverse(todo.back().begin(), todo.back().end());
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < todo.size(); ++s) {
      if (todo[s].empty()) continue;
      const StageAction a = todo[s].back();
      if (a.kind == Kind::forward || a.kind == Kind::backward) {
        now[s] += a.kind == Kind::forward ? c.stages[s].up : c.stages[s].down;
      } else {
        const bool up = a.kind == Kind::activation_up, down = a.kind == Kind::gradient_up;
        const StageAction other{up ? Kind::activation_down : Kind::gradient_down, a.micro_batch};
        if ((!up && !down) || todo[s + 1].empty() || !(todo[s + 1].back() == other)) continue;
        const SimTime met = std::max(now[s], now[s + 1]);
        now[s] = now[s + 1] = met + (up ? c.boundaries[s].activation : c.boundaries[s].gradient);
        todo[s + 1].pop_back();
      }
      todo[s].pop_back();
      moved = true;
    }
  }
  SimTime last, tail;
  for (std::size_t s = 0; s < now.size(); ++s) {
    CHECK(todo[s].empty());
    last = std::max(last, now[s] + c.stages[s].reduce);
    tail = std::max(tail, c.stages[s].tail);
  }
  return last + c.barrier + tail;
}

}  // namespace

// Where the engine has nothing to share out, 1F1B followed message by message takes what it takes.
TEST_CASE("the pipeline's time is the simulated one without contention", "[models]") {
  const Profile profile = datasheet();
  for (const char* text :
       {"tp=8,pp=4", "tp=8,pp=2,cuts=7", "tp=8,pp=4,cuts=2/11/20", "tp=8,pp=4,recompute=full,mbs=2",
        "tp=8,pp=4,cuts=15/16/17", "tp=32,pp=4", "tp=32,pp=2,cuts=25"}) {
    for (const int batch : {8, 16, 64, 512}) {
      const Job job = job_of("llama3-8b", text[3] == '3' ? 4 : 1, 8192, batch);
      const Strategy s = strategy_of(job, text);
      const topology::ChipGraph graph(job.cluster.instance);
      StepBounds bounds(job, profile, graph);
      CAPTURE(text, batch);
      const double mine = to_seconds(bounds.without_contention(s, micro_batches(job.training, s))).value;
      const double simulated = simulate_step(job, s, profile).step.value;
      CHECK(mine <= simulated);
      CHECK(mine == Approx(simulated).epsilon(1e-8));
    }
  }
}

// A settled rhythm is extrapolated: against following every micro-batch.
TEST_CASE("the pipeline's rhythm is found only where it is one", "[models]") {
  boost::random::mt19937 random(7);
  const auto ticks = [&](int most) {
    return SimTime{boost::random::uniform_int_distribution<int>(0, most)(random)};
  };
  for (int round = 0; round < 400; ++round) {
    const int count = boost::random::uniform_int_distribution<int>(2, 7)(random);
    StepCosts c;
    c.micro_batches = boost::random::uniform_int_distribution<int>(1, 300)(random);
    for (int i = 0; i < count; ++i) {
      const SimTime up = ticks(round % 2 == 0 ? 9 : 1000), down = ticks(round % 3 == 0 ? 9 : 2000);
      c.stages.push_back({up + down, up, down, ticks(50), ticks(50)});
      if (i + 1 < count) c.boundaries.push_back({ticks(20), ticks(20)});
    }
    CAPTURE(round, count, c.micro_batches);
    CHECK(pipeline_time(c).ps == followed(c).ps);
    CHECK(step_bound(c, true, true) <= pipeline_time(c));
  }
}

// Two ways to the same number: what StepModel puts together task by task, and the caches of a search. They
// differ by a tick an item, which the engine rounds up.
TEST_CASE("the bounds of a search are those of the step model", "[models]") {
  struct Case {
    const char* model;
    int nodes, sequence, batch, stride;
  };
  const auto c = GENERATE(values<Case>({{"llama3-8b", 1, 8192, 64, 7},
                                        {"llama3-70b", 4, 8192, 64, 37},
                                        {"gpt3-6.7b", 2, 2048, 64, 5},
                                        {"mixtral-8x7b", 4, 4096, 64, 9}}));
  Job job = job_of(c.model, c.nodes, c.sequence, c.batch);
  const topology::ChipGraph graph(job.cluster.instance);
  const Profile profile = datasheet();
  StepBounds bounds(job, profile, graph);
  int compared = 0, skipped = 0;
  for (const Strategy& s : planner::enumerate(job)) {
    if (!planner::rule_violations(job, s).empty() || ++skipped % c.stride != 0) continue;
    CAPTURE(describe(s));
    const double mine = to_seconds(bounds.lower_bound(s, micro_batches(job.training, s))).value;
    const double theirs = StepModel(job, s, profile, graph).lower_bound().value;
    CHECK(mine <= theirs);
    CHECK(mine == Approx(theirs).epsilon(1e-8));
    ++compared;
  }
  CHECK(compared > 20);
}

TEST_CASE("the best cuts are the fastest of all cuts, simulated", "[models]") {
  const unsigned seed = GENERATE(range(1u, 41u));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  Job job = job_of("llama3-8b", pick({1, 2}), pick({2048, 8192}), pick({4, 8, 16, 64}));
  job.architecture.layers = pick({5, 6, 8, 9});
  job.architecture.vocabulary = pick({32000, 128256, 256000});
  Strategy s = strategy_of(job, pick({0, 1}) == 1 ? "tp=8,pp=4" : "tp=8,pp=2");
  s.recompute.full = pick({0, 1}) == 1;
  s = canonical(s);
  const int m = micro_batches(job.training, s), stages = s.pipeline_parallel;
  if (m < 1) return;
  std::vector<int> most(static_cast<std::size_t>(stages), job.architecture.layers);
  most[0] = pick({2, 3, 9});  // room for fewer than it would take
  CAPTURE(seed, describe(s), m, most[0], job.architecture.layers);

  const Profile profile = datasheet();
  const topology::ChipGraph graph(job.cluster.instance);
  StepBounds bounds(job, profile, graph);
  const SimTime any = bounds.bound_of_any_cuts(s, m);
  Seconds fastest(1e9);
  for (const std::vector<int>& layers : compositions(job.architecture.layers, stages)) {
    s.pipeline_cuts = cuts_of(layers);
    CHECK(any <= bounds.lower_bound(s, m));
    if (layers[0] <= most[0]) fastest = std::min(fastest, simulate_step(job, s, profile).step);
  }
  s.pipeline_cuts.clear();
  const std::vector<int> best = bounds.best_layers(s, m, most);
  REQUIRE(best.size() == most.size());
  CHECK(best[0] <= most[0]);
  s.pipeline_cuts = cuts_of(best);
  CHECK(simulate_step(job, s, profile).step.value == fastest.value);
}

TEST_CASE("cuts that have no room", "[models]") {
  const Job job = job_of("llama3-8b", 1, 8192, 64);
  const Profile profile = datasheet();
  const topology::ChipGraph graph(job.cluster.instance);
  StepBounds bounds(job, profile, graph);
  const Strategy s = strategy_of(job, "tp=8,pp=4");
  CHECK(bounds.best_layers(s, 64, {7, 7, 7, 7}).empty());
  CHECK(bounds.best_layers(s, 64, {0, 32, 32, 32}).empty());
  CHECK(bounds.best_layers(s, 64, {8, 8, 8, 8}) == std::vector<int>{8, 8, 8, 8});
  // The head is worth a layer or more: with room the last stage has fewer.
  const std::vector<int> free = bounds.best_layers(s, 64, {32, 32, 32, 32});
  CHECK(free.back() < 8);
}
