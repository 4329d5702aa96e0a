// Results of nccom-test on nodes, in words.
#pragma once

#include <string>

#include "io/output/health_json.h"

namespace trnplan::cli {

/// Nodes that are named, or that there is none, and the reference for the judgement.
std::string health_text(const io::HealthReport& report);

}  // namespace trnplan::cli
