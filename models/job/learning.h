// What a run learns with and how it is kept, as far as a job states it. What is left open is that of the recipe
// which the target ships for the model; the planner neither searches nor predicts with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trnplan::models {

/// How the learning rate falls after the warm-up.
enum class Decay : std::size_t { cosine, linear };
inline constexpr std::array<std::string_view, 2> kDecayNames = {"cosine", "linear"};

/// adamw_fp32OptState keeps its states in fp32 beside bf16 weights without master weights.
inline constexpr std::array<std::string_view, 3> kOptimizerNames = {"adamw", "adamw_fp32OptState", "lamb"};

/// What a run begins with: random weights, those of Hugging Face or of another run, both sharded for its degrees.
enum class StartFrom : std::size_t { scratch, hf, checkpoint };
inline constexpr std::array<std::string_view, 3> kStartNames = {"scratch", "hf", "checkpoint"};

/// What submits a run: whose jobs and cluster files its folder has.
enum class SubmitBy : std::size_t { slurm, eks, local };
inline constexpr std::array<std::string_view, 3> kSubmitNames = {"slurm", "eks", "local"};

/// How many checkpoints are kept where none is ever removed.
inline constexpr std::int64_t kAllCheckpoints = -1;

struct Learning {
  std::string optimizer;  ///< of kOptimizerNames; "" = not stated
  std::optional<double> learning_rate, min_learning_rate;
  std::optional<Decay> schedule;
  std::optional<std::int64_t> warmup_steps;    ///< to reach the learning rate
  std::optional<std::int64_t> constant_steps;  ///< at the minimum, at the end
  std::optional<double> beta1, beta2, weight_decay, gradient_clip;
  std::optional<std::int64_t> seed;

  bool operator==(const Learning&) const = default;
};

/// What is kept of a run and where its files lie.
struct RunFiles {
  std::optional<std::int64_t> checkpoint_steps;  ///< between checkpoints
  std::optional<std::int64_t> checkpoints_kept;  ///< kAllCheckpoints = all
  std::optional<std::int64_t> log_steps;         ///< between lines of the log
  /// Absolute paths of plain letters; "" = filled in by hand. `weights`: what the run begins with.
  std::string data, tokenizer, log_dir, weights;
  std::optional<StartFrom> start_from;
  std::optional<SubmitBy> scheduler;  ///< none: the folder has the files of all
  /// Between checkpoints where the job states nothing: what loses least to failures; 0 = not known.
  std::int64_t planned_checkpoint_steps = 0;

  bool operator==(const RunFiles&) const = default;
  bool begins_with_weights() const { return start_from.value_or(StartFrom::scratch) != StartFrom::scratch; }
};

}  // namespace trnplan::models
