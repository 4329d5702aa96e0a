// A timeline's slices and samples as one sequence of events, for the trace formats.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/timeline.h"

namespace trnplan::io {

struct TraceEvent {
  enum class Kind { begin, end, sample } kind;
  SimTime at;
  std::size_t index = 0;  ///< in Timeline::slices or samples
};

/// Events sorted by time. Within a track, begins and ends are in the order of a stack; the sending end of a
/// message begins before the receiving one. Throws std::logic_error if the slices of a track do not nest.
std::vector<TraceEvent> trace_events(const models::Timeline& timeline);

/// Whole nanoseconds, rounded down: slices that nest or abut in picoseconds still do.
inline std::int64_t nanoseconds(SimTime t) {
  return t.ps / 1000;
}

}  // namespace trnplan::io
