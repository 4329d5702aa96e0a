// Every schedule, compared with a pipeline that is run tick by tick.
#include "tests/second_opinion/schedules.h"

#include <set>
#include <string>
#include <tuple>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/framework/schedule.h"
#include "tests/catch.h"
#include "tests/seeds.h"

namespace trnplan {

namespace {

using models::PipelineShape;
using models::Schedule;
using models::StageAction;

std::vector<second_opinion::Pass> as_passes(const std::vector<StageAction>& actions) {
  using enum StageAction::Kind;
  using second_opinion::PassKind;
  std::vector<second_opinion::Pass> all;
  for (const StageAction& a : actions) {
    if (a.kind == forward) all.push_back({PassKind::forward, a.micro_batch, a.chunk});
    if (a.kind == backward) all.push_back({PassKind::backward, a.micro_batch, a.chunk});
    if (a.kind == weights) all.push_back({PassKind::weights, a.micro_batch, a.chunk});
  }
  return all;
}

/// The other end of a message, as the stage above or below names it.
StageAction::Kind other_end(StageAction::Kind kind) {
  using enum StageAction::Kind;
  switch (kind) {
    case activation_up:
      return activation_down;
    case activation_down:
      return activation_up;
    case gradient_down:
      return gradient_up;
    default:
      return gradient_down;
  }
}

bool is_message(const StageAction& a) {
  using enum StageAction::Kind;
  return a.kind != forward && a.kind != backward && a.kind != weights;
}

/// Runs all stages, each message a meeting of both its ends; "" or what goes wrong.
std::string run_meetings(const std::vector<std::vector<StageAction>>& stages) {
  using enum StageAction::Kind;
  const int last = static_cast<int>(stages.size()) - 1;
  std::vector<std::size_t> next(stages.size(), 0);
  std::set<std::tuple<int, StageAction::Kind, int>> done;  // what a stage has computed or received
  const auto has = [&](int stage, StageAction::Kind kind, int m) { return done.contains({stage, kind, m}); };
  for (bool moves = true; moves;) {
    moves = false;
    for (int i = 0; i <= last; ++i) {
      auto& mine = next[static_cast<std::size_t>(i)];
      if (mine == stages[static_cast<std::size_t>(i)].size()) continue;
      const StageAction a = stages[static_cast<std::size_t>(i)][mine];
      const int m = a.micro_batch;
      if (!is_message(a)) {
        const bool ready = a.kind == forward ? i == 0 || has(i, activation_down, m)
                                             : has(i, forward, m) && (i == last || has(i, gradient_up, m));
        if (!ready) return "a pass has not what it needs";
      } else {
        const int peer = a.kind == activation_up || a.kind == gradient_up ? i + 1 : i - 1;
        if (peer < 0 || peer > last) return "a message leaves the pipeline";
        auto& theirs = next[static_cast<std::size_t>(peer)];
        const auto& list = stages[static_cast<std::size_t>(peer)];
        if (theirs == list.size() || list[theirs] != StageAction{other_end(a.kind), m}) continue;
        if (a.kind == activation_up && !has(i, forward, m)) return "an activation that was not computed";
        if (a.kind == gradient_down && !has(i, backward, m)) return "a gradient that was not computed";
        done.insert({peer, other_end(a.kind), m});
        ++theirs;
      }
      done.insert({i, a.kind, m});
      ++mine;
      moves = true;
    }
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (next[i] != stages[i].size()) return "a stage waits for ever";
  }
  return "";
}

void check_schedule(Schedule name, const PipelineShape& shape, const std::vector<int>& layers) {
  const models::PipelineSchedule& schedule = models::pipeline_schedule(name);
  CAPTURE(to_string(name), shape.stages, shape.chunks, shape.micro_batches);
  const auto definition = second_opinion::definition_of(name);
  const bool goes = definition && shape.chunks >= definition->least && shape.chunks <= definition->most &&
                    (!definition->whole_rounds || shape.micro_batches % shape.stages == 0);
  CHECK(schedule.obstacle(shape).empty() == goes);
  if (!goes) return;
  const std::vector<std::vector<second_opinion::Pass>> passes =
      second_opinion::passes_of(name, shape.stages, shape.chunks, shape.micro_batches);
  std::vector<std::vector<StageAction>> meetings;
  for (int stage = 0; stage < shape.stages; ++stage) {
    const std::vector<second_opinion::Pass>& mine = passes[static_cast<std::size_t>(stage)];
    CHECK(as_passes(schedule.passes(stage, shape)) == mine);
    const second_opinion::Alive alive = second_opinion::alive_in(mine, layers);
    const models::Residency theirs = schedule.residency(stage, shape, layers);
    CHECK(theirs.most.passes == alive.passes);
    CHECK(theirs.most.layers == alive.layers);
    CHECK(theirs.most.deferred == alive.deferred);
    CHECK(theirs.late.layers == alive.late_layers);
    CHECK(theirs.late.deferred == alive.late_deferred);
    if (stage == (definition->in_a_v ? 0 : shape.stages - 1)) {
      CHECK(theirs.at_loss.layers == alive.layers_at_loss);
      CHECK(theirs.at_loss.deferred == alive.deferred_at_loss);
    }
    meetings.push_back(schedule.meetings(stage, shape));
    CHECK(schedule.passes(stage, shape).back() == models::kEndOfStep);
    if (schedule.meets()) meetings.back().pop_back();  // the end of the step
    if (schedule.meets()) CHECK(as_passes(meetings.back()) == mine);
  }
  CHECK(schedule.meets() == definition->meets);
  CHECK(schedule.splits_backward() == definition->splits);
  if (schedule.meets()) CHECK(run_meetings(meetings) == "");
}

}  // namespace

TEST_CASE("every schedule is what its definition makes of a pipeline") {
  for (const unsigned seed : seeds(1, 300)) {
    boost::random::mt19937 random(seed);
    const auto from = [&](int low, int high) {
      return boost::random::uniform_int_distribution<int>(low, high)(random);
    };
    PipelineShape shape{from(2, 9), seed % 3 == 0 ? from(2, 4) : 1, from(1, 24)};
    if (shape.chunks > 1 && seed % 2 == 0) shape.micro_batches = shape.stages * from(1, 4);
    std::vector<int> layers;
    for (int c = 0; c < shape.chunks; ++c) layers.push_back(from(1, 6));
    for (std::size_t i = 0; i < models::kScheduleNames.size(); ++i)
      check_schedule(static_cast<Schedule>(i), shape, layers);
  }
}

}  // namespace trnplan
