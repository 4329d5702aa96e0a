// A cluster over time in words.
#pragma once

#include <string>

#include "planner/cluster/cluster_question.h"

namespace trnplan::cli {

/// Whole lines of at most `width` columns where they can be.
std::string cluster_text(const planner::ClusterAnswer& answer, int width);

}  // namespace trnplan::cli
