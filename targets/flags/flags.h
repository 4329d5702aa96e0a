// What targets share whose scripts take flags instead of a config.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"

namespace trnplan::targets {

/// Steps between checkpoints, and how many are kept, where nothing else is stated.
inline constexpr int kSaveEvery = 200;
inline constexpr int kKeptCheckpoints = 2;

/// The words of a command line.
class Words {
 public:
  /// --flag VALUE.
  Words& flag(std::string_view name, std::string value);
  Words& count(std::string_view name, std::int64_t value);
  Words& number(std::string_view name, double value);
  /// 1 or 0, as scripts without switches have it.
  Words& truth(std::string_view name, bool value);
  /// --flag alone, where `present`.
  Words& toggle(std::string_view name, bool present);

  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

/// The violation of a target: `fix` says what to write in the job.
planner::Violation target_lacks(std::string message, std::string fix);

/// Models other than dense Llama without biases.
void need_llama(const models::Job& job, std::vector<planner::Violation>& broken);

/// What no script of flags can say of a strategy: uneven cuts, schedules of other frameworks, classes of partial
/// recompute that only a config can name.
void need_plain_strategy(const models::Strategy& s, std::vector<planner::Violation>& broken);

}  // namespace trnplan::targets
