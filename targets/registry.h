// Every target there is: the one place that lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/target.h"

namespace trnplan::targets {

/// The first is what `plan --out` writes for where nothing is said.
[[nodiscard]] const std::vector<const planner::Target*>& all();
[[nodiscard]] const planner::Target& standard();

/// That of a job's software. Where it names none, or a stack that no target is for: the first that trains on the job's
/// machine with the framework that is pinned, else with the machine's usual one; else the standard one.
[[nodiscard]] const planner::Target& of(const models::Job& job);

/// The first that trains on such machines with the framework, as a strategy states it; nullptr where none does.
[[nodiscard]] const planner::Target* that_trains(const topology::Traits& machine, std::string_view framework);

/// Whose config a file is, or whose program the script starts; nullptr where that cannot be told. Cost: linear in the text.
[[nodiscard]] const planner::Target* whose(const planner::ConfigFile& file);

/// nullptr where there is none of that name.
[[nodiscard]] const planner::Target* find(std::string_view name);

/// That all targets which train on such machines end, as planner::ending_of() of the first says; "" where one lasts.
[[nodiscard]] std::string ending_on(const topology::Traits& machine, const models::NeuronReleases& known);

/// What the job leaves open, as the target does it: its precision where that is not stated, no ZeRO-1 where it has
/// none, dropout, and its framework where that is not the usual one of the machine.
void take_defaults(models::Job& job, const planner::Target& target, bool precision_stated);

/// In the order of all().
[[nodiscard]] std::vector<std::string> names();

}  // namespace trnplan::targets
