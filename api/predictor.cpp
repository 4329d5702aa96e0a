#include "api/predictor.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "api/compared_jobs.h"
#include "planner/plan/plan.h"

namespace trnplan::api {

namespace {

bool has_gpus(const topology::Instance& machine) {
  return machine.traits.accelerator == topology::Accelerator::gpu;
}

/// Expected value of a recommended plan by the job's objective; more is better. A plan that does not work
/// earns nothing, unless the job asks for the fastest.
double worth(const planner::Plan& plan, models::Objective objective, planner::RiskAttitude attitude) {
  const double works = attitude == planner::RiskAttitude::fastest ? 1 : plan.works.value_or(1);
  const double rate = plan.report.tokens_per_second * works;
  switch (objective) {
    case models::Objective::step_time:
      return rate;
    case models::Objective::cost:
      return plan.usd_per_hour > 0 ? rate / plan.usd_per_hour : rate;
    case models::Objective::deadline:
      return -plan.nodes + rate / (1 + rate);  // fewest nodes, then most tokens
  }
  return rate;
}

/// A plan that a stack recommends; the job's objective, and the user's attitude to risk.
struct Proposal {
  const planner::Plan& plan;
  bool written;
  models::Objective objective;
  planner::RiskAttitude attitude;
  bool within_limits = true;

  /// True if worth more; a plan that keeps the limits precedes one that does not, and one that can be written one that
  /// cannot.
  bool is_better_than(const Proposal& o) const {
    if (within_limits != o.within_limits) return within_limits;
    if (written != o.written) return written;
    return worth(plan, objective, attitude) > worth(o.plan, objective, attitude);
  }
};

/// The recommended plan of each cluster, of all stacks together.
class RowsOfClusters {
 public:
  RowsOfClusters(const models::Job& job, planner::RiskAttitude attitude) : job_(job), attitude_(attitude) {}

  void add(const Recommendation& found) {
    for (const planner::ClusterPlan& c : found.search.clusters) {
      const bool written = !c.beyond_target && found.stack->stack.target != nullptr;
      const auto same = std::find_if(all_.begin(), all_.end(), [&](const Known& k) {
        return k.cluster.plan.nodes == c.plan.nodes && k.cluster.plan.instance == c.plan.instance;
      });
      if (same == all_.end())
        all_.push_back({c, written});
      else if (proposal({c, written}).is_better_than(proposal(*same)))
        *same = {c, written};
    }
  }

  /// In the order of the job's types, then nodes.
  std::vector<planner::ClusterPlan> take() {
    std::stable_sort(all_.begin(), all_.end(),
                     [&](const Known& a, const Known& b) { return place(a) < place(b); });
    std::vector<planner::ClusterPlan> clusters;
    for (Known& k : all_) clusters.push_back(std::move(k.cluster));
    planner::mark_front(clusters);
    return clusters;
  }

 private:
  struct Known {
    planner::ClusterPlan cluster;
    bool written;
  };
  Proposal proposal(const Known& k) const {
    return {k.cluster.plan, k.written, job_.objective, attitude_, k.cluster.within_limits};
  }
  std::pair<std::ptrdiff_t, std::ptrdiff_t> place(const Known& k) const {
    const auto& [types, nodes] = std::tie(job_.space.instances, job_.space.nodes);
    const auto type = std::find_if(types.begin(), types.end(), [&](const topology::Instance& i) {
      return i.name == k.cluster.plan.instance;
    });
    return {type - types.begin(),
            std::find(nodes.begin(), nodes.end(), k.cluster.plan.nodes) - nodes.begin()};
  }

