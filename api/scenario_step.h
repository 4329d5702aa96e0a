// Steps of a machine that is not ideal, for simulate and whatif. Private to api/: it is not installed.
#pragma once

#include <string>

#include "api/simulate.h"
#include "planner/cost/whatif.h"

namespace trnplan::api {

/// The step of a strategy in `scenario`, which was asked for as `text`. Throws InputError if it cannot be simulated.
[[nodiscard]] ScenarioStep scenario_step(const std::string& text, const models::Scenario& scenario,
                                         const models::Job& job, const models::Strategy& strategy,
                                         const models::Profile& profile);

/// Refuses a scenario that a cluster of the question cannot be in: a node or core that the smallest lacks, or any
/// number of one where the nodes are solved for. Throws InputError with every fault.
void check_scenario(const std::string& text, const planner::WhatIfQuestion& question, const Files& files);

/// The scenario `text` on a cluster; ideal if it is empty. Throws InputError.
[[nodiscard]] models::Scenario scenario_on(const std::string& text, const topology::Cluster& cluster,
                                           const Files& files);

/// True if plans of a job can be made for the spine of a scenario: where the network of its machine was not measured.
[[nodiscard]] bool plans_for_spine(const models::Job& job);
/// A job for whose plans the spine is as in `scenario`, which then has the usual one, if plans_for_spine().
[[nodiscard]] models::Job with_spine(models::Job job, models::Scenario& scenario);

/// Gives a plan of `job`, on its cluster, the step of `scenario`, which was asked for as `text`: its interval is as
/// wide as before, as a factor. Throws as scenario_step() does.
void slow_down(planner::Plan& plan, const std::string& text, const models::Scenario& scenario,
               const models::Job& job, const models::Profile& profile);

}  // namespace trnplan::api
