#include "planner/cost/node_solver.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/architecture/architecture.h"

namespace trnplan::planner {

namespace {

/// Strategies that may be enumerated for one type to judge every number of nodes: some seconds.
constexpr double kMostStrategies = 300'000;
/// Numbers that are judged between two powers of two, if those are too many.
constexpr int kRefinements = 4;
/// MFU from which the solver starts; it changes the work, not the answer.
constexpr double kUsualMfu = 0.3;
/// Most FLOPs of a step over 6N at the BF16 peak: FP8 doubles the peak, and frozen parameters need a third
/// less.
constexpr double kMostOfPeak = 4;
/// Powers of two that are tried although time is not what is short, or beyond the budget.
constexpr int kTriesInVain = 2;
/// Probability from which more nodes cannot do more for the time.
constexpr double kInTime = 0.98;
/// Most by which fewer nodes may make more tokens a second per node, where not every number is judged.
constexpr double kMostGain = 1.25;

class NodeSolver {
 public:
  NodeSolver(const ClusterPoints& points, const topology::Instance& type)
      : type_(type), q_(points.q), counting_(counted(points.search)), points_{points.job,
                                                                              points.q,
                                                                              points.profile,
                                                                              points.reliability,
                                                                              counting_,
                                                                              points.threads} {
    const double flops = models::six_n_flops_per_token(points.job.architecture);
    const double peak = type.cores() * type.core.bf16.value;
    const double seconds = q_.deadline ? q_.deadline->value : kInfinity;
    const double at_peak = flops > 0 && peak > 0 ? q_.tokens / seconds * flops / peak : 0;
    if (q_.confidence.value_or(0.5) >= 0.5) least_ = clamped(at_peak / kMostOfPeak);
    usual_ = clamped(at_peak / kUsualMfu);
  }

  std::vector<WhatIfPoint> solve() {
    if (q_.deadline) {
      from_too_few();
    } else {
      from_too_many();
    }
    return chosen();
  }

  void add_judged(std::vector<WhatIfPoint>& to) const {
    for (const auto& [nodes, p] : judged_)
      if (p.plan) to.push_back(p);
  }

 private:
  SearchFunction counted(const SearchFunction& search) {
    return [this, &search](const models::Job& job, const models::Profile& profile, const SearchOptions& o) {
      SearchResult found = search(job, profile, o);
      strategies_ = std::max(strategies_, found.counts.enumerated);
      return found;
    };
  }
  int clamped(double nodes) const {
    return static_cast<int>(std::clamp(std::ceil(nodes), 1.0, static_cast<double>(q_.most_nodes)));
  }
  const WhatIfPoint& at(int nodes, Wanted wanted = Wanted::keeping) {
    const auto known = judged_.find(nodes);
    if (known != judged_.end() && wanted == Wanted::keeping) return known->second;
    return judged_.insert_or_assign(nodes, points_.at(type_, nodes, wanted)).first->second;
  }
  bool keeps(int nodes) { return at(nodes).keeps(q_); }
  bool affords(int numbers) const {
    return static_cast<double>(numbers) * std::max(1, strategies_) <= kMostStrategies;
  }

  /// The next power of two, `nodes` itself if it is one.
  int power(int nodes) const {
    int p = 1;
    while (p < nodes) p *= 2;
    return std::min(p, q_.most_nodes);
  }

  /// Powers of two, up to the first that keeps the limits; 0 if none does.
  int first_power(int start) {
    int in_vain = 0;
    for (int n = start;; n = std::min(2 * n, q_.most_nodes)) {
      if (keeps(n)) return n;
      const WhatIfPoint& p = at(n);
      const bool in_time = p.run.in_time >= kInTime || p.run.works < q_.confidence.value_or(0);
      if (p.plan && in_time && ++in_vain >= kTriesInVain) return 0;
      const bool costly = p.plan && p.run.in_time > kInTime && q_.budget && p.run.in_budget < p.run.in_time;
      if (n == q_.most_nodes || costly) return 0;
    }
  }

  /// True if `nodes` may keep the limits, by the forecast of more nodes that do.
  bool hopeful(int nodes, int more) {
    const RunAnswer& run = at(more).run;
    const double tokens = q_.tokens * more / nodes / kMostGain;
    return run.works * run.forecast.probability(tokens, *q_.deadline) >= q_.confidence.value_or(0.5);
  }