  const models::Job& job_;
  planner::RiskAttitude attitude_;
  std::vector<Known> all_;
};

}  // namespace

bool Recommendation::is_written() const {
  return !search.beyond_target && stack->stack.target != nullptr;
}

const KnownRisk& Predictor::risk(const topology::Instance& machine) const {
  const bool gpus = has_gpus(machine);
  const std::lock_guard lock(guard_);
  const auto known = risks_.find(gpus);
  if (known != risks_.end()) return known->second;
  return risks_
      .emplace(std::piecewise_construct, std::forward_as_tuple(gpus),
               std::forward_as_tuple(resolved_.catalog(), resolved_.observations(),
                                     resolved_.job().architecture, gpus))
      .first->second;
}

const planner::RecommendingParameters& Predictor::parameters(const topology::Instance& machine) const {
  return risk(machine).parameters();
}

const planner::ComparedJobs& Predictor::compared_jobs(const topology::Instance& machine) const {
  const models::Profile& profile = resolved_.profile_on(machine);  // published runs had networks of their own
  const std::lock_guard lock(guard_);
  const auto known = known_.find(profile.name);
  if (known != known_.end()) return known->second;
  return known_.emplace(profile.name, load_compared_jobs(resolved_.catalog(), profile, has_gpus(machine)))
      .first->second;
}

void Predictor::tell_nearest(planner::Plan& plan, const ResolvedStack& of) const {
  api::tell_nearest(plan, compared_jobs(of.job.cluster.instance), of.job);
}

void Predictor::tell_risk(planner::Plan& plan, const ResolvedStack& of) const {
  const planner::RiskAdvisor advisor =
      risk(of.job.cluster.instance).advisor(of.job, *of.profile, attitude_, sure_);
  planner::tell_risk(plan, advisor.outlook(plan, plan));
}

Prediction Predictor::predict(const models::Job& at, const models::Strategy& strategy) const {
  Prediction out;
  out.stack = resolved_.stack_of(at, strategy);
  out.job = out.stack->job;
  out.job.training.precision = strategy.precision;
  const models::Profile& profile = *out.stack->profile;
  out.judgement = planner::judge(out.job, strategy, profile, out.stack->stack.target);
  if (!out.judgement.plan) return out;
  planner::Plan& plan = *out.judgement.plan;
  tell_nearest(plan, *out.stack);
  out.outlook =
      risk(out.job.cluster.instance).advisor(out.job, profile, attitude_, sure_).outlook(plan, plan);
  planner::tell_risk(plan, out.outlook);
  return out;
}

Recommendation Predictor::search(const StackRef& stack, planner::SearchOptions options) const {
  const models::Job& job = stack->job;
  const planner::RiskAdvisor advisor =
      risk(job.cluster.instance).advisor(job, *stack->profile, attitude_, sure_);
  options.target = stack->stack.target;
  options.advisor = &advisor;
  Recommendation out{stack, planner::search(job, *stack->profile, options), {}, {}};
  planner::SearchResult& found = out.search;
  if (found.plans.empty()) return out;
  const planner::Plan recommended = *found.recommended_plan();
  for (planner::Plan& plan : found.plans) {
    out.outlooks.push_back(advisor.outlook(plan, recommended));
    planner::tell_risk(plan, out.outlooks.back());
  }
  for (planner::Plan& plan : found.layouts) planner::tell_risk(plan, advisor.outlook(plan, recommended));
  for (planner::ClusterPlan& c : found.clusters) planner::tell_risk(c.plan, advisor.outlook(c.plan, c.plan));
  return out;
}

Recommendation Predictor::recommend(const models::Job& at, const planner::SearchOptions& asked) const {
  const std::vector<StackRef> stacks = resolved_.stacks(at);
  planner::SearchOptions options = asked;
  // The plan taken may be slower than the best of another stack. So all stacks are searched if one of them
  // may reach the required rate.
  if (options.least_tokens_per_second > 0) {
    const bool none = std::none_of(stacks.begin(), stacks.end(), [&](const StackRef& s) {
      planner::SearchOptions own = options;
      own.target = s->stack.target;
      return planner::may_reach(s->job, *s->profile, own);
    });
    if (none) return {stacks.front(), {}, {}, {}};
    options.least_tokens_per_second = 0;
  }
  const bool several = stacks.size() > 1;
  std::optional<Recommendation> best;
  std::vector<OtherStack> others;
  const StackRef* lacking = &stacks.front();  // whose lack is reported if none has a plan
  bool legal = false;                         // it has strategies that break no rule
  const auto set_aside = [&](const Recommendation& r) {
    others.push_back({std::string(name_of(r.stack->stack)), *r.search.recommended_plan(), r.is_written(),
                      r.search.plans, r.search.recommended, r.outlooks});
  };
  const auto proposal = [&](const Recommendation& r) {
    return Proposal{*r.search.recommended_plan(), r.is_written(), at.objective, attitude_};
  };
  RowsOfClusters clusters(at, attitude_);
  for (const StackRef& stack : stacks) {
    planner::SearchOptions own = options;
    own.why_nothing = options.why_nothing && !several;
    Recommendation found = search(stack, own);
    clusters.add(found);
    if (found.search.plans.empty()) {
      if (!several) return found;
      if (found.search.counts.too_large > 0 && !std::exchange(legal, true)) lacking = &stack;
    } else if (!best || proposal(found).is_better_than(proposal(*best))) {
      if (best) set_aside(*best);
      best = std::move(found);
    } else {
      set_aside(found);
    }
  }
  if (!best) return search(*lacking, options);
  best->others = std::move(others);
  best->search.clusters = clusters.take();
  return *std::move(best);
}

}  // namespace trnplan::api
