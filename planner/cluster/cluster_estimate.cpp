#include "planner/cluster/cluster_estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "planner/cost/draws.h"
#include "units/normal.h"

namespace trnplan::planner {

namespace {

/// Factor of the steps of each job where the error of all is the same quantile of its own distribution.
std::vector<double> stretch_at(const std::vector<ClusterJob>& jobs, double probability) {
  std::vector<double> all;
  for (const ClusterJob& job : jobs)
    all.push_back(job.error.empty() ? 1 : std::exp(models::mixture_quantile(job.error, probability)));
  return all;
}

OverRuns over(const std::vector<ClusterRun>& runs, const std::function<double(const ClusterRun&)>& of) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const ClusterRun& run : runs) values.push_back(of(run));
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.5), {percentile(values, 0.05), percentile(values, 0.95)}};
}

JobEstimate job_over(const std::vector<ClusterRun>& runs, std::size_t j) {
  const auto of = [&](auto get) {
    return over(runs, [=](const ClusterRun& run) {
      return run.jobs[j].wall < Seconds(kInfinity) ? get(run.jobs[j]) : kInfinity;
    });
  };
  JobEstimate e;
  e.wall = of([](const JobRun& r) { return r.wall.value; });
  e.queued = of([](const JobRun& r) { return r.queued.value; });
  e.recovering = of([](const JobRun& r) { return r.recovering.value; });
  e.failures = of([](const JobRun& r) { return static_cast<double>(r.failures); });
  e.node_seconds = of([](const JobRun& r) { return r.node_seconds; });
  e.goodput = over(runs, [=](const ClusterRun& run) { return run.jobs[j].goodput; });
  return e;
}

}  // namespace

ClusterEstimate estimate_cluster(const ClusterSetup& setup, const Reliability& reliability,
                                 const SamplingOptions& options) {
  Random seeds(options.seed);
  std::vector<ClusterRun> runs;
  const bool spot =
      std::any_of(setup.jobs.begin(), setup.jobs.end(), [](const ClusterJob& j) { return j.spot; });
  for (int i = 0; i < std::max(options.draws, 1); ++i) {
    Random random(seeds.seed());
    const Reliability drawn = drawn_from(reliability, random, spot);
    const double at = normal_probability(random.normal());
    std::vector<double> stretch = stretch_at(setup.jobs, at);
    runs.push_back(simulate_cluster(setup, drawn, random.seed(), std::move(stretch)));
  }
  ClusterEstimate e;
  for (std::size_t j = 0; j < setup.jobs.size(); ++j) {
    e.jobs.push_back(job_over(runs, j));
    const ClusterJob& job = setup.jobs[j];
    e.jobs.back().alone = goodput(failure_model(reliability, shape_of(job)), job.every_steps * job.step);
  }
  e.span = over(runs, [](const ClusterRun& run) { return run.span.value; });
  std::vector<double> given_up;
  for (const ClusterRun& run : runs) {
    e.spans.push_back(run.span.value);
    if (!(run.span.value < kInfinity)) given_up.push_back(run.given_up.value);
  }
  if (!given_up.empty()) e.given_up = median(given_up);
  e.use = over(runs, [](const ClusterRun& run) { return run.use; });
  const auto ended = std::count_if(runs.begin(), runs.end(),
                                   [](const ClusterRun& run) { return run.span.value < kInfinity; });
  e.ended = static_cast<double>(ended) / static_cast<double>(runs.size());
  return e;
}

int best_checkpoint_steps(const ClusterJob& job, const Reliability& reliability) {
  return best_steps(failure_model(reliability, shape_of(job)), job.step);
}

}  // namespace trnplan::planner
