#include "planner/search/simulations.h"

#include <algorithm>
#include <stdexcept>

#include "models/uncertainty/mixture.h"
#include "planner/check/rules.h"
#include "units/parallel.h"

namespace trnplan::planner {

using models::Job;
using models::Objective;

bool SearchClock::stop_now(double share) const {
  if (interrupted()) return true;
  if (options_.time_limit.value <= 0) return false;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  return spent.count() > share * options_.time_limit.value;
}

std::vector<Place> Simulations::legal_of(int cluster) const {
  std::vector<Place> places;
  const auto& all = clusters[at(cluster)].all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].feasibility == Feasibility::legal) places.emplace_back(cluster, static_cast<int>(i));
  }
  return places;
}

Place Simulations::place_of(const Plan& plan) const {
  for (const auto& [place, known] : simulated_) {
    const bool same = known && known->strategy == plan.strategy && known->nodes == plan.nodes &&
                      known->instance == plan.instance;
    if (same) return place;
  }
  throw std::logic_error("a plan that was never simulated");
}

/// Score of a step with that many sequences on a cluster.
Score Simulations::score(int cluster, int batch, Seconds step) const {
  const Job& job = clusters[at(cluster)].job();
  double per_token = step.value / (static_cast<double>(batch) * job.training.sequence);
  if (job_.objective == Objective::cost)
    per_token *= job.cluster.instance.usd_per_hour() * job.cluster.nodes / kHour;
  return {job_.objective == Objective::deadline ? job.cluster.nodes : 0, per_token};
}

Score Simulations::score(Place p) {
  return score(p, candidate(p).bound);
}

Score Simulations::score(Place p, Seconds step) {
  return score(p.first, clusters[at(p.first)].batch_of(candidate(p).strategy), step);
}

Score Simulations::score(Place p, const Plan& plan) const {
  return score(p.first, plan.global_batch, plan.report.step);
}

Score Simulations::mean_score(Place p, const Plan& plan) const {
  return score(p.first, plan.global_batch, std::max(plan.report.step, models::mean_step(plan.report)));
}

Seconds Simulations::run_of(Place p, Seconds step, int batch) const {
  const models::Training& t = clusters[at(p.first)].job().training;
  return Seconds(t.tokens / (static_cast<double>(batch) * t.sequence) * step.value);
}

void Simulations::simulate_all(const std::vector<std::pair<Score, Place>>& batch) {
  std::vector<Place> fresh;
  for (const auto& [bound, place] : batch) {
    if (!simulated_.contains(place)) fresh.push_back(place);
  }
  std::vector<std::optional<Plan>> plans(fresh.size());
  parallel_for(static_cast<int>(fresh.size()), threads_, [&](int i) {
    try {
      plans[at(i)] = timed(fresh[at(i)].first, candidate(fresh[at(i)]).strategy);
    } catch (const std::overflow_error&) {
      // beyond the simulation clock, and so slower than every other plan
    }
  });
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (plans[i]) note_doubts(fresh[i], *plans[i]);
    simulated_.emplace(fresh[i], std::move(plans[i]));
  }
}

Plan Simulations::timed(int cluster, const models::Strategy& s) {
  const Candidates& on = clusters[at(cluster)];
  const LayoutMemories::Loan memory(memories_, cluster, s);
  return timed_plan(on.job_of(s), s, profile_, on.graph(), memory.get());
}

void Simulations::note_doubts(Place p, Plan& plan) {
  if (!accept_doubt_) return;
  Candidates& cluster = clusters[at(p.first)];
  const Candidate& c = candidate(p);
  plan.doubts = cluster.violations(c);
  for (Violation& v : plan.doubts)
    v.fix = replica_group_fix(cluster.job(), cluster.graph(), c.strategy, *cluster.verdict(c).offending);
}

std::optional<Plan> Simulations::with_automatic_cuts(Place p) {
  models::Strategy s = candidate(p).strategy;
  s.pipeline_cuts.clear();
  try {
    Plan plan = timed(p.first, s);
    note_doubts(p, plan);
    return plan;
  } catch (const std::overflow_error&) {
    return std::nullopt;
  }
}

void Simulations::add_slow_network(Plan& plan) {
  const auto on = std::find_if(clusters.begin(), clusters.end(), [&](const Candidates& c) {
    return c.job().cluster.nodes == plan.nodes && c.job().cluster.instance.name == plan.instance;
  });
  if (on == clusters.end()) return;
  const int cluster = static_cast<int>(on - clusters.begin());
  if (const auto known = with_slow_network_.find({cluster, plan.strategy});
      known != with_slow_network_.end()) {
    plan.report = known->second;
    return;
  }
  const LayoutMemories::Loan memory(memories_, cluster, plan.strategy);
  try {
    planner::add_slow_network(plan, on->job_of(plan.strategy), profile_, on->graph(), memory.get());
    with_slow_network_.emplace(std::pair(cluster, plan.strategy), plan.report);
  } catch (const std::overflow_error&) {
    // the slow state is beyond the simulation clock
  }
}

const std::optional<Plan>& Simulations::needed(Place p) {
  counted_.insert(p);
  return simulated_.at(p);
}

bool Simulations::misses_limits(Place p) {
  const Candidate& c = candidate(p);
  const Job& job = clusters[at(p.first)].job();
  const Seconds least = run_of(p, c.bound, clusters[at(p.first)].batch_of(c.strategy));
  const double usd = job.cluster.instance.usd_per_hour() * job.cluster.nodes * least.value / kHour;
  const bool late = !in_time(least), expensive = job_.budget > 0 && usd > job_.budget;
  late_ = late_ || late;
  expensive_ = expensive_ || expensive;
  return late || expensive;
}

bool Simulations::keeps_limits(const Plan& plan) {
  const bool early = in_time(plan.run), cheap = in_budget(plan);
  late_ = late_ || !early;
  expensive_ = expensive_ || !cheap;
  return early && cheap;
}

}  // namespace trnplan::planner
