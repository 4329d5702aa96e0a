// State of a search: the strategies of all clusters, and the plans of those that were simulated. Private to
// the search.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "planner/search/candidates.h"
#include "planner/search/layout_memories.h"
#include "planner/search/search.h"
#include "units/index.h"

namespace trnplan::planner {

/// Clock of a search, which stops when its caller interrupts it or its time is over. Keeps a reference to
/// `options`.
class SearchClock {
 public:
  explicit SearchClock(const SearchOptions& options)
      : options_(options), start_(options.since ? *options.since : std::chrono::steady_clock::now()) {}

  [[nodiscard]] bool interrupted() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }
  /// True if interrupted, or if that share of the time limit is over.
  [[nodiscard]] bool stop_now(double share = 1) const;

 private:
  const SearchOptions& options_;
  std::chrono::steady_clock::time_point start_;
};

using Place = std::pair<int, int>;  ///< cluster, candidate

/// Score of a plan, smaller is better: nodes first if the smallest cluster is wanted, then seconds or USD per
/// token.
using Score = std::pair<double, double>;

/// Strategies by their places, their scores, and their simulations, at most one each. Keeps references to its
/// arguments. Threads: one at a time; simulate_all() uses several itself.
class Simulations {
 public:
  Simulations(const models::Job& job, const models::Profile& profile, bool accept_doubt, int threads)
      : job_(job), profile_(profile), accept_doubt_(accept_doubt), threads_(threads) {}

  std::vector<Candidates> clusters;

  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] Candidate& candidate(Place p) { return clusters[at(p.first)].all[at(p.second)]; }
  [[nodiscard]] std::vector<Place> legal_of(int cluster) const;
  /// The place of a plan that was simulated. Throws std::logic_error for others.
  [[nodiscard]] Place place_of(const Plan& plan) const;

  /// The score of its bound.
  [[nodiscard]] Score score(Place p);
  /// The score of another time of its step.
  [[nodiscard]] Score score(Place p, Seconds step);
  [[nodiscard]] Score score(Place p, const Plan& plan) const;
  /// The score of the mean over the states of its network, where the plan has them; at least score().
  [[nodiscard]] Score mean_score(Place p, const Plan& plan) const;

  /// Simulates the places of `batch` that are not simulated yet, on all threads.
  void simulate_all(const std::vector<std::pair<Score, Place>>& batch);
  /// The plan of the strategy there; counts it as needed. nullopt: beyond the simulation clock.
  [[nodiscard]] const std::optional<Plan>& needed(Place p);
  /// Simulates the strategy there without cuts by hand: this is not part of the space, and is not counted.
  /// nullopt: beyond the simulation clock.
  [[nodiscard]] std::optional<Plan> with_automatic_cuts(Place p);
  /// Widens the interval of a plan of one of the clusters by the slow state of its network (planner/plan/plan.h).
  void add_slow_network(Plan& plan);
  [[nodiscard]] int simulated() const { return static_cast<int>(simulated_.size()); }
  [[nodiscard]] int counted() const { return static_cast<int>(counted_.size()); }

  /// True if even its bound is too slow or too expensive for the job; late() and expensive() remember this.
  [[nodiscard]] bool misses_limits(Place p);
  [[nodiscard]] bool keeps_limits(const Plan& plan);
  [[nodiscard]] bool in_time(Seconds run) const { return job_.deadline.value <= 0 || run <= job_.deadline; }
  [[nodiscard]] bool in_budget(const Plan& plan) const {
    return job_.budget <= 0 || run_usd(plan) <= job_.budget;
  }
  [[nodiscard]] bool late() const { return late_; }
  [[nodiscard]] bool expensive() const { return expensive_; }

 private:
  [[nodiscard]] Score score(int cluster, int batch, Seconds step) const;
  /// The plan of a strategy on a cluster.
  [[nodiscard]] Plan timed(int cluster, const models::Strategy& s);
  /// Notes doubtful replica groups, if the user allows them.
  void note_doubts(Place p, Plan& plan);
  [[nodiscard]] Seconds run_of(Place p, Seconds step, int batch) const;

  const models::Job& job_;
  const models::Profile& profile_;
  bool accept_doubt_;
  int threads_;
  LayoutMemories memories_;
  std::map<std::pair<int, models::Strategy>, models::StepReport> with_slow_network_;
  bool late_ = false, expensive_ = false;
  std::map<Place, std::optional<Plan>> simulated_;  ///< with plans that were simulated ahead and never needed
  /// Places that a search on one thread would have simulated.
  std::set<Place> counted_;
};

}  // namespace trnplan::planner
