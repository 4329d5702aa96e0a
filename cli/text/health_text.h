// Nodes as nccom-test shows them, in words.
#pragma once

#include <string>

#include "io/output/health_json.h"

namespace trnplan::cli {

/// The nodes that are named, or that there is none; by what they were judged.
std::string health_text(const io::HealthReport& report);

}  // namespace trnplan::cli
