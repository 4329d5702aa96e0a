// A timeline in Chrome's trace format (JSON), which ui.perfetto.dev opens too.
#pragma once

#include <string>

#include "models/step/timeline.h"

namespace trnplan::io {

/// The trace: one event a line, in the order of time; microseconds with three decimals from the start of the
/// step. pid: lane; tid: track. Slices are X events. The ends of a message are B and E around their s or f,
/// so that the flow belongs to them even if they have no length. Throws std::logic_error as trace_events()
/// does.
std::string chrome_trace(const models::Timeline& timeline);

}  // namespace trnplan::io
