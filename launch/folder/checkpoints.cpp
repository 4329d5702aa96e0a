#include "launch/folder/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/memory/host_memory.h"
#include "targets/flags/recipe.h"

namespace trnplan::launch {

namespace {

constexpr double kGibibytesOfTebibyte = 1024;

std::int64_t kept_of(const models::Job& job, const planner::Target& target) {
  return job.run.checkpoints_kept.value_or(target.defaults().checkpoints_kept);
}

/// Checkpoints of a run that removes none.
struct Saved {
  std::int64_t steps = 0, every = 0, count = 0;  ///< 0 steps: the length is unknown
};

Saved saved_of(const models::Job& job, const models::Strategy& strategy, const planner::Target& target) {
  Saved s;
  s.steps = target.command(job, strategy).steps;
  if (s.steps == 0) s.steps = targets::steps_of(job.training, targets::Recipe{});
  if (s.steps == 0) return s;
  s.every = std::max<std::int64_t>(1, targets::saves_every(job.run, s.steps));
  s.count = (s.steps + s.every - 1) / s.every;
  return s;
}

}  // namespace

std::int64_t checkpoints_with_room(const models::Job& job, const models::Strategy& strategy,
                                   const planner::Target& target) {
  const std::int64_t kept = kept_of(job, target);
  if (kept != models::kAllCheckpoints) return kept;
  return std::max(saved_of(job, strategy, target).count, targets::kKeptCheckpoints);
}

std::string checkpoint_note(const models::Job& job, const models::Strategy& strategy,
                            const planner::Target& target) {
  if (kept_of(job, target) != models::kAllCheckpoints) return "";
  const Saved saved = saved_of(job, strategy, target);
  if (saved.steps == 0) return "";
  const double one = in_gibibytes(models::checkpoint_bytes(job, strategy));
  std::string text = fmt::format(
      "No checkpoint is removed: one every {} steps makes {} of {:.0f} GiB by step {}, {:.1f} TiB",
      saved.every, saved.count, std::ceil(one), saved.steps,
      static_cast<double>(saved.count) * one / kGibibytesOfTebibyte);
  if (job.cluster.instance.ec2_type.empty()) {  // no file of the folder creates a file system
    return text +
           ": write a number in checkpoints_kept of the job, or a larger checkpoint_steps, or give it a file "
           "system that holds them.";
  }
  return text + "; the file system of the folder's cluster files holds them all.";
}

}  // namespace trnplan::launch
