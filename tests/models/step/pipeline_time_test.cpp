#include "models/step/pipeline_time.h"

#include <algorithm>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/framework/schedule.h"
#include "tests/catch.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// The end of 1F1B: each stage does its actions in order, a message when both its stages are there.
SimTime followed(const StepCosts& c) {
  using Kind = StageAction::Kind;
  const int count = static_cast<int>(c.stages.size());
  std::vector<std::vector<StageAction>> todo;
  std::vector<SimTime> now(c.stages.size());
  for (int s = 0; s < count; ++s) {
    todo.push_back(pipeline_schedule(Schedule::one_f_one_b).meetings(s, {count, 1, c.micro_batches}));
    CHECK(todo.back().back() == kEndOfStep);
    todo.back().pop_back();
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

// A steady rhythm is extrapolated; compared with following every micro-batch.
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
    // Catches a limit that cuts a shorter time: one that stops early is no shorter than the limit, no longer
    // than the time.
    const SimTime time = pipeline_time(c), below{time.ps - time.ps / 100}, above{time.ps + 1};
    CHECK(pipeline_time(c, above).ps == time.ps);
    CHECK(pipeline_time(c, below) >= below);
    CHECK(pipeline_time(c, below) <= time);
  }
}
