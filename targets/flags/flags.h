// What targets share whose scripts take flags instead of a config.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"
#include "targets/flags/recipe.h"

namespace trnplan::targets {

/// The words of a command line.
class Words {
 public:
  /// --flag VALUE.
  Words& flag(std::string_view name, std::string value);
  Words& count(std::string_view name, std::int64_t value);
  Words& number(std::string_view name, double value);
  /// 1 or 0, as scripts without switches have it.
  Words& truth(std::string_view name, bool value);
  /// --flag VALUE VALUE...
  Words& list(std::string_view name, const std::vector<std::string>& values);
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

/// What flags or config of a script can say of learning and of keeping a run.
struct Learnable {
  /// Of a value that the script fixes: no statement but that value is true. Without one it says nothing of it, so that
  /// every statement would be dropped.
  struct Fixed {
    std::optional<double> value;
  };

  std::optional<models::Decay> schedule;  ///< the only one; absent = each of them
  bool shape = true;                      ///< of the schedule: its name, its minimum and its constant steps
  bool linear_minimum = false;            ///< and constant steps at it, of the linear schedule too
  bool constant_steps = true;             ///< at the minimum, at the end
  std::vector<std::string_view> optimizers = {"adamw"};
  std::optional<Fixed> clipping = Fixed{1.0};  ///< the norm of gradients; absent = any
  std::optional<Fixed> decay;                  ///< of weights, whatever its flag says; absent = any
  bool betas = true;
  bool logs_within = false;      ///< needs a line of the log a run
  bool log_steps = true;         ///< says how often it logs
  bool checkpoint_steps = true;  ///< says after how many steps it saves
  bool keeps_all = true;         ///< has a word for removing no checkpoint
  bool keeps_some = true;        ///< has a word for how many are kept
  bool keeps_one = true;         ///< and can keep a single one
  std::vector<models::StartFrom> starts = {models::StartFrom::scratch};
};

/// What the job states of learning and keeping and the script cannot do, or what contradicts the recipe's rest.
void need_learning(const models::Job& job, const Recipe& shipped, const Learnable& can,
                   std::vector<planner::Violation>& broken);

/// A sentence for each setting of the job's software that the script has no word for, so that it does nothing. `has`: those
/// of requests_in_flight, fuse_qkv and sequential_move_factor that it has.
void say_unused(const models::Job& job, std::initializer_list<std::string_view> has,
                std::vector<std::string>& remarks);

/// Where a job begins with weights: the variable of settings.env that names them, $TRNPLAN_WEIGHTS.
void ask_for_weights(const models::Job& job, std::vector<planner::PersonValue>& asked);

}  // namespace trnplan::targets
