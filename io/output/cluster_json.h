// A cluster over time as JSON (docs/json.md).
#pragma once

#include <string>

#include "planner/cluster/cluster_question.h"

namespace trnplan::io {

/// Returns a document that ends in a newline.
std::string cluster_json(const planner::ClusterAnswer& answer);

}  // namespace trnplan::io
