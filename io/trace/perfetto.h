// A timeline as a Perfetto trace (ui.perfetto.dev): a process per lane, a track per engine and counter.
#pragma once

#include <string>

#include "models/step/timeline.h"

namespace trnplan::io {

/// The bytes of a .pftrace file: protobuf packets in the order of time, nanoseconds from the start of the
/// step. Slices carry their category, their micro-batch as an annotation, and the flow of their message.
/// Fields: io/proto/perfetto.proto. Throws std::logic_error as trace_events() does.
std::string perfetto_trace(const models::Timeline& timeline);

}  // namespace trnplan::io
