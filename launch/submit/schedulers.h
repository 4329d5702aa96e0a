// Every scheduler there is: the one place that lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/scheduler/scheduler.h"
#include "models/job/learning.h"

namespace trnplan::launch {

/// The first is the one where nothing is said.
[[nodiscard]] const std::vector<const Scheduler*>& schedulers();

/// nullptr where there is none of that name.
[[nodiscard]] const Scheduler* find_scheduler(std::string_view name);

/// The words that launch a plan's folder by the scheduler that its run names, else by the first.
[[nodiscard]] std::vector<std::string> launch_command(const std::string& folder, const models::RunFiles& run);

/// In the order of schedulers().
[[nodiscard]] std::vector<std::string> scheduler_names();

}  // namespace trnplan::launch
