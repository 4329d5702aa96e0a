// Rules and words shared by targets that start a script with flags instead of a config.
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
  /// --flag 1 or --flag 0, for scripts without switches.
  Words& truth(std::string_view name, bool value);
  /// --flag VALUE VALUE...
  Words& list(std::string_view name, const std::vector<std::string>& values);
  /// --flag alone, if `present`.
  Words& toggle(std::string_view name, bool present);

  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

/// Violation of a target. `fix` says what to write in the job.
planner::Violation target_lacks(std::string message, std::string fix);

/// Refuses models other than dense Llama without biases.
void need_llama(const models::Job& job, std::vector<planner::Violation>& broken);

/// Refuses the parts of a strategy that no script of flags can express: uneven cuts, schedules of other
/// frameworks, and classes of partial recompute that only a config can name.
void need_plain_strategy(const models::Strategy& s, std::vector<planner::Violation>& broken);

/// Settings of learning and of checkpoints that the flags or the config of a script can express.
struct Learnable {
  /// Value that the script fixes: the only one that a job may state. Without a value the script has no
  /// setting for it, and every statement of a job would be dropped.
  struct Fixed {
    std::optional<double> value;
  };

  std::optional<models::Decay> schedule;  ///< the only one; absent = any
  bool shape = true;                      ///< has the schedule's name, minimum and constant steps
  bool linear_minimum = false;            ///< the linear schedule has a minimum and constant steps too
  bool constant_steps = true;             ///< at the minimum, at the end
  std::vector<std::string_view> optimizers = {"adamw"};
  std::optional<Fixed> clipping = Fixed{1.0};  ///< the norm of gradients; absent = any
  std::optional<Fixed> decay;                  ///< of weights, whatever its flag says; absent = any
  bool betas = true;
  bool logs_within = false;      ///< the log needs at least one line per run
  bool log_steps = true;         ///< sets how often it logs
  bool checkpoint_steps = true;  ///< sets how many steps lie between checkpoints
  bool keeps_all = true;         ///< can keep every checkpoint
  bool keeps_one = true;         ///< can keep only one
  std::vector<models::StartFrom> starts = {models::StartFrom::scratch};
};

/// Refuses the job's settings of learning and checkpoints that the script cannot express, or that contradict
/// the rest of the recipe.
void need_learning(const models::Job& job, const Recipe& shipped, const Learnable& can,
                   std::vector<planner::Violation>& broken);

/// Adds a sentence for each setting of the job's software that the script has no flag for, so that it has no
/// effect. `has`: those of requests_in_flight, fuse_qkv and sequential_move_factor that the script takes.
void say_unused(const models::Job& job, std::initializer_list<std::string_view> has,
                std::vector<std::string>& remarks);

/// Asks for the variable of settings.env that names the weights to start from, $TRNPLAN_WEIGHTS, if the job
/// starts from weights.
void ask_for_weights(const models::Job& job, std::vector<planner::PersonValue>& asked);

}  // namespace trnplan::targets
