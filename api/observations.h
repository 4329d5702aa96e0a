// What a profile's observations says, beside the results of a command.
#pragma once

#include <string>
#include <vector>

#include "models/job/job.h"
#include "planner/confidence/observations.h"
#include "planner/search/search.h"
#include "text/remarks.h"

namespace trnplan::api {

/// That of the profile, when it is a file; the catalogue's have none.
[[nodiscard]] std::vector<planner::Observation> load_observations(const std::string& profile);

/// The profile `text` that goes to `path`, with the observations of `profile` (a name or a file) and of the file that is there: what
/// runs have shown stays true.
[[nodiscard]] std::string keep_observations(std::string text, const std::string& profile,
                                            const std::string& path, Remarks& remarks);

/// Refusals and doubts get what was observed of their groups; what contradicts the winner becomes a remark.
void tell_observations(planner::SearchResult& result, const std::vector<planner::Observation>& observations,
                       const models::Job& job, Remarks& remarks);

/// Every group's `observations` gets what was observed of it. A line for each observation that contradicts the
/// verdict on a group.
[[nodiscard]] std::string tell_observations(topology::PlacementVerdict& verdict,
                                            const std::vector<planner::Observation>& observations,
                                            const topology::Instance& instance);

}  // namespace trnplan::api
