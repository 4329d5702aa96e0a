#include "planner/cluster/cluster_question.h"

#include <algorithm>

namespace trnplan::planner {

namespace {

/// Spans that count as equal where no price decides.
constexpr double kEqualSpans = 1.01;

ClusterOption option_of(const ClusterSetup& setup, int value, const Reliability& reliability,
                        std::optional<double> usd_per_node_hour, const SamplingOptions& options) {
  const ClusterEstimate e = estimate_cluster(setup, reliability, options);
  ClusterOption o;
  o.value = value;
  o.span = e.span;
  o.ended = e.ended;
  if (e.span.median < kInfinity) o.usd = cluster_usd(setup, usd_per_node_hour, e.span.median);
  return o;
}

bool ends(const ClusterOption& o) {
  return o.span.median < kInfinity;
}

}  // namespace

std::optional<double> cluster_usd(const ClusterSetup& setup, std::optional<double> usd_per_node_hour,
                                  double seconds) {
  if (!usd_per_node_hour) return std::nullopt;
  return *usd_per_node_hour * (setup.nodes + setup.spares) * seconds / kHour;
}

ClusterOptions ask_spares(const ClusterSetup& setup, const Reliability& reliability,
                          const std::vector<int>& values, std::optional<double> usd_per_node_hour,
                          const SamplingOptions& options) {
  ClusterOptions all;
  double shortest = kInfinity;
  for (const int value : values) {
    ClusterSetup with = setup;
    with.spares = value;
    all.rows.push_back(option_of(with, value, reliability, usd_per_node_hour, options));
    shortest = std::min(shortest, all.rows.back().span.median);
  }
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    const ClusterOption& o = all.rows[i];
    if (!ends(o)) continue;
    if (!o.usd) {
      if (all.recommended < 0 && o.span.median <= kEqualSpans * shortest)
        all.recommended = static_cast<int>(i);
    } else if (all.recommended < 0 || *o.usd < *all.rows[static_cast<std::size_t>(all.recommended)].usd) {
      all.recommended = static_cast<int>(i);
    }
  }
  return all;
}

ClusterOptions ask_checkpoints(const ClusterSetup& setup, const Reliability& reliability,
                               const std::vector<int>& values, std::optional<double> usd_per_node_hour,
                               const SamplingOptions& options) {
  ClusterOptions all;
  for (const int value : values) {
    ClusterSetup with = setup;
    for (ClusterJob& job : with.jobs)
      job.every_steps = value > 0 ? value : best_checkpoint_steps(job, reliability);
    all.rows.push_back(option_of(with, value, reliability, usd_per_node_hour, options));
    const ClusterOption& o = all.rows.back();
    if (!ends(o)) continue;
    if (all.recommended < 0 ||
        o.span.median < all.rows[static_cast<std::size_t>(all.recommended)].span.median)
      all.recommended = static_cast<int>(all.rows.size()) - 1;
  }
  return all;
}

}  // namespace trnplan::planner
