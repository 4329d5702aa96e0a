// What a profile's observations says, beside the results of a command.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "models/job/job.h"
#include "planner/confidence/observations.h"
#include "planner/search/search.h"

namespace trnplan::cli {

/// That of the profile, when it is a file; the catalogue's have none.
std::vector<planner::Observation> load_observations(const Common& common);

/// The profile `text` that goes to `path`, with the observations of --profile and of the file that is there: what
/// runs have shown stays true.
std::string keep_observations(std::string text, const Common& common, const std::string& path);

/// Refusals and doubts get what was observed of their groups; what contradicts the winner becomes a remark.
void tell_observations(planner::SearchResult& result, const std::vector<planner::Observation>& observations,
                       const models::Job& job);

/// Every group's `observations` gets what was observed of it. A line for each observation that contradicts the
/// verdict on a group.
std::string tell_observations(topology::PlacementVerdict& verdict,
                              const std::vector<planner::Observation>& observations,
                              const topology::Instance& instance);

}  // namespace trnplan::cli
