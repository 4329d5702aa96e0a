// Command written by a target, and functions to search it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "planner/plan/target.h"
#include "tests/models/setup.h"

namespace trnplan {

inline bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Value after `flag`; "" if it is absent.
inline std::string value_of(const planner::TrainCommand& c, const std::string& flag) {
  const auto it = std::find(c.arguments.begin(), c.arguments.end(), flag);
  return it == c.arguments.end() ? "" : *(it + 1);
}

inline planner::TrainCommand command_of(const planner::Target& target, const models::Job& job,
                                        const char* strategy) {
  return target.command(job, strategy_of(job, strategy));
}

/// Reason why the target cannot train it; "" if it can.
inline std::string why_not(const planner::Target& target, const models::Job& job, const char* strategy) {
  return planner::inexpressible(target, job, strategy_of(job, strategy)).value_or("");
}

}  // namespace trnplan
