// Confidence of a ranking, as part of the document of plan. Private to io/: it is not installed.
#pragma once

#include "io/output/json_tree.h"
#include "planner/confidence/experiment.h"

namespace trnplan::io {

/// A comparison, with the `sure` that was asked for.
struct ShownComparison {
  const planner::Comparison* of;
  double sure;
};

template <>
const Record<ShownComparison>& record();

}  // namespace trnplan::io
