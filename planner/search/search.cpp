#include "planner/search/search.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "planner/search/advise.h"
#include "planner/search/candidates.h"
#include "planner/search/explain.h"
#include "planner/search/ranking.h"
#include "planner/search/simulations.h"
#include "units/parallel.h"

namespace trnplan::planner {

using models::Job;

namespace {

/// True if the user asked for exactly this layout, and so accepts its doubts.
bool layout_is_pinned(const Job& job) {
  return job.pin.tensor_parallel && (job.pin.pipeline_parallel || job.pin.data_parallel);
}

/// The clusters that a job may use, each with its batch.
std::vector<Job> clusters_of(const Job& job) {
  const models::SearchSpace& free = job.space;
  std::vector<Job> all;
  const std::vector<int> nodes = free.nodes.empty() ? std::vector<int>{job.cluster.nodes} : free.nodes;
  const auto instances =
      free.instances.empty() ? std::vector<topology::Instance>{job.cluster.instance} : free.instances;
  for (const topology::Instance& instance : instances) {
    for (const int n : nodes) {
      Job one = job;
      one.cluster.instance = instance;
      one.cluster.nodes = n;
      if (free.batch_per_node > 0) one.training.global_batch = free.batch_per_node * n;
      all.push_back(std::move(one));
    }
  }
  return all;
}

class Search {
 public:
  Search(const Job& job, const models::Profile& profile, const SearchOptions& options)
      : job_(job),
        profile_(profile),
        options_(options),
        accept_doubt_(options.allow_doubtful || layout_is_pinned(job)),
        clock_(options),
        known_(job, profile, accept_doubt_, thread_count(options.threads)),
        ranking_(known_, clock_, options, result_) {}

  SearchResult run() {
    std::vector<Job> jobs = clusters_of(job_);
    const Keep keep = jobs.size() > 1 ? Keep::open : Keep::all;
    for (Job& one : jobs) {
      if (!known_.clusters.empty() && clock_.stop_now(kShareOfSorting)) {
        result_.complete = false;
        cut("not every cluster was searched");
        break;
      }
      known_.clusters.push_back(classified(std::move(one), keep, kShareOfSorting));
    }
    if (clock_.stop_now(kShareOfSorting)) find_something();
    for (const Candidates& cluster : known_.clusters) {
      result_.complete = result_.complete && cluster.complete;
      for (const Candidate& c : cluster.all)
        result_.complete = result_.complete && c.feasibility != Feasibility::unseen;
    }
    if (!result_.complete && !clock_.interrupted()) cut("not every strategy was searched");
    std::vector<Place> open;
    for (std::size_t k = 0; k < known_.clusters.size(); ++k) {
      std::vector<Place> mine = known_.legal_of(static_cast<int>(k));
      legal_ += static_cast<int>(mine.size());
      open.insert(open.end(), mine.begin(), mine.end());
    }
    result_.plans = ranking_.best_of(open, at(std::max(1, options_.top)), true);
    ranking_.winner_is_known();
    if (!result_.complete && !clock_.interrupted()) cut("the best plan was not proven to be the best");
    if (!result_.plans.empty()) {
      home_ = known_.place_of(result_.plans.front());
      result_.layouts = ranking_.best_of_layouts(home_.first);
      if (known_.clusters.size() > 1) compare_clusters();
      recommend(open);
    }
    count();
    explain();
    add_slow_networks();
    return std::move(result_);
  }

 private:
  /// Share of a time limit for classification: the rest is for cuts and simulations that make a good plan of
  /// it.
  static constexpr double kShareOfSorting = 0.6;
  /// Tries over all clusters: milliseconds, and a tenth of a second where a group has tens of thousands of
  /// ranks.
  static constexpr int kTriesAtTheLimit = 4096;

  /// `share`: of the time limit, after which classification stops.
  Candidates classified(Job job, Keep keep, double share) const {
    return {std::move(job),
            profile_,
            accept_doubt_,
            options_.fit_probability,
            known_.threads(),
            [this, share] { return clock_.stop_now(share); },
            keep,
            options_.target};
  }

  /// Finds a plan at the time limit: the first that is legal, of any cluster, if that takes little more work.
  void find_something() {
    const auto has_legal = [](const Candidates& cluster) {
      return std::any_of(cluster.all.begin(), cluster.all.end(),
                         [](const Candidate& c) { return c.feasibility == Feasibility::legal; });
    };
    if (std::any_of(known_.clusters.begin(), known_.clusters.end(), has_legal)) return;
    int tries = kTriesAtTheLimit;
    for (Candidates& cluster : known_.clusters) {
      if (cluster.find_legal(accept_doubt_, tries, [this] { return clock_.interrupted(); })) return;
    }
  }

