#include "models/framework/schedule.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

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

namespace {

/// The ticks of each stage from its first pass to its last, every pass one tick and messages none, less its passes;
/// and the last tick of all. Every chunk waits for the part of the model below or above it.
std::pair<std::vector<int>, int> idle_ticks(const Strategy& s, int micro_batches) {
  const int stages = s.pipeline_parallel, parts = shape_of(s).parts();
  std::vector<std::vector<StageAction>> todo;
  for (int i = 0; i < stages; ++i) {
    todo.push_back(schedule_of(s).passes(i, shape_of(s, micro_batches)));
    todo.back().pop_back();  // the end of the step
  }
  std::map<std::tuple<Kind, int, int>, int> end;  // of a pass over a part and micro-batch
  std::vector<std::size_t> next(todo.size());
  std::vector<int> first(todo.size(), -1), now(todo.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < stages; ++i) {
      const auto k = static_cast<std::size_t>(i);
      for (; next[k] < todo[k].size(); ++next[k], moved = true) {
        const StageAction a = todo[k][next[k]];
        const int part = part_of(s, i, a.chunk), source = a.kind == Kind::forward ? part - 1 : part + 1;
        int ready = 0;
        if (a.kind != Kind::weights && source >= 0 && source < parts) {
          const auto made = end.find({a.kind, source, a.micro_batch});
          if (made == end.end()) break;
          ready = made->second;
        }
        const int start = std::max(now[k], ready);
        if (first[k] < 0) first[k] = start;
        end[{a.kind, part, a.micro_batch}] = now[k] = start + 1;
      }
    }
  }
  std::vector<int> idle;
  for (std::size_t k = 0; k < todo.size(); ++k) {
    CHECK(next[k] == todo[k].size());
    idle.push_back(now[k] - first[k] - static_cast<int>(todo[k].size()));
  }
  return {idle, *std::max_element(now.begin(), now.end())};
}

Strategy in_a_v(int stages) {
  Strategy s;
  s.pipeline_parallel = stages;
  s.virtual_pipeline = 2;
  s.schedule = Schedule::zero_bubble_v;
  return s;
}

}  // namespace

// Catches: a pass of the V out of place. With F = B = W = 1 a micro-batch is 6 ticks of a stage; stage i begins after i
// of them. From 2P - 1 micro-batches on none idles in between, so the step takes 6m + P - 1: the bubble is what fills
// the pipeline. With fewer micro-batches the first stage waits for 2 (2P - 1 - m), and ends last or the last one does.
TEST_CASE("a V of equal passes idles only while it fills", "[models]") {
  for (const int stages : {2, 3, 4, 8}) {
    const int full = 2 * stages - 1;
    for (const int m : {1, 2, stages, full - 1, full, 2 * stages, 3 * stages + 1, 40}) {
      CAPTURE(stages, m);
      const auto [idle, end] = idle_ticks(in_a_v(stages), m);
      CHECK(idle.front() == std::max(0, 2 * (full - m)));
      for (const int ticks : idle) CHECK((ticks == 0 || m < full));
      CHECK(end == 6 * m + std::max(stages - 1, 2 * (full - m)));
    }
  }
  // 1F1B of the same passes, each over both chunks: P - 1 micro-batches of them.
  Strategy plain;
  plain.pipeline_parallel = 4;
  CHECK(idle_ticks(plain, 8).second == 2 * (8 + 3));
}

// Catches: chunks that lie in a loop; a stage that holds more than another, which a V is for.
TEST_CASE("the V gives every stage as much to hold", "[models]") {
  for (const int stages : {2, 4, 8}) {
    const Strategy s = in_a_v(stages);
    CHECK(ends_of(s, 0).first);
    CHECK(ends_of(s, 0).last);
    for (int i = 0; i < stages; ++i) {
      CAPTURE(stages, i);
      CHECK(part_of(s, i, 0) == i);
      CHECK(part_of(s, i, 1) == 2 * stages - 1 - i);
      CHECK(stage_of(s, part_of(s, i, 1)) == i);
      const Residency held = schedule_of(s).residency(i, shape_of(s, 40), std::vector<int>{3, 3});
      CHECK(held.most.passes == 2 * stages);  // chunks; 1F1B's first stage has as many layers
      CHECK(held.most.layers == 3 * 2 * stages);
      CHECK(held.most.deferred == 3);
      CHECK(held.late.layers ==
            3 * (i == 0 ? 2 * stages : stages + i));  // but for the first, while it drains
      CHECK(held.late.deferred == 3 * (2 * i + 1));
    }
  }
}

TEST_CASE("the V of two stages and three micro-batches, by hand", "[models]") {
  const auto pass = [](Kind kind) {
    return [kind](int m, int chunk) { return StageAction{kind, m, chunk}; };
  };
  const auto f = pass(Kind::forward), b = pass(Kind::backward), w = pass(Kind::weights);
  CHECK(schedule_of(in_a_v(2)).passes(0, {2, 2, 3}) ==
        std::vector<StageAction>{f(0, 0), f(1, 0), f(2, 0), f(0, 1), b(0, 1), w(0, 1), f(1, 1), b(1, 1),
                                 w(1, 1), b(0, 0), w(0, 0), f(2, 1), b(2, 1), w(2, 1), b(1, 0), w(1, 0),
                                 b(2, 0), w(2, 0), kEndOfStep});
}

TEST_CASE("a strategy's schedule follows from its pipeline", "[models]") {
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
