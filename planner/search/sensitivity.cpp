// Limits of the winner of a search: memory, kernels, NICs.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "models/step/step.h"
#include "planner/check/judge.h"
#include "planner/search/explain.h"
#include "topology/nics.h"

namespace trnplan::planner {

namespace {

/// Search for a faster plan among those that would fit if a core had `more` memory.
class WithMemory {
 public:
  WithMemory(Candidates& cluster, const models::Profile& profile, const Plan& winner, Bytes more,
             const Stop& stop)
      : cluster_(cluster),
        profile_(profile),
        limit_(cluster.limit() + more),
        least_(per(winner)),
        stop_(stop) {}

  /// False if stopped: the result is then not the best one.
  bool find() {
    for (const Candidate& c : cluster_.all) {
      if (stop_ && stop_()) return false;
      if (c.feasibility == Feasibility::too_large && cluster_.fits(c, limit_)) consider(c);
    }
    for (;;) {
      const auto next = std::min_element(open_.begin(), open_.end());
      if (next == open_.end() || next->bound >= least_) return true;
      if (stop_ && stop_()) return false;
      if (next->candidate.refined) {
        simulate(next->candidate);
        open_.erase(next);
      } else {
        cluster_.refine(next->candidate, limit_);
        next->bound = per(next->candidate);
      }
    }
  }
  std::optional<Plan> best() && { return std::move(best_); }

 private:
  struct Open {
    double bound;  ///< seconds per sequence
    Candidate candidate;
    bool operator<(const Open& o) const {
      return std::tie(bound, candidate.strategy) < std::tie(o.bound, o.candidate.strategy);
    }
  };

  static double per(const Plan& p) { return p.report.step.value / p.global_batch; }
  double per(const Candidate& c) const { return c.bound.value / cluster_.batch_of(c.strategy); }

  void consider(Candidate c) {
    try {
      c.bound = cluster_.bound(c);
    } catch (const std::overflow_error&) {
      return;  // beyond the simulation clock
    }
    c.refined = c.strategy.pipeline_parallel == 1 || c.strategy.virtual_pipeline > 1;
    const double bound = per(c);
    if (bound < least_) open_.push_back({bound, std::move(c)});
  }

  void simulate(const Candidate& c) {
    try {
      Plan plan = timed_plan(cluster_.job_of(c.strategy), c.strategy, profile_, cluster_.graph());
      if (per(plan) >= least_) return;
      least_ = per(plan);
      best_ = std::move(plan);
    } catch (const std::overflow_error&) {
    }
  }

  Candidates& cluster_;
  const models::Profile& profile_;
  Bytes limit_;
  double least_;
  const Stop& stop_;
  std::vector<Open> open_;
  std::optional<Plan> best_;
};

}  // namespace

std::optional<Sensitivity> sensitivity_of(Candidates& cluster, const models::Profile& profile,
                                          const Plan& winner, const Stop& stop) {
  constexpr double kTenPerCent = 1.1;
  Sensitivity r;
  for (std::size_t i = 0; i < static_cast<std::size_t>(models::Resource::count); ++i) {
    const auto resource = static_cast<models::Resource>(i);
    const double e = winner.report.elasticity(resource);
    if (std::abs(e) <= std::abs(r.elasticity)) continue;
    r.resource = resource;
    r.elasticity = e;
  }
  WithMemory more(cluster, profile, winner, Bytes(kGiB), stop);
  if (!more.find()) return std::nullopt;
  r.with_more_memory = std::move(more).best();
  models::Job job = cluster.job_of(winner.strategy);
  const auto step = [&](const models::Profile& p) {
    return models::StepModel(job, winner.strategy, p, cluster.graph()).simulate().step;
  };
  models::Profile quicker = profile;
  for (const models::Parameter p : profile.schema->parameters()) {
    if (models::resource_of(p) != models::Resource::tensor) continue;
    quicker.value(p).median *= kTenPerCent;
  }
  r.with_faster_kernels = step(quicker);
  if (job.cluster.nodes > 1 && job.cluster.instance.nics > 0) {
    const topology::Instance& machine = job.cluster.instance;
    if (auto twice = topology::with_nics(machine, 2 * machine.nics)) {
      job.cluster.instance = *std::move(twice);
      r.with_twice_the_nics = step(profile);
    }
  }
  return r;
}

}  // namespace trnplan::planner