  /// Adds the slow state of an unmeasured network to the plans of the result, which alone show their intervals.
  void add_slow_networks() {
    const auto add = [&](Plan& plan) { known_.add_slow_network(plan); };
    if (!options_.explain && options_.top == 1 && !result_.plans.empty())
      return add(result_.plans[result_.recommended]);
    for (std::vector<Plan>* plans : {&result_.plans, &result_.layouts})
      for (Plan& plan : *plans) add(plan);
    for (ClusterPlan& c : result_.clusters) add(c.plan);
    if (result_.sensitivity && result_.sensitivity->with_more_memory)
      add(*result_.sensitivity->with_more_memory);
    if (!result_.infeasible) return;
    for (std::optional<Plan>* plan : {&result_.infeasible->too_slow, &result_.infeasible->too_expensive})
      if (*plan) add(**plan);
  }

  void cut(std::string_view what) { result_.cut_short.emplace_back(what); }

  bool is_advised() const {
    return options_.advisor != nullptr && options_.advisor->attitude() != RiskAttitude::fastest &&
           !clock_.interrupted();
  }

  /// Chooses the recommended plan; where fewer nodes go first, among clusters of as many nodes as the
  /// winner's.
  void recommend(std::vector<Place> open) {
    if (!is_advised()) return;
    const double nodes = known_.score(home_).first;
    std::erase_if(open, [&](const Place& p) { return known_.score(p).first != nodes; });
    std::optional<Plan> plan = Advice(known_, clock_, options_, profile_).recommended(open);
    if (plan) {  // where it is, the plan is that of its cluster alone
      for (const Plan& own : advised_)
        if (own.nodes == plan->nodes && own.instance == plan->instance) plan = own;
    }
    if (!plan) {
      if (!clock_.interrupted()) cut("the fastest is recommended, whatever its risk");
      return;
    }
    std::vector<Plan>& plans = result_.plans;
    const auto same = std::find_if(plans.begin(), plans.end(), [&](const Plan& p) {
      return p.strategy == plan->strategy && p.nodes == plan->nodes && p.instance == plan->instance;
    });
    result_.recommended = static_cast<std::size_t>(same - plans.begin());
    if (same != plans.end()) return;
    const auto cost = [&](const Plan& p) {
      return (job_.objective == models::Objective::cost ? p.usd_per_hour : 1) / p.report.tokens_per_second;
    };
    const auto later = std::upper_bound(plans.begin(), plans.end(), *plan,
                                        [&](const Plan& a, const Plan& b) { return cost(a) < cost(b); });
    result_.recommended = static_cast<std::size_t>(later - plans.begin());
    plans.insert(later, std::move(*plan));
  }

  /// Finds the plan that is recommended on each cluster, or the fastest where no risk counts. Where all miss the
  /// limits, it is the one of a search without.
  void compare_clusters() {
    for (std::size_t k = 0; k < known_.clusters.size(); ++k) {
      if (clock_.stop_now()) {
        if (!clock_.interrupted()) cut("not every cluster is compared");
        break;
      }
      const std::vector<Place> mine = known_.legal_of(static_cast<int>(k));
      const bool beyond = known_.clusters[k].beyond_target;
      std::vector<Plan> best = ranking_.best_of(mine, 1, true);
      const bool within = !best.empty();
      if (!within) best = ranking_.best_of(mine, 1, false);
      if (best.empty()) continue;
      if (is_advised()) {
        if (auto plan = Advice(known_, clock_, options_, profile_, within).recommended(mine))
          best.front() = advised_.emplace_back(*std::move(plan));
      }
      result_.clusters.push_back({std::move(best.front()), true, beyond, within});
    }
    mark_front(result_.clusters);
  }

  void count() {
    SpaceCounts& n = result_.counts;
    for (const Candidates& cluster : known_.clusters) {
      n.inexpressible += cluster.inexpressible;
      result_.beyond_target = result_.beyond_target || cluster.beyond_target;
      n.enumerated += cluster.dropped.refused + cluster.dropped.too_large;
      n.refused += cluster.dropped.refused;
      n.too_large += cluster.dropped.too_large;
      for (const Candidate& c : cluster.all) {
        if (c.feasibility == Feasibility::unseen) continue;
        ++n.enumerated;
        if (c.feasibility == Feasibility::refused || c.feasibility == Feasibility::doubtful) ++n.refused;
        if (c.feasibility == Feasibility::too_large) ++n.too_large;
      }
    }
    n.simulated = known_.counted();
    n.bounded = legal_ - n.simulated;
  }

