#include "planner/search/search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <queue>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "planner/check/rules.h"
#include "planner/search/candidates.h"
#include "planner/search/explain.h"
#include "planner/search/parallel.h"

namespace trnplan::planner {

using models::Job;
using models::Objective;

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// The user asked for exactly this layout, so its doubts are his.
bool layout_is_pinned(const Job& job) {
  return job.pin.tensor_parallel && (job.pin.pipeline_parallel || job.pin.data_parallel);
}

/// The clusters a job may use, each with its batch.
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

/// Smaller is better: nodes first where the smallest cluster is wanted, then seconds or USD per token.
using Score = std::pair<double, double>;

class Search {
 public:
  Search(const Job& job, const models::Profile& profile, const SearchOptions& options)
      : job_(job),
        profile_(profile),
        options_(options),
        threads_(thread_count(options.threads)),
        accept_doubt_(options.allow_doubtful || layout_is_pinned(job)),
        margin_(std::max(Bytes(0), models::margin_of_fitting(options.fit_probability, profile))),
        start_(options.since ? *options.since : std::chrono::steady_clock::now()) {}

  SearchResult run() {
    std::vector<Job> jobs = clusters_of(job_);
    const Keep keep = jobs.size() > 1 ? Keep::open : Keep::all;
    for (Job& one : jobs) {
      if (!clusters_.empty() && stop_now(kShareOfSorting)) {
        result_.complete = false;
        cut("not every cluster was looked at");
        break;
      }
      clusters_.push_back(classified(std::move(one), keep, kShareOfSorting));
    }
    if (stop_now(kShareOfSorting)) find_something();
    for (const Candidates& cluster : clusters_) {
      for (const Candidate& c : cluster.all)
        result_.complete = result_.complete && c.feasibility != Feasibility::unseen;
    }
    if (!result_.complete && !interrupted()) cut("not every strategy was looked at");
    std::vector<Place> open;
    for (std::size_t k = 0; k < clusters_.size(); ++k) {
      std::vector<Place> mine = legal_of(static_cast<int>(k));
      legal_ += static_cast<int>(mine.size());
      open.insert(open.end(), mine.begin(), mine.end());
    }
    result_.plans = best_of(open, at(std::max(1, options_.top)), true);
    proving_ = false;
    if (!result_.complete && !interrupted()) cut("the winner was not proven");
    if (!result_.plans.empty()) {
      result_.layouts = best_of_layouts(place_of(result_.plans.front()).first);
      if (clusters_.size() > 1) compare_clusters();
    }
    count();
    explain();
    return std::move(result_);
  }

 private:
  using Place = std::pair<int, int>;  ///< cluster, candidate

  /// Of a time limit: the rest is for the cuts and simulations that make a good plan of what was found.
  static constexpr double kShareOfSorting = 0.6;

  /// `share`: of the time limit, by when.
  Candidates classified(Job job, Keep keep, double share) const {
    return {std::move(job),
            profile_,
            accept_doubt_,
            margin_,
            threads_,
            [this, share] { return stop_now(share); },
            keep};
  }

  Candidate& candidate(Place p) { return clusters_[at(p.first)].all[at(p.second)]; }

