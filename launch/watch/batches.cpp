#include "launch/watch/batches.h"

#include <fmt/format.h>

#include <algorithm>

namespace trnplan::launch {

namespace {

/// Sequences of the first and of the last timed step whose line states them.
struct Batches {
  double first = 0, last = 0;
  bool several = false;
};

Batches batches_of(const RunLog& run) {
  Batches found;
  for (const Stretch& s : run.stretches) {
    for (const StepTime& t : s.steps) {
      if (!(t.batch > 0)) continue;
      if (found.first == 0) found.first = t.batch;
      found.several |= found.last > 0 && found.last != t.batch;
      found.last = t.batch;
    }
  }
  return found;
}

/// True if the batch still grows to the plan's.
bool grows_to(const LogReading& reading, double last, const models::Training& training) {
  const double whole = training.global_batch;
  if (last >= whole) return false;
  const auto& samples = reading.content.steps;
  if (!samples.empty() && samples.back().full_batch) return *samples.back().full_batch == whole;
  const double tokens = static_cast<double>(reading.run.total) * training.sequence;
  return tokens * whole >= kRampSteps * training.tokens && training.tokens > 0 &&
         tokens * last <= kRampSteps * training.tokens;
}

void scale(logs::StepSample& s, double share) {
  s.seconds /= share;
  s.low /= share;
  s.high /= share;
  for (std::optional<double>* of : {&s.spread, &s.wall_seconds, &s.sequences_a_step})
    if (*of) **of /= share;
  *s.global_batch /= share;
}

}  // namespace

void take_whole_batch(LogReading& reading, const std::optional<io::PlanFile>& plan) {
  const Batches found = batches_of(reading.run);
  if (!(found.last > 0)) return;
  const bool grows = plan && grows_to(reading, found.last, plan->job.training);
  const double whole = grows ? plan->job.training.global_batch : found.last;
  if (!grows && !found.several) return;
  for (Stretch& s : reading.run.stretches) {
    for (StepTime& t : s.steps) {
      if (!(t.batch > 0)) continue;
      t.share = t.batch / whole;
      t.seconds /= t.share;
      t.saving /= t.share;
    }
  }
  if (grows)
    for (logs::StepSample& s : reading.content.steps)
      if (s.global_batch && *s.global_batch > 0) scale(s, *s.global_batch / whole);
  reading.whole_batch =
      grows
          ? fmt::format(
                "steps have {:.0f} sequences and are taken to grow to {:.0f}: times are those of a "
                "step of {:.0f} at this pace, which smaller batches make longer",
                found.last, whole, whole)
          : fmt::format("steps had {:.0f} sequences and now have {:.0f}: times are those of a step of {:.0f}",
                        found.first, found.last, whole);
}

}  // namespace trnplan::launch