  /// Explains the result, unless the caller interrupted the search and so does not want to wait.
  void explain() {
    if (clock_.interrupted()) return;
    const int home = result_.plans.empty() ? 0 : home_.first;
    const Plan* winner = result_.plans.empty() ? nullptr : &result_.plans.front();
    const bool nothing = winner == nullptr && result_.complete;
    if (!options_.explain && (!nothing || !options_.why_nothing)) return;
    std::optional<Candidates> whole;  // the explained cluster, if only its legal strategies were kept
    if (known_.clusters.size() > 1) {
      whole.emplace(classified(known_.clusters[at(home)].job(), Keep::all, 1));
      if (clock_.stop_now()) {
        if (!clock_.interrupted()) cut("what was refused is missing, and so is what limits the best plan");
        return;
      }
      whole->take_legal(known_.clusters[at(home)]);
    }
    Candidates& cluster = whole ? *whole : known_.clusters[at(home)];
    if (options_.explain) explain_refusals(cluster, winner);
    if (!nothing || !options_.why_nothing) return;
    if (known_.late() || known_.expensive()) {
      Infeasible why;
      explain_limits(why);
      result_.infeasible = std::move(why);
    } else {
      result_.infeasible = why_nothing(cluster, profile_, accept_doubt_, options_.fit_probability,
                                       [this] { return clock_.stop_now(); });
      if (clock_.stop_now() && !clock_.interrupted()) cut("what would help was not searched for");
    }
  }

  void explain_refusals(Candidates& cluster, const Plan* winner) {
    const auto stop = [this] { return clock_.stop_now(); };
    Refusals refusals = near_misses_of(cluster, profile_, options_.fit_probability, winner, stop);
    if (!refusals.complete && !clock_.interrupted()) cut("strategies that were refused are missing");
    result_.refused = std::move(refusals.certain);
    result_.doubtful = std::move(refusals.doubtful);
    if (winner == nullptr) return;
    const Plan& recommended = *result_.recommended_plan();
    const bool elsewhere = recommended.nodes != winner->nodes || recommended.instance != winner->instance;
    if (!elsewhere) result_.sensitivity = sensitivity_of(cluster, profile_, recommended, stop);
    if (!result_.sensitivity && !elsewhere && !clock_.interrupted())
      cut("what limits the best plan is missing");
  }

  /// Adds the fastest and the cheapest plan, if no plan keeps the user's limits.
  void explain_limits(Infeasible& why) {
    std::vector<Plan> plans;
    for (std::size_t k = 0; k < known_.clusters.size() && (plans.empty() || !clock_.stop_now()); ++k) {
      for (Plan& plan : ranking_.best_of(known_.legal_of(static_cast<int>(k)), 1, false))
        plans.push_back(std::move(plan));
    }
    if (plans.empty()) return;
    std::vector<Plan> in_time, in_budget;
    for (const Plan& p : plans) {
      if (known_.in_time(p.run)) in_time.push_back(p);
      if (known_.in_budget(p)) in_budget.push_back(p);
    }
    // A plan that keeps one limit shows by how much the other is missed.
    const auto fastest = [](const Plan& a, const Plan& b) { return a.run < b.run; };
    const auto cheapest = [](const Plan& a, const Plan& b) {
      return a.usd_per_hour * a.run.value < b.usd_per_hour * b.run.value;
    };
    const std::vector<Plan>&slow = in_budget.empty() ? plans : in_budget,
          &costly = in_time.empty() ? plans : in_time;
    const Plan &quick = *std::min_element(slow.begin(), slow.end(), fastest),
               &cheap = *std::min_element(costly.begin(), costly.end(), cheapest);
    if (!known_.in_time(quick.run)) why.too_slow = quick;
    if (!known_.in_budget(cheap)) why.too_expensive = cheap;
  }

  const Job& job_;
  const models::Profile& profile_;
  const SearchOptions& options_;
  bool accept_doubt_;
  int legal_ = 0;
  Place home_{};               ///< place of the fastest plan
  std::vector<Plan> advised_;  ///< of clusters that are compared, where risk counts
  SearchResult result_;
  SearchClock clock_;
  Simulations known_;
  Ranking ranking_;
};

}  // namespace

void mark_front(std::vector<ClusterPlan>& clusters) {
  const auto beats = [](const Plan& a, const Plan& b) {
    const auto time = [](const Plan& p) { return 1 / p.report.tokens_per_second; };
    const double cost_a = a.usd_per_hour * time(a), cost_b = b.usd_per_hour * time(b);
    const bool no_worse = time(a) <= time(b) && cost_a <= cost_b && a.nodes <= b.nodes;
    return no_worse && (time(a) < time(b) || cost_a < cost_b || a.nodes < b.nodes);
  };
  for (ClusterPlan& c : clusters) {
    c.on_front = std::none_of(clusters.begin(), clusters.end(),
                              [&](const ClusterPlan& o) { return beats(o.plan, c.plan); });
  }
}

bool may_reach(const Job& job, const models::Profile& profile, const SearchOptions& options) {
  return may_reach(job, profile, options.allow_doubtful || layout_is_pinned(job), options.fit_probability,
                   options.least_tokens_per_second, options.target);
}

SearchResult search(const Job& job, const models::Profile& profile, const SearchOptions& options) {
  const std::vector<Job> clusters = clusters_of(job);
  if (options.least_tokens_per_second > 0 &&
      std::none_of(clusters.begin(), clusters.end(),
                   [&](const Job& one) { return may_reach(one, profile, options); }))
    return {};
  return Search(job, profile, options).run();
}

}  // namespace trnplan::planner