  std::vector<Place> legal_of(int cluster) {
    std::vector<Place> places;
    const auto& all = clusters_[at(cluster)].all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].feasibility == Feasibility::legal) places.emplace_back(cluster, static_cast<int>(i));
    }
    return places;
  }

  Place place_of(const Plan& plan) const {
    for (const auto& [place, known] : simulated_) {
      const bool same = known && known->strategy == plan.strategy && known->nodes == plan.nodes &&
                        known->instance == plan.instance;
      if (same) return place;
    }
    throw std::logic_error("a plan that was never simulated");
  }

  /// Of a step of that many sequences on a cluster.
  Score score(int cluster, int batch, Seconds step) const {
    const Job& job = clusters_[at(cluster)].job();
    double per_token = step.value / (static_cast<double>(batch) * job.training.sequence);
    if (job_.objective == Objective::cost)
      per_token *= job.cluster.instance.usd_per_hour() * job.cluster.nodes / 3600;
    return {job_.objective == Objective::deadline ? job.cluster.nodes : 0, per_token};
  }
  Score score(Place p) {
    const Candidate& c = candidate(p);
    return score(p.first, clusters_[at(p.first)].batch_of(c.strategy), c.bound);
  }
  Score score(const Place& p, const Plan& plan) const {
    return score(p.first, plan.global_batch, plan.report.step);
  }

  Seconds run_of(Place p, Seconds step, int batch) const {
    const models::Training& t = clusters_[at(p.first)].job().training;
    return Seconds(t.tokens / (static_cast<double>(batch) * t.sequence) * step.value);
  }
  bool in_time(Seconds run) const { return job_.deadline.value <= 0 || run <= job_.deadline; }
  bool in_budget(const Plan& plan) const {
    return job_.budget <= 0 || plan.usd_per_hour * plan.run.value / 3600 <= job_.budget;
  }

  /// At the time limit a plan is still wanted: the first that is legal, of any cluster.
  void find_something() {
    const auto has_legal = [](const Candidates& cluster) {
      return std::any_of(cluster.all.begin(), cluster.all.end(),
                         [](const Candidate& c) { return c.feasibility == Feasibility::legal; });
    };
    if (std::any_of(clusters_.begin(), clusters_.end(), has_legal)) return;
    for (Candidates& cluster : clusters_) {
      if (cluster.find_legal(accept_doubt_, [this] { return interrupted(); })) return;
    }
  }

  void cut(std::string what) { result_.cut_short.push_back(std::move(what)); }

  /// Interrupted, or that share of the time limit is over.
  bool stop_now(double share = 1) const {
    if (interrupted()) return true;
    if (options_.time_limit.value <= 0) return false;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return spent.count() > share * options_.time_limit.value;
  }

  /// Simulates what is not known yet, on all threads.
  void simulate_all(const std::vector<std::pair<Score, Place>>& batch) {
    std::vector<Place> fresh;
    for (const auto& [bound, place] : batch) {
      if (!simulated_.contains(place)) fresh.push_back(place);
    }
    std::vector<std::optional<Plan>> plans(fresh.size());
    parallel_for(static_cast<int>(fresh.size()), threads_, [&](int i) {
      const Candidates& cluster = clusters_[at(fresh[at(i)].first)];
      const Candidate& c = cluster.all[at(fresh[at(i)].second)];
      try {
        plans[at(i)] = make_plan(cluster.job_of(c.strategy), c.strategy, profile_, cluster.graph());
      } catch (const std::overflow_error&) {
        // beyond the simulation clock, and so beyond every other plan
      }
    });
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      Candidates& cluster = clusters_[at(fresh[i].first)];
      if (plans[i] && accept_doubt_) {
        const Candidate& c = candidate(fresh[i]);
        plans[i]->doubts = cluster.violations(c);
        for (Violation& v : plans[i]->doubts)
          v.fix =
              replica_group_fix(cluster.job(), cluster.graph(), c.strategy, *cluster.verdict(c).offending);
      }
      simulated_.emplace(fresh[i], std::move(plans[i]));
    }
  }

  struct Ranked {
    Score score;
    Place place;
    Plan plan;
    bool operator<(const Ranked& o) const {
      return std::tie(score, plan.strategy, place) < std::tie(o.score, o.plan.strategy, o.place);
    }
  };

  /// The `most` best of `open` that keep deadline and budget (`constrained`), lowest bound first, until no
  /// bound can beat the worst of them. Results count in the order of their bounds, whatever was simulated at
  /// the same time.
  std::vector<Plan> best_of(const std::vector<Place>& open, std::size_t most, bool constrained) {
    using Entry = std::pair<Score, Place>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (const Place& p : open) queue.emplace(score(p), p);
    std::vector<Ranked> best;
    const auto beaten = [&](const Score& bound) { return best.size() == most && bound > best.back().score; };
    bool done = false;
    while (!done && !queue.empty()) {
      if (interrupted() || (!best.empty() && stop_now())) {  // a time limit leaves at least one plan
        note_gap(best.empty() ? nullptr : &best.front().score, queue.top().first);
        break;
      }
      std::vector<Entry> batch;
      while (!queue.empty() && batch.size() < at(threads_)) {
        const auto [bound, place] = queue.top();
        if (!batch.empty() && stop_now()) break;
        if (beaten(bound)) {
          done = true;
          break;
        }
        queue.pop();
        Candidate& c = candidate(place);
        if (!c.refined) {
          clusters_[at(place.first)].refine(c);
          queue.emplace(score(place), place);
          continue;
        }
        if (constrained && misses_limits(place)) continue;
        batch.emplace_back(bound, place);
      }
      simulate_all(batch);
      for (const auto& [bound, place] : batch) {
        if (beaten(bound)) {
          done = true;
          break;
        }
        counted_.insert(place);
        const std::optional<Plan>& plan = simulated_.at(place);
        if (!plan || (constrained && !keeps_limits(*plan))) continue;
        Ranked ranked{score(place, *plan), place, *plan};
        best.insert(std::upper_bound(best.begin(), best.end(), ranked), std::move(ranked));
        if (best.size() > most) best.pop_back();
      }
      report(queue.size(), best.empty() ? nullptr : &best.front().plan,
             queue.empty() ? Seconds{} : candidate(queue.top().second).bound);
    }
    return plans_of(std::move(best));
  }

  /// Even its bound is too slow or too expensive.
  bool misses_limits(Place p) {
    const Candidate& c = candidate(p);
    const Job& job = clusters_[at(p.first)].job();
    const Seconds least = run_of(p, c.bound, clusters_[at(p.first)].batch_of(c.strategy));
    const double usd = job.cluster.instance.usd_per_hour() * job.cluster.nodes * least.value / 3600;
    const bool late = !in_time(least), expensive = job_.budget > 0 && usd > job_.budget;
    late_ = late_ || late;
    expensive_ = expensive_ || expensive;
    return late || expensive;
  }

  bool keeps_limits(const Plan& plan) {
    const bool early = in_time(plan.run), cheap = in_budget(plan);
    late_ = late_ || !early;
    expensive_ = expensive_ || !cheap;
    return early && cheap;
  }

  /// Only the search for the winner has to prove something.
  void note_gap(const Score* best, const Score& bound) {
    const bool proven = best != nullptr && *best <= bound;
    if (!proving_ || proven) return;
    result_.complete = false;
    const bool comparable = best != nullptr && best->first == bound.first && bound.second > 0;
    if (comparable) result_.gap = std::max(result_.gap, best->second / bound.second - 1);
  }

  void report(std::size_t open, const Plan* best, Seconds bound) const {
    if (!options_.progress || !proving_) return;
    SearchProgress p;
    p.simulated = static_cast<int>(simulated_.size());
    p.open = static_cast<int>(open);
    if (best != nullptr) p.best = best->report.step;
    p.bound = bound;
    options_.progress(p);
  }

  /// The best plans of different layouts (TP, PP, CP, DP), as best_of() finds the best of all. What cannot
  /// beat its own layout's best is not looked at.
  std::vector<Plan> best_of_layouts(int cluster) {
    const std::size_t most = at(std::max(0, options_.layouts));
    using Entry = std::pair<Score, Place>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (const Place& p : legal_of(cluster)) queue.emplace(score(p), p);
    std::map<std::array<int, 4>, Ranked> best;  // by layout
    const auto beaten = [&](const Entry& e) {
      const auto known = best.find(layout_of(candidate(e.second).strategy));
      return known != best.end() && e.first > known->second.score;
    };
    const auto done = [&](const Score& bound) {
      if (best.size() < most) return false;
      std::vector<Score> scores;
      for (const auto& [layout, ranked] : best) scores.push_back(ranked.score);
      std::nth_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(most - 1), scores.end());
      return bound > scores[most - 1];
    };
    while (most > 0 && !queue.empty() && !done(queue.top().first)) {
      if (stop_now()) {
        if (!interrupted()) cut("other layouts are missing, or are not the best of their kind");
        break;
      }
      std::vector<Entry> batch;
      while (!queue.empty() && batch.size() < at(threads_)) {
        const Entry next = queue.top();
        if (done(next.first) || stop_now()) break;
        queue.pop();
        Candidate& c = candidate(next.second);
        if (beaten(next)) continue;
        if (!c.refined) {
          clusters_[at(cluster)].refine(c);
          queue.emplace(score(next.second), next.second);
        } else if (!misses_limits(next.second)) {
          batch.push_back(next);
        }
      }
      simulate_all(batch);
      for (const Entry& e : batch) {
        if (beaten(e) || done(e.first)) continue;
        counted_.insert(e.second);
        const std::optional<Plan>& plan = simulated_.at(e.second);
        if (!plan || !keeps_limits(*plan)) continue;
        Ranked ranked{score(e.second, *plan), e.second, *plan};
        const auto [known, fresh] = best.try_emplace(layout_of(plan->strategy), ranked);
        if (!fresh && ranked < known->second) known->second = std::move(ranked);
      }
    }
    std::vector<Ranked> all;
    for (auto& [layout, ranked] : best) all.push_back(std::move(ranked));
    std::sort(all.begin(), all.end());
    if (all.size() > most) all.resize(most);
    return plans_of(std::move(all));
  }

  static std::array<int, 4> layout_of(const models::Strategy& s) {
    return {s.tensor_parallel, s.pipeline_parallel, s.context_parallel, s.data_parallel};
  }

  static std::vector<Plan> plans_of(std::vector<Ranked> ranked) {
    std::vector<Plan> plans;
    for (Ranked& r : ranked) plans.push_back(std::move(r.plan));
    return plans;
  }

  /// The best plan of each cluster, and which of them no other beats in days, dollars and nodes at once.
  void compare_clusters() {
    for (std::size_t k = 0; k < clusters_.size(); ++k) {
      if (stop_now()) {
        if (!interrupted()) cut("not every cluster is compared");
        break;
      }
      for (Plan& plan : best_of(legal_of(static_cast<int>(k)), 1, false))
        result_.clusters.push_back({std::move(plan), true});
    }
    const auto beats = [](const Plan& a, const Plan& b) {
      const auto time = [](const Plan& p) { return 1 / p.report.tokens_per_second; };
      const double cost_a = a.usd_per_hour * time(a), cost_b = b.usd_per_hour * time(b);
      const bool no_worse = time(a) <= time(b) && cost_a <= cost_b && a.nodes <= b.nodes;
      return no_worse && (time(a) < time(b) || cost_a < cost_b || a.nodes < b.nodes);
    };
    for (ClusterPlan& c : result_.clusters) {
      c.on_front = std::none_of(result_.clusters.begin(), result_.clusters.end(),
                                [&](const ClusterPlan& o) { return beats(o.plan, c.plan); });
    }
  }

  void count() {
    SpaceCounts& n = result_.counts;
    for (const Candidates& cluster : clusters_) {
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
    n.simulated = static_cast<int>(counted_.size());
    n.bounded = legal_ - n.simulated;
  }

  bool interrupted() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }

  /// One who interrupts does not want to wait for explanations.
  void explain() {
    if (interrupted()) return;
    const int home = result_.plans.empty() ? 0 : place_of(result_.plans.front()).first;
    const Plan* winner = result_.plans.empty() ? nullptr : &result_.plans.front();
    const bool nothing = winner == nullptr && result_.complete;
    if (!options_.explain && !nothing) return;
    std::optional<Candidates> whole;  // the one cluster explained, where only legal strategies were kept
    if (clusters_.size() > 1) {
      whole.emplace(classified(clusters_[at(home)].job(), Keep::all, 1));
      if (stop_now()) {
        if (!interrupted()) cut("what was refused is missing, and what holds the winner back");
        return;
      }
      whole->take_legal(clusters_[at(home)]);
    }
    Candidates& cluster = whole ? *whole : clusters_[at(home)];
    if (options_.explain) explain_refusals(cluster, winner);
    if (!nothing) return;
    if (late_ || expensive_) {
      Infeasible why;
      explain_limits(why);
      result_.infeasible = std::move(why);
    } else {
      result_.infeasible =
          why_nothing(cluster, profile_, accept_doubt_, margin_, [this] { return stop_now(); });
      if (stop_now() && !interrupted()) cut("what would help was not looked for");
    }
  }

  void explain_refusals(Candidates& cluster, const Plan* winner) {
    const auto stop = [this] { return stop_now(); };
    Refusals refusals = near_misses_of(cluster, profile_, options_.fit_probability, winner, stop);
    if (!refusals.complete && !interrupted()) cut("strategies that were refused are missing");
    result_.refused = std::move(refusals.certain);
    result_.doubtful = std::move(refusals.doubtful);
    if (winner == nullptr) return;
    result_.sensitivity = sensitivity_of(cluster, profile_, *winner, stop);
    if (!result_.sensitivity && !interrupted()) cut("what holds the winner back is not said");
  }

  /// The fastest and the cheapest there are, for one who set a limit that none keeps.
  void explain_limits(Infeasible& why) {
    std::vector<Plan> plans;
    for (std::size_t k = 0; k < clusters_.size() && (plans.empty() || !stop_now()); ++k) {
      for (Plan& plan : best_of(legal_of(static_cast<int>(k)), 1, false)) plans.push_back(std::move(plan));
    }
    if (plans.empty()) return;
    const auto usd = [](const Plan& p) { return p.usd_per_hour * p.run.value; };
    if (late_)
      why.too_slow = *std::min_element(plans.begin(), plans.end(),
                                       [](const Plan& a, const Plan& b) { return a.run < b.run; });
    if (expensive_)
      why.too_expensive = *std::min_element(plans.begin(), plans.end(),
                                            [&](const Plan& a, const Plan& b) { return usd(a) < usd(b); });
  }

  const Job& job_;
  const models::Profile& profile_;
  const SearchOptions& options_;
  int threads_;
  bool accept_doubt_;
  Bytes margin_;
  std::chrono::steady_clock::time_point start_;
  std::vector<Candidates> clusters_;
  int legal_ = 0;
  bool proving_ = true;
  bool late_ = false, expensive_ = false;
  std::map<Place, std::optional<Plan>> simulated_;  ///< also what was simulated ahead and never needed
  std::set<Place> counted_;                         ///< what a search of one thread would have simulated
  SearchResult result_;
};

}  // namespace

SearchResult search(const Job& job, const models::Profile& profile, const SearchOptions& options) {
  return Search(job, profile, options).run();
}

}  // namespace trnplan::planner
