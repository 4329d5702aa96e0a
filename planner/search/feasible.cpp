// Feasibility of a cluster without a search: whether it has a plan at all.
#include <stdexcept>
#include <utility>

#include "models/step/step_bound.h"
#include "planner/plan/space.h"
#include "planner/search/candidate_part.h"
#include "planner/search/candidates.h"
#include "topology/chip_graph.h"

namespace trnplan::planner {

using models::Job;
using models::Strategy;

bool feasible(const Job& job, const models::Profile& profile, bool accept_doubt, double fit_probability,
              const Target* target, const std::function<bool()>& stop) {
  return first_feasible_batch(job, profile, accept_doubt, fit_probability, {job.training.global_batch},
                              target, stop) != 0;
}

namespace {

/// True if the strategy's computation takes at most `longest`. A step beyond the simulation clock is no plan.
bool computes_within(Seconds longest, models::ComputeBounds& bounds, const Strategy& s, int micro_batches) {
  try {
    return bounds.mean_stage(s, micro_batches) <= longest;
  } catch (const std::overflow_error&) {
    return false;
  }
}

}  // namespace

bool may_reach(const Job& job, const models::Profile& profile, bool accept_doubt, double fit_probability,
               double tokens_per_second, const Target* target) {
  const topology::ChipGraph graph(job.cluster.instance);
  const bool beyond_target = is_beyond_target(job, target);
  CandidatePart part(job, profile, graph, fit_probability, target, beyond_target);
  models::ComputeBounds bounds(job, profile);
  Job with_batch = job;
  bool reaches = false;
  each_in_space(job, target, beyond_target, [&](const Strategy& s) {
    with_batch.training.global_batch = batch_of(job, s);
    const models::Training& t = with_batch.training;
    // Bounds are rounded to whole ticks.
    const Seconds longest(static_cast<double>(t.global_batch) * t.sequence / tokens_per_second * (1 + 1e-9));
    if (!computes_within(longest, bounds, s, models::micro_batches(t, s))) return true;
    Candidate c{s};
    part.classify(c, accept_doubt);
    reaches = c.feasibility == Feasibility::legal && c.bound <= longest;
    return !reaches;
  });
  return reaches;
}

int first_feasible_batch(const Job& job, const models::Profile& profile, bool accept_doubt,
                         double fit_probability, const std::vector<int>& batches, const Target* target,
                         const std::function<bool()>& stop) {
  const topology::ChipGraph graph(job.cluster.instance);
  const bool beyond_target = is_beyond_target(job, target, stop);
  CandidatePart part(job, profile, graph, fit_probability, target, beyond_target);
  for (const int batch : batches) {
    if (part.feasible(batch, accept_doubt, stop)) return batch;
  }
  return 0;
}

}  // namespace trnplan::planner
