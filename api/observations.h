// Observations of a profile, applied to the results of a command.
#pragma once

#include <string>
#include <vector>

#include "models/job/job.h"
#include "planner/confidence/observations.h"
#include "planner/search/search.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Observations of the profile if it is a file; the catalogue's have none.
[[nodiscard]] std::vector<planner::Observation> load_observations(const std::string& profile);

/// The profile `text` for `path`, with the observations of `profile` (a name or a file) and of the existing
/// file: results of past runs remain true.
[[nodiscard]] std::string keep_observations(const std::string& text, const std::string& profile,
                                            const std::string& path, Remarks& remarks);

/// Adds the observations of their groups to refusals and doubts. Observations that contradict the winner
/// become remarks.
void tell_observations(planner::SearchResult& result, const std::vector<planner::Observation>& observations,
                       const models::Job& job, Remarks& remarks);

/// Fills the `observations` of every group. Returns a line for each observation that contradicts the verdict
/// on a group.
[[nodiscard]] std::string tell_observations(topology::PlacementVerdict& verdict,
                                            const std::vector<planner::Observation>& observations,
                                            const topology::Instance& instance);

}  // namespace trnplan::api