  void from_too_few() {
    int keeping = first_power(power(usual_));
    int missing = least_ - 1;
    for (int n = power(keeping / 2); keeping > 1 && n >= least_; n /= 2) {
      if (!(affords(keeping) || hopeful(n, keeping)) || !keeps(n)) {
        missing = n;
        break;
      }
      keeping = n;
      if (n == 1) break;
    }
    const int end = keeping > 0 ? keeping : q_.most_nodes + 1;
    if (affords(end - least_)) {
      for (int n = least_; n < end; ++n)
        if (keeps(n)) return resolve(n, 1);
      if (keeping > 0) resolve(keeping, 1);
      return;
    }
    if (keeping > 0) narrow(missing, keeping);
  }

  /// Of a budget alone: the most nodes.
  void from_too_many() {
    int keeping = 0, missing = q_.most_nodes + 1, in_vain = 0;
    if (!bill_of(type_, 1, q_.prices)) return;  // no price: no budget is kept
    for (int n = 1; n <= q_.most_nodes && in_vain < kTriesInVain; n *= 2) {
      if (keeps(n)) {
        keeping = n;
      } else if (at(n).plan || keeping > 0) {
        missing = std::min(missing, n);
        ++in_vain;
      }
    }
    if (affords(q_.most_nodes - keeping)) {
      for (int n = q_.most_nodes; n > keeping; --n)
        if (keeps(n)) return resolve(n, 1);
      if (keeping > 0) resolve(keeping, 1);
      return;
    }
    if (keeping > 0) narrow(missing < keeping ? 2 * keeping : missing, keeping);
  }

  /// Narrows a number that misses the limits, and one that keeps them.
  void narrow(int missing, int keeping) {
    for (int i = 0; i < kRefinements && std::abs(keeping - missing) > 1; ++i) {
      const int n = between(missing, keeping);
      (keeps(n) ? keeping : missing) = n;
    }
    resolve(keeping, std::abs(keeping - missing));
  }

  /// The number to judge next. The forecast of the one that keeps the limits says where they are just kept.
  int between(int missing, int keeping) {
    const int middle = missing + (keeping - missing) / 2;
    if (keeping < missing) return middle;
    const WhatIfPoint& p = at(keeping);
    const double wanted = std::min(q_.confidence.value_or(0.5) / p.run.works, 1 - 1e-6);
    const double needed = p.run.forecast.time_of(q_.tokens, wanted) / *q_.deadline * keeping;
    const int n = static_cast<int>(std::ceil(needed));
    return n > missing && n < keeping ? n : middle;
  }

  void resolve(int nodes, int resolution) { judged_.at(nodes).resolution = resolution; }

  std::vector<WhatIfPoint> chosen() {
    const WhatIfPoint *first = nullptr, *preferred_one = nullptr, *likeliest = nullptr;
    for (const auto& [nodes, p] : judged_) {
      if (!p.plan) continue;
      if (p.resolution > 0) first = &p;
      if (p.keeps(q_) && (preferred_one == nullptr || preferred(p, *preferred_one, q_))) preferred_one = &p;
      const auto likelier = [](const WhatIfPoint& a, const WhatIfPoint& b) {
        const double in_a = a.run.probability_in_limits(), in_b = b.run.probability_in_limits();
        return in_a > in_b || (in_a == in_b && a.run.time < b.run.time);
      };
      if (likeliest == nullptr || likelier(p, *likeliest)) likeliest = &p;
    }
    if (first == nullptr) {
      if (likeliest != nullptr) return {*likeliest};
      return anything();
    }
    if (preferred_one == nullptr || preferred_one == first) return {*first};
    std::vector<WhatIfPoint> two{*first, *preferred_one};
    if (two[0].nodes > two[1].nodes) std::swap(two[0], two[1]);
    return two;
  }

  /// A power of two that has a plan, where none is fast enough.
  std::vector<WhatIfPoint> anything() {
    const int start = power(usual_);
    for (int n = start; n < q_.most_nodes; n *= 2)
      if (const WhatIfPoint& p = at(n, Wanted::plan); p.plan) return {p};
    for (int n = power(start / 2); start > 1 && n >= 1; n /= 2)
      if (const WhatIfPoint& p = at(n, Wanted::plan); p.plan) return {p};
    return {points_.at(type_, 1, Wanted::all)};
  }

  const topology::Instance& type_;
  const WhatIfQuestion& q_;
  SearchFunction counting_;
  ClusterPoints points_;
  int strategies_ = 0;  ///< most that a search enumerated
  int least_ = 1, usual_ = 1;
  std::map<int, WhatIfPoint> judged_;
};

}  // namespace

std::vector<WhatIfPoint> solved_points(const ClusterPoints& points, const topology::Instance& type,
                                       std::vector<WhatIfPoint>& judged) {
  NodeSolver solver(points, type);
  std::vector<WhatIfPoint> found = solver.solve();
  solver.add_judged(judged);
  return found;
}

}  // namespace trnplan::planner
