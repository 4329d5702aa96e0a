#include "models/framework/schedule.h"

#include <algorithm>
#include <map>

#include "tests/catch.h"

using namespace trnplan::models;
using Kind = StageAction::Kind;

namespace {

std::vector<StageAction> one_f_one_b(int stage, int stages, int micro_batches) {
  return pipeline_schedule(Schedule::one_f_one_b).meetings(stage, {stages, 1, micro_batches});
}

std::vector<StageAction> only_compute(int stage, int stages, int micro_batches) {
  std::vector<StageAction> compute;
  for (const StageAction& a : one_f_one_b(stage, stages, micro_batches)) {
    if (a.kind == Kind::forward || a.kind == Kind::backward) compute.push_back(a);
  }
  return compute;
}

}  // namespace

TEST_CASE("1F1B of four stages and four micro-batches, by hand", "[models]") {
  const auto f = [](int m) { return StageAction{Kind::forward, m}; };
  const auto b = [](int m) { return StageAction{Kind::backward, m}; };
  CHECK(only_compute(0, 4, 4) == std::vector<StageAction>{f(0), f(1), f(2), f(3), b(0), b(1), b(2), b(3)});
  CHECK(only_compute(2, 4, 4) == std::vector<StageAction>{f(0), f(1), b(0), f(2), b(1), f(3), b(2), b(3)});
  CHECK(only_compute(3, 4, 4) == std::vector<StageAction>{f(0), b(0), f(1), b(1), f(2), b(2), f(3), b(3)});
}

TEST_CASE("a gradient is received before the pending activation is sent", "[models]") {
  // Stage 0 of 2: F0, then F1 is the first of the steady state.
  const auto actions = one_f_one_b(0, 2, 2);
  const std::vector<StageAction> expected = {
      {Kind::forward, 0},     {Kind::activation_up, 0}, {Kind::forward, 1},
      {Kind::gradient_up, 0}, {Kind::activation_up, 1}, {Kind::backward, 0},
      {Kind::gradient_up, 1}, {Kind::backward, 1},      kEndOfStep};
  CHECK(actions == expected);
}

TEST_CASE("every micro-batch is computed once each way and both sides agree on every transfer",
          "[models][property]") {
  for (const int stages : {1, 2, 3, 4, 8}) {
    for (const int micro_batches : {1, 2, 3, 4, 7, 16}) {
      CAPTURE(stages, micro_batches);
      for (int s = 0; s < stages; ++s) {
        std::map<Kind, int> count;
        for (const StageAction& a : one_f_one_b(s, stages, micro_batches)) ++count[a.kind];
        CHECK(count[Kind::forward] == micro_batches);
        CHECK(count[Kind::backward] == micro_batches);
        CHECK(count[Kind::activation_up] == (s < stages - 1 ? micro_batches : 0));
        CHECK(count[Kind::activation_down] == (s > 0 ? micro_batches : 0));
        CHECK(count[Kind::gradient_down] == (s > 0 ? micro_batches : 0));
        CHECK(count[Kind::gradient_up] == (s < stages - 1 ? micro_batches : 0));
      }
    }
  }
}

TEST_CASE("fewer micro-batches than stages", "[models]") {
  // Stage 0 of 4 with one micro-batch: the activation must leave before the gradient can come back.
  const std::vector<StageAction> expected = {
      {Kind::forward, 0}, {Kind::activation_up, 0}, {Kind::gradient_up, 0}, {Kind::backward, 0}, kEndOfStep};
  CHECK(one_f_one_b(0, 4, 1) == expected);
}

TEST_CASE("GPipe of two stages and two micro-batches, by hand", "[models]") {
  const std::vector<StageAction> below = {
      {Kind::forward, 0},       {Kind::activation_up, 0}, {Kind::forward, 1},
      {Kind::activation_up, 1}, {Kind::gradient_up, 1},   {Kind::backward, 1},
      {Kind::gradient_up, 0},   {Kind::backward, 0},      kEndOfStep};
  CHECK(pipeline_schedule(Schedule::gpipe).meetings(0, {2, 1, 2}) == below);
  const std::vector<StageAction> above = {
      {Kind::activation_down, 0}, {Kind::forward, 0},       {Kind::activation_down, 1},
      {Kind::forward, 1},         {Kind::backward, 1},      {Kind::gradient_down, 1},
      {Kind::backward, 0},        {Kind::gradient_down, 0}, kEndOfStep};
  CHECK(pipeline_schedule(Schedule::gpipe).meetings(1, {2, 1, 2}) == above);
}

// Through the interface: what every schedule must keep, and what it says is alive.
TEST_CASE("every schedule computes each chunk of a micro-batch once each way, and knows what is alive",
          "[models][property]") {
  for (std::size_t i = 0; i < kScheduleNames.size(); ++i) {
    const PipelineSchedule& schedule = pipeline_schedule(static_cast<Schedule>(i));
    for (const int stages : {2, 3, 4, 8}) {
      for (const int chunks : {1, 2, 3}) {
        for (const int micro_batches : {1, 3, 4, 8, 24}) {
          const PipelineShape shape{stages, chunks, micro_batches};
          if (!schedule.obstacle(shape).empty()) continue;
          CAPTURE(kScheduleNames[i], stages, chunks, micro_batches);
          for (int stage = 0; stage < stages; ++stage) {
            std::map<Kind, int> count;
            int alive = 0, most = 0;
            for (const StageAction& a : schedule.passes(stage, shape)) {
              ++count[a.kind];
              if (a.kind == Kind::forward) most = std::max(most, ++alive);
              if (a.kind == schedule.last_pass()) --alive;
            }
            CHECK(count[Kind::forward] == micro_batches * chunks);
            CHECK(count[Kind::backward] == micro_batches * chunks);
            CHECK(count[Kind::weights] == (schedule.splits_backward() ? micro_batches * chunks : 0));
            CHECK(alive == 0);
            CHECK(count[Kind::end_of_step] == 1);
            CHECK(schedule.passes(stage, shape).back() == kEndOfStep);
            const std::vector<int> layers(static_cast<std::size_t>(chunks), 5);
            CHECK(schedule.residency(stage, shape, layers).most.passes == most);
            CHECK(schedule.residency(stage, shape, layers).most.layers == 5 * most);
            CHECK(schedule.meetings(stage, shape).empty() == !schedule.meets());
          }
        }
      }
    }
  }
}

TEST_CASE("a strategy's schedule is settled by its pipeline", "[models]") {
  Strategy s;
  CHECK(canonical(s).schedule == Schedule::one_f_one_b);
  s.schedule = Schedule::gpipe;
  CHECK(canonical(s).schedule == Schedule::one_f_one_b);  // one stage
  s.pipeline_parallel = 4;
  CHECK(canonical(s).schedule == Schedule::gpipe);
  s.schedule = Schedule::one_f_one_b;
  s.virtual_pipeline = 2;
  CHECK(canonical(s).schedule == Schedule::interleaved);
  CHECK(&schedule_of(s) == &pipeline_schedule(Schedule::interleaved));
  for (const std::string_view name : kScheduleNames) CHECK(to_string(*schedule_from(name)) == name);
  CHECK_FALSE(schedule_from("nxd"));
}
