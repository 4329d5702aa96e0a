#include "planner/cost/node_solver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "models/architecture/architecture.h"

namespace trnplan::planner {

namespace {

/// Strategies that may be enumerated for one type to judge every number of nodes: some seconds.
constexpr double kMostStrategies = 300'000;
/// Numbers that are judged between two powers of two, if those are too many.
constexpr int kRefinements = 4;
/// Binary digits of the numbers that are tried in any case.
constexpr int kDigits = 4;
/// MFU from which the solver starts; it changes the work, not the answer.
constexpr double kUsualMfu = 0.3;
/// Most FLOPs of a step over 6N at the BF16 peak: FP8 doubles the peak, and frozen parameters need a third
/// less.
constexpr double kMostOfPeak = 4;
/// Powers of two that are tried in a row although time is not what is short, beyond the budget, or without one
/// that is preferred.
constexpr int kTriesInVain = 2;
/// Probability from which more nodes cannot do more for the time.
constexpr double kInTime = 0.98;
/// Factor of money or time from which on numbers beyond one are not tried. Our own value.
constexpr double kFarWorse = 1.03;
/// Most by which fewer nodes may make more tokens a second per node, where not every number is judged.
constexpr double kMostGain = 1.25;

/// `nodes`, or the next number below it that has so few digits.
int of_few_digits(int nodes, int digits = kDigits) {
  const int rest = std::max(0, static_cast<int>(std::bit_width(static_cast<unsigned>(nodes))) - digits);
  return nodes >> rest << rest;
}

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
    if (q_.budget && !bill_of(type_, 1, q_.prices)) return chosen();  // no price: no budget is kept
    if (q_.deadline) {
      from_too_few();
    } else {
      from_too_many();
    }
    return chosen();
  }

