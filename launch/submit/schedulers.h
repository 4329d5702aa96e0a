// Every scheduler: the only list of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/scheduler/scheduler.h"
#include "models/job/learning.h"

namespace trnplan::launch {

/// All schedulers; the first is the default.
[[nodiscard]] const std::vector<const Scheduler*>& schedulers();

/// Scheduler by name; nullptr if there is none.
[[nodiscard]] const Scheduler* find_scheduler(std::string_view name);

/// Words that launch a plan's folder with the scheduler that its run names, else with the first.
[[nodiscard]] std::vector<std::string> launch_command(const std::string& folder, const models::RunFiles& run);

/// Names in the order of schedulers().
[[nodiscard]] std::vector<std::string> scheduler_names();

}  // namespace trnplan::launch
