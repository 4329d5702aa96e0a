#include "models/step_run.h"

#include "models/step.h"

namespace trnplan::models {

namespace {

/// What is run one by one: some 1.5 GB of tasks while layers are not expanded.
constexpr std::int64_t kMostPasses = 4'000'000;

/// Rounds that are run before a rhythm is looked for, beside those that fill the pipeline.
constexpr int kFewRounds = 8;

std::int64_t passes_of(const StepParts& p, int micro_batches) {
  return saturating_product({micro_batches, p.stages, p.chunks()});
}

/// Looks for a rhythm only where everything of the first micro-batches has ended.
void keep_whole(StepProgram& step, int whole) {
  sim::TaskId last = 0;
  for (std::size_t i = 0; i + 1 < step.segments.size(); ++i) {
    const int micro_batch = step.segments[i].action.micro_batch;
    if (micro_batch >= 0 && micro_batch < whole) last = step.segments[i + 1].first;
  }
  sim::Repeats& r = step.repeats;
  while (r.period > 0 && r.first < last) r.first += r.period;
}

}  // namespace

SimTime StepRun::end() const {
  return repeats > 0 ? run.end + run.rhythm->length * repeats : run.end;
}

StepRun run_unfolded(const StepParts& p, Layout& layout, bool expand, bool segments) {
  if (passes_of(p, p.micro_batches) > kMostPasses) {
    throw TooManyPasses(
        "a step of more than 4 million micro-batches times stages that never gets into a rhythm is not "
        "simulated");
  }
  StepRun r{make_program(p, layout, expand, segments), {}};
  r.run = sim::execute(r.step.program);
  return r;
}

StepRun run_folded(const StepParts& p, Layout& layout, bool expand, int whole, bool segments) {
  const int round = p.chunks() > 1 ? p.stages : 1, m = p.micro_batches;
  const int filling = p.chunks() > 1 ? 0 : 3 * p.stages, first = (whole + round - 1) / round;
  std::int64_t few = static_cast<std::int64_t>(first + filling + kFewRounds) * round;
  for (; few + kFewRounds * round < m && 2 * (few - first * round) < m; few = 2 * few - first * round) {
    int tried = static_cast<int>(few);
    if (passes_of(p, tried) > kMostPasses) break;
    for (int spare = 0; tried + spare < m;) {
      tried += spare;
      StepRun r{make_program_of(tried, p, layout, expand, segments), {}};
      keep_whole(r.step, whole);
      r.run = sim::execute(r.step.program, r.step.repeats);
      if (!r.run.rhythm) break;
      const auto periods = static_cast<int>(r.run.rhythm->tasks / r.step.repeats.period);
      const int each = periods * r.step.micro_batches_of_period;
      r.repeats = (m - tried) / each;
      if ((m - tried) % each == 0) return r;
      if (spare > 0) break;
      spare = (m - tried) % each;
    }
  }
  return run_unfolded(p, layout, expand, segments);
}

}  // namespace trnplan::models
