// What a profile's evidence says, beside the results of a command.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "models/job/job.h"
#include "planner/confidence/evidence.h"
#include "planner/search/search.h"

namespace trnplan::cli {

/// That of the profile, when it is a file; the catalogue's have none.
std::vector<planner::Evidence> load_evidence(const Common& common);

/// The profile `text` that goes to `path`, with the evidence of --profile and of the file that is there: what
/// runs have shown stays true.
std::string keep_evidence(std::string text, const Common& common, const std::string& path);

/// Refusals and doubts get what was observed of their groups; what contradicts the winner becomes a remark.
void tell_evidence(planner::SearchResult& result, const std::vector<planner::Evidence>& evidence,
                   const models::Job& job);

/// Every group's `evidence` gets what was observed of it. A line for each observation that contradicts the
/// verdict on a group.
std::string tell_evidence(topology::PlacementVerdict& verdict, const std::vector<planner::Evidence>& evidence,
                          const topology::Instance& instance);

}  // namespace trnplan::cli
