#include "planner/cluster/cluster_question.h"

#include <algorithm>
#include <cmath>

namespace trnplan::planner {

namespace {

/// Spans that count as equal where no price decides.
constexpr double kEqualSpans = 1.01;

ClusterOption option_of(const ClusterSetup& setup, int value, const ClusterEstimate& e,
                        std::optional<double> usd_per_node_hour) {
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

/// True if the mean difference of the spans, of the same draws, is within two of its standard errors.
bool alike(const std::vector<double>& a, const std::vector<double>& b) {
  double n = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] < kInfinity && b[i] < kInfinity)) continue;
    n += 1;
    sum += a[i] - b[i];
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  if (n < 2) return true;
  const double mean = sum / n, variance = std::max(squares / n - mean * mean, 0.0);
  return std::abs(mean) <= 2 * std::sqrt(variance / (n - 1));
}

/// Fills the options that are alike to the recommended one.
void mark_ties(ClusterOptions& all, const std::vector<ClusterEstimate>& of) {
  if (all.recommended < 0) return;
  const auto& best = of[static_cast<std::size_t>(all.recommended)].spans;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    if (static_cast<int>(i) != all.recommended && ends(all.rows[i]) && alike(of[i].spans, best))
      all.tied.push_back(static_cast<int>(i));
  }
}

}  // namespace

ClusterSetup with_checkpoints(ClusterSetup setup, int steps, const Reliability& reliability) {
  for (ClusterJob& job : setup.jobs)
    job.every_steps = steps > 0 ? steps : best_checkpoint_steps(job, reliability);
  return setup;
}

std::optional<double> cluster_usd(const ClusterSetup& setup, std::optional<double> usd_per_node_hour,
                                  double seconds) {
  if (!usd_per_node_hour) return std::nullopt;
  return *usd_per_node_hour * (setup.nodes + setup.spares) * seconds / kHour;
}

ClusterOptions ask_spares(const ClusterSetup& setup, const Reliability& reliability,
                          const std::vector<int>& values, std::optional<double> usd_per_node_hour,
                          const SamplingOptions& options) {
  ClusterOptions all;
  std::vector<ClusterEstimate> of;
  double shortest = kInfinity;
  for (const int value : values) {
    ClusterSetup with = setup;
    with.spares = value;
    of.push_back(estimate_cluster(with, reliability, options));
    all.rows.push_back(option_of(with, value, of.back(), usd_per_node_hour));
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
  mark_ties(all, of);
  return all;
}

ClusterOptions ask_checkpoints(const ClusterSetup& setup, const Reliability& reliability,
                               const std::vector<int>& values, std::optional<double> usd_per_node_hour,
                               const SamplingOptions& options) {
  ClusterOptions all;
  std::vector<ClusterEstimate> of;
  for (const int value : values) {
    const ClusterSetup with = with_checkpoints(setup, value, reliability);
    of.push_back(estimate_cluster(with, reliability, options));
    all.rows.push_back(option_of(with, value, of.back(), usd_per_node_hour));
    const ClusterOption& o = all.rows.back();
    if (!ends(o)) continue;
    if (all.recommended < 0 ||
        o.span.median < all.rows[static_cast<std::size_t>(all.recommended)].span.median)
      all.recommended = static_cast<int>(all.rows.size()) - 1;
  }
  mark_ties(all, of);
  return all;
}

}  // namespace trnplan::planner
