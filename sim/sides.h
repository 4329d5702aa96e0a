// Work of a device during transfers of its engine.
#pragma once

#include <algorithm>
#include <cstddef>

#include "units/quantity.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// A transfer of an engine that has its resources to itself: its latency, and the length of its flow.
struct LoneTransfer {
  SimTime latency, flow;
};

/// Work of a device, and meanwhile transfers on its engine one after the other, some time after their start.
struct Sides {
  SimTime left, since,
      end;  ///< of the work, as of its last change of pace: length left if undisturbed; its end
  std::size_t engine_at = 0;  ///< the transfer that is under way, or their number
  SimTime engine_since;       ///< start of that, or the end of all
  SimTime flow_at{};          ///< start of its flow
  bool flows = false;         ///< that has started and not ended
  bool tied = false;          ///< two things fell on one tick, of which execute() says which comes first
};

/// The state at `now` of work of that length and `count` transfers, `transfer(i)`, that begin at `start`;
/// without an end, at `now` of the end of the clock. What happens at `now` has happened, but for flows that
/// start. The engine's flows slow the work by `factor`. As execute() has it, to the tick.
template <class Transfer>
Sides sides_at(SimTime work, double factor, std::size_t count, const Transfer& transfer, SimTime start,
               SimTime now) {
  Sides s{.left = work, .since = start, .end = start + work, .engine_since = start};
  const auto change_pace = [&](SimTime at, double before, double after) {
    if (factor == 1 || s.end < at) return;
    s.tied = s.tied || s.end == at;
    s.left = std::max(SimTime{}, s.left - to_sim_time(to_seconds(at - s.since) / before));
    s.since = at;
    s.end = at + (after == 1 ? s.left : to_sim_time(to_seconds(s.left) * after));
  };
  for (; s.engine_at < count; ++s.engine_at) {
    const LoneTransfer t = transfer(s.engine_at);
    s.flow_at = s.engine_since + t.latency;
    const SimTime end = s.flow_at + t.flow;
    s.flows = t.flow != SimTime{} && s.flow_at < now;
    if (s.flows) change_pace(s.flow_at, 1, factor);
    if (end > now) break;
    if (s.flows) change_pace(end, factor, 1);
    s.flows = false;
    s.engine_since = end;
  }
  return s;
}

}  // namespace trnplan::sim