  void add_judged(std::vector<WhatIfPoint>& to) const {
    for (const int nodes : tried_numbers(q_.most_nodes))
      if (const auto p = judged_.find(nodes); p != judged_.end() && p->second.plan) to.push_back(p->second);
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

  /// Powers of two, up to the first that keeps the limits, else down; 0 if none does.
  int first_power(int start) {
    int in_vain = 0;
    bool in_time = false;
    double in_budget = q_.budget ? 0 : 1;
    for (int n = start; in_vain < kTriesInVain; n = std::min(2 * n, q_.most_nodes)) {
      if (keeps(n)) return n;
      const WhatIfPoint& p = at(n);
      in_time |= p.plan && (p.run.in_time >= kInTime || p.run.works < q_.confidence.value_or(0));
      const bool cheaper = p.plan && p.run.in_budget > in_budget;  // more nodes may cost less
      if (cheaper) in_budget = p.run.in_budget;
      in_vain = in_time && !cheaper ? in_vain + 1 : 0;
      if (n == q_.most_nodes) break;
    }
    in_vain = 0;
    for (int n = start / 2; q_.budget && n >= least_ && in_vain < kTriesInVain; n /= 2) {
      if (keeps(n)) return n;
      const WhatIfPoint& p = at(n);
      if (p.plan && p.run.in_time < q_.confidence.value_or(0.5)) break;
      const bool cheaper = p.plan && p.run.in_budget > in_budget;
      if (cheaper) in_budget = p.run.in_budget;
      in_vain = cheaper ? 0 : in_vain + 1;
    }
    return 0;
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
    if (keeping == 0) keeping = any_tried(false);
    for (const auto& [n, p] : judged_)
      if (n < keeping && !p.keeps(q_)) missing = std::max(missing, n);
    if (keeping > 0) narrow(missing, keeping);
  }

  /// The fewest (or the most) of tried_numbers() that keep the limits, from the fewest digits on; 0: none does.
  int any_tried(bool most) {
    std::vector<int> all = tried_numbers(q_.most_nodes);
    std::erase_if(all, [&](int n) { return n < least_; });
    if (most) std::reverse(all.begin(), all.end());
    for (int digits = 2; digits <= kDigits; ++digits)
      for (const int n : all)
        if ((of_few_digits(n, digits) == n || n == q_.most_nodes) && keeps(n)) return n;
    return 0;
  }

  /// Of a budget alone: the most nodes.
  void from_too_many() {
    int keeping = 0, missing = q_.most_nodes + 1, in_vain = 0;
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
    if (keeping == 0) keeping = any_tried(true);
    for (const auto& [n, p] : judged_)
      if (n > keeping && !p.keeps(q_) && (missing < keeping || n < missing)) missing = n;
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

  /// Points at these numbers of nodes, ascending.
  [[nodiscard]] std::vector<WhatIfPoint> points_of(const std::set<int>& numbers) const {
    std::vector<WhatIfPoint> all;
    for (const int n : numbers) all.push_back(judged_.at(n));
    return all;
  }

  std::vector<WhatIfPoint> chosen() {
    int first = 0, best = 0;
    for (const auto& [nodes, p] : judged_) {
      if (!p.plan) continue;
      if (p.resolution > 0) first = nodes;
      if (p.keeps(q_) && (best == 0 || preferred(p, judged_.at(best), q_))) best = nodes;
    }
    if (first == 0) return closest();
    return points_of({first, climb(best, preference_of(q_), Wanted::keeping)});
  }

  /// The number that is most likely to keep the limits and, of each limit that its median misses, the one that
  /// comes closest to it.
  std::vector<WhatIfPoint> closest() {
    int likeliest = likeliest_judged();
    if (likeliest == 0) likeliest = anything();
    if (likeliest == 0) return {points_.at(type_, 1, Wanted::all)};
    std::set<int> shown;
    const RunAnswer& run = judged_.at(likeliest).run;
    const bool late = q_.deadline && run.time > *q_.deadline;
    const bool costly = q_.budget && run.usd && *run.usd > *q_.budget;
    if (late) shown.insert(climb(likeliest, Preference::fastest, Wanted::plan));
    if (costly) shown.insert(climb(likeliest, Preference::cheapest, Wanted::plan));
    shown.insert(likeliest_judged());
    return points_of(shown);
  }

  [[nodiscard]] int likeliest_judged() const {
    int best = 0;
    for (const auto& [nodes, p] : judged_) {
      if (!p.plan) continue;
      const double likely = p.run.probability_in_limits();
      const double most = best > 0 ? judged_.at(best).run.probability_in_limits() : -1;
      if (likely > most || (likely == most && p.run.time < judged_.at(best).run.time)) best = nodes;
    }
    return best;
  }

  /// A power of two that has a plan, where none is fast enough; 0 if none has.
  int anything() {
    const int start = power(usual_);
    for (int n = start; n < q_.most_nodes; n *= 2)
      if (at(n, Wanted::plan).plan) return n;
    for (int n = power(start / 2); start > 1 && n >= 1; n /= 2)
      if (at(n, Wanted::plan).plan) return n;
    return 0;
  }

  /// The preferred number, from one that has what is wanted: powers of two above and below it as long as one is
  /// preferred, then numbers between them. Cost: a search for each that its bounds do not rule out, a tenth
  /// of one for the others.
  int climb(int from, Preference by, Wanted wanted) {
    const bool priced = judged_.at(from).run.usd.has_value();
    if (by == Preference::smallest || (by == Preference::cheapest && !priced)) return from;
    int best = from, in_vain = 0;
    const auto take = [&](int n) {
      const bool better = n >= 1 && n <= q_.most_nodes && betters(n, best, by, wanted);
      in_vain = better ? 0 : far_worse(n, best, by) ? kTriesInVain : in_vain + 1;
      if (better) best = n;
    };
    for (int n = power(from + 1); in_vain < kTriesInVain; n *= 2) take(n);
    in_vain = 0;
    for (int n = power(from) / 2; best <= from && n >= 1 && in_vain < kTriesInVain; n /= 2) take(n);
    const int middle = best;
    take(of_few_digits(middle + middle / 2));
    take(of_few_digits(middle - middle / 4));
    return best;
  }

  /// True if `nodes` was judged to be so much worse than `best` that a number beyond it is not tried.
  [[nodiscard]] bool far_worse(int nodes, int best, Preference by) const {
    const auto known = judged_.find(nodes);
    if (known == judged_.end() || !known->second.plan) return false;
    const RunAnswer &run = known->second.run, &than = judged_.at(best).run;
    return by == Preference::fastest ? run.time > kFarWorse * than.time
                                     : run.usd.value_or(kInfinity) > kFarWorse * *than.usd;
  }

  /// True if `nodes` has what is wanted and is preferred to `best`.
  bool betters(int nodes, int best, Preference by, Wanted wanted) {
    const WhatIfPoint& than = judged_.at(best);
    auto known = judged_.find(nodes);
    if (known != judged_.end() && !known->second.plan && wanted == Wanted::keeping) return false;
    if (known == judged_.end() || !known->second.plan) {
      const auto bill = bill_of(type_, nodes, q_.prices);
      if (by == Preference::cheapest && !bill) return false;
      const Seconds within = by == Preference::cheapest ? bill->time_for(*than.run.usd) : than.run.time;
      WhatIfPoint p = points_.at(type_, nodes, wanted, within);
      if (!p.plan) return false;
      known = judged_.insert_or_assign(nodes, std::move(p)).first;
    }
    WhatIfQuestion q = q_;
    q.preference = by;
    return (wanted != Wanted::keeping || known->second.keeps(q_)) && preferred(known->second, than, q);
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

std::vector<int> tried_numbers(int most) {
  std::vector<int> all;
  for (int n = 1; n <= most; ++n)
    if (of_few_digits(n) == n || n == most) all.push_back(n);
  return all;
}

std::vector<WhatIfPoint> solved_points(const ClusterPoints& points, const topology::Instance& type,
                                       std::vector<WhatIfPoint>& judged) {
  NodeSolver solver(points, type);
  std::vector<WhatIfPoint> found = solver.solve();
  solver.add_judged(judged);
  return found;
}

}  // namespace trnplan::planner
