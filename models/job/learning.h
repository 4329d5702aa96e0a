// Settings of learning and of a run's files that a job may state. The recipe that the target ships for the
// model fills in the rest; the planner neither searches nor predicts with them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trnplan::models {

/// Shape of the decay of the learning rate after the warm-up.
enum class Decay : std::size_t { cosine, linear };
inline constexpr std::array<std::string_view, 2> kDecayNames = {"cosine", "linear"};

/// Optimizers. adamw_fp32OptState keeps its states in fp32, with bf16 weights and without master weights.
inline constexpr std::array<std::string_view, 3> kOptimizerNames = {"adamw", "adamw_fp32OptState", "lamb"};

/// The weights at the start of a run: random, those of Hugging Face, or those of another run, both sharded
/// for its degrees.
enum class StartFrom : std::size_t { scratch, hf, checkpoint };
inline constexpr std::array<std::string_view, 3> kStartNames = {"scratch", "hf", "checkpoint"};

/// The scheduler of a run: its folder has the job and cluster files of that scheduler.
enum class SubmitBy : std::size_t { slurm, eks, local };
inline constexpr std::array<std::string_view, 3> kSubmitNames = {"slurm", "eks", "local"};

/// Number of checkpoints to keep when none is ever removed.
inline constexpr std::int64_t kAllCheckpoints = -1;

struct Learning {
  std::string optimizer;  ///< one of kOptimizerNames; "" = not stated
  std::optional<double> learning_rate, min_learning_rate;
  std::optional<Decay> schedule;
  std::optional<std::int64_t> warmup_steps;    ///< steps to reach the learning rate
  std::optional<std::int64_t> constant_steps;  ///< steps at the minimum, at the end
  std::optional<double> beta1, beta2, weight_decay, gradient_clip;
  std::optional<std::int64_t> seed;

  bool operator==(const Learning&) const = default;
};

/// The files that a run keeps and reads.
struct RunFiles {
  std::optional<std::int64_t> checkpoint_steps;  ///< steps between checkpoints
  std::optional<std::int64_t> checkpoints_kept;  ///< kAllCheckpoints = all
  std::optional<std::int64_t> log_steps;         ///< steps between lines of the log
  /// Absolute paths of plain characters; "" = to be filled in by hand. `weights` is the start of the run.
  std::string data, tokenizer, log_dir, weights;
  std::optional<StartFrom> start_from;
  std::optional<SubmitBy> scheduler;  ///< none: the folder has the files of all schedulers
  /// Steps between checkpoints where the job states none: the interval that loses least to failures; 0 =
  /// unknown.
  std::int64_t planned_checkpoint_steps = 0;

  bool operator==(const RunFiles&) const = default;
  bool begins_with_weights() const { return start_from.value_or(StartFrom::scratch) != StartFrom::scratch; }
};

}  // namespace trnplan::models
