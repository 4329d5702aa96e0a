// The list "observations" of a profile, from runs (planner/confidence/observations.h, docs/json.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "planner/confidence/observations.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the list at `node`, at most 10,000 entries; entries with a fault are left out and the fault is
/// added.
std::vector<planner::Observation> observations_from(const Node& node, std::vector<Diagnostic>& faults);

/// Reads the list of a profile's file; empty without one. Throws InputError.
std::vector<planner::Observation> read_observations(const std::filesystem::path& profile);

/// A profile's text with these observations. One of the same case is replaced unless it knows more of the
/// strategy, others are added, all else stays. Sorted, so that the order in which logs are read does not
/// matter. Requires: `text` is a profile.
std::string with_observations(const std::string& text, const std::vector<planner::Observation>& added);

/// The text of a profile with the values of `base` of the catalogue, to hold observations.
std::string profile_on(const std::string& base, const std::string& name);

}  // namespace trnplan::io
