// Every target: the only list of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/target.h"

namespace trnplan::targets {

/// All targets. `plan --out` writes for the first by default.
[[nodiscard]] const std::vector<const planner::Target*>& all();
[[nodiscard]] const planner::Target& standard();

/// Target of a job's software. If the job names none, or a stack without a target: the first that trains on
/// the job's machine with the pinned framework, else with the machine's usual one; else the standard one.
[[nodiscard]] const planner::Target& of(const models::Job& job);

/// First target that trains on such machines with the framework, as a strategy states it; nullptr if there is
/// none.
[[nodiscard]] const planner::Target* that_trains(const topology::Traits& machine, std::string_view framework);

/// Target of a config file, or of the program that a script starts; nullptr if it cannot be determined. Cost:
/// linear in the text.
[[nodiscard]] const planner::Target* whose(const planner::ConfigFile& file);

/// Target by name; nullptr if there is none.
[[nodiscard]] const planner::Target* find(std::string_view name);

/// End of support, if all targets that train on such machines reach one: planner::ending_of() of the first.
/// "" if one has no end.
[[nodiscard]] std::string ending_on(const topology::Traits& machine, const models::NeuronReleases& known);

/// Sets values that the job leaves open to the target's defaults: its precision if not stated, no ZeRO-1 if
/// it lacks it, dropout, and its framework if that is not the machine's usual one.
void take_defaults(models::Job& job, const planner::Target& target, bool precision_stated);

/// Names in the order of all().
[[nodiscard]] std::vector<std::string> names();

}  // namespace trnplan::targets
