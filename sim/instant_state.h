// State of a run from which all that comes follows. Internal to the executor.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "sim/event_queue.h"
#include "sim/paces.h"
#include "sim/rhythm_finder.h"
#include "sim/transfers.h"

namespace trnplan::sim {

/// An event that is scheduled.
struct PendingEvent {
  Moment moment;
  TaskId task;
  std::int64_t kind;
};

/// Writes everything that what comes follows from, by place in the program and time from `now`. Rates are shared by
/// what flows there are, whatever their order (fair_share.h), so the network has no more to say.
class InstantState {
 public:
  /// `started` by task, `pending` in the order in which they will happen.
  InstantState(const RhythmFinder& rhythm, const std::vector<SimTime>& started, SimTime now,
               const Transfers& transfers, const Paces& paces, const std::vector<PendingEvent>& pending)
      : rhythm_(rhythm), started_(started), now_(now) {
    const auto moving = transfers.moving();
    auto flow = moving.begin();
    const auto put_flows_before = [&](Moment moment) {
      for (; flow != moving.end() && flow->end < moment; ++flow) put_flow(transfers, *flow);
    };
    for (const PendingEvent& event : pending) {
      put_flows_before(event.moment);
      put_task(event.task, event.moment.at, event.kind);
    }
    put_flows_before(Moment{});
    for (const Pace& pace : paces.all()) put_pace(pace);
  }

  std::vector<TaskId> under_way;
  std::vector<std::int64_t> state;

 private:
  void put_time(SimTime t) { state.push_back((t - now_).ps); }
  void put_task(TaskId t, SimTime at, std::int64_t kind) {
    under_way.push_back(t);
    put_time(at);
    state.push_back(kind);
    state.push_back(rhythm_.relative(t));
    put_time(started_[t]);
  }
  void put_flow(const Transfers& transfers, const Transfers::Moving& flow) {
    constexpr std::int64_t kFlow = -1;  // no event
    put_task(flow.owner, flow.end.at, kFlow);
    state.push_back(std::bit_cast<std::int64_t>(transfers.rate(flow)));
    const FlowNetwork::Progress progress = transfers.progress(flow, now_);
    for (const std::uint64_t limb : progress.left) state.push_back(static_cast<std::int64_t>(limb));
    put_time(progress.since);
    state.push_back(progress.changes);
  }
  void put_pace(const Pace& pace) {
    state.push_back(pace.disturbed_by);
    if (pace.working == Run::kNone) return;
    state.push_back(rhythm_.relative(pace.working));
    state.push_back(pace.left.ps);
    put_time(pace.since);
  }

  const RhythmFinder& rhythm_;
  const std::vector<SimTime>& started_;
  SimTime now_;
};

}  // namespace trnplan::sim
