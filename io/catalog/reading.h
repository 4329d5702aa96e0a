// Rules for reading the figures of published runs: catalog/reading.json.
#pragma once

#include "calibrate/data/run_reading.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the rules. Every entry must have a source. Throws InputError with all faults.
[[nodiscard]] calibrate::RunReading reading_from(const Node& node);

}  // namespace trnplan::io
