#include "planner/search/candidate_part.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "models/framework/partition.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "units/index.h"

namespace trnplan::planner {

using models::Job;
using models::Strategy;
using topology::Verdict;

namespace {

models::Residency one_chunk(const Strategy& s, int m, int stage, int layers) {
  return models::schedule_of(s).residency(stage, models::shape_of(s, m), {&layers, 1});
}

}  // namespace

/// Keys of a strategy. A field that is added to Strategy does not compile until it is added to the keys of
/// the values that it changes.
CandidatePart::Keys CandidatePart::keys_of(const Strategy& s) {
  // Expert groups lie within data-parallel ones; all others change times and bytes inside a group.
  const auto& [tensor, pipeline, virtual_pipeline, context, expert, expert_tensor, data, micro_batch,
               sequence_parallel, zero1, recompute, flash_attention, kv_replicator, precision, bucket_mb,
               pipeline_cuts, schedule, framework, sharding, shard_ranks] = s;
  // Shard groups lie within data-parallel ones; loops that leave experts whole run where any group is supported.
  (void)sharding, (void)shard_ranks, (void)expert_tensor;
  return {{tensor, context, data, pipeline, kv_replicator},
          {pipeline, virtual_pipeline, schedule, pipeline_cuts}};
}

CandidatePart::CandidatePart(const Job& job, const models::Profile& profile, const topology::ChipGraph& graph,
                             double fit_probability, const Target* target, bool beyond_target)
    : given_(job),
      job_(job),
      profile_(profile),
      graph_(graph),
      limit_(job.cluster.instance.core.memory),
      fit_(fit_probability, profile),
      memory_(job_, profile),
      target_(target),
      beyond_target_(beyond_target) {}

void CandidatePart::forget() {
  bounds_.reset();
  verdicts_.clear();
  last_verdict_ = nullptr;
  residencies_.clear();
}

void CandidatePart::classify(Candidate& c, bool accept_doubt) {
  const Strategy& s = c.strategy;
  c.feasibility = feasibility_of(s, accept_doubt);
  if (c.feasibility != Feasibility::legal) return;
  try {
    c.bound = bound(s);
  } catch (const std::overflow_error&) {
    c.feasibility = Feasibility::refused;  // violations() finds no rule, and says that the clock is too short
    return;
  }
  c.refined = !has_free_cuts(s);
}

Feasibility CandidatePart::feasibility_of(const Strategy& s, bool accept_doubt) {
  use_batch_of(s);
  if (is_against_the_rules(s) || not_modelled(job_, s)) return Feasibility::refused;
  const Verdict verdict = verdict_of(s).overall;
  if (verdict == Verdict::refused) return Feasibility::refused;
  if (verdict == Verdict::doubtful && !accept_doubt) return Feasibility::doubtful;
  return fits(s, limit()) ? Feasibility::legal : Feasibility::too_large;
}

bool CandidatePart::feasible(int batch, bool accept_doubt, const std::function<bool()>& stop) {
  job_.training.global_batch = batch;
  const Job asked = job_;  // job_ gets the batch of each strategy
  bool found = false;
  each_in_space(asked, target_, is_beyond_target(asked, target_, stop), [&](const Strategy& s) {
    if (stop && stop()) return false;
    found = feasibility_of(s, accept_doubt) == Feasibility::legal;
    return !found;
  });
  return found;
}

void CandidatePart::refine(Candidate& c, Bytes limit) {
  try {
    choose_cuts(c, limit);
  } catch (const std::overflow_error&) {
    c.bound = Seconds(std::numeric_limits<double>::infinity());  // beyond the simulation clock
  }
  c.refined = true;
}

void CandidatePart::choose_cuts(Candidate& c, Bytes limit) {
  Strategy& s = c.strategy;
  use_batch_of(s);
  const std::vector<int> layers = bounds().best_layers(s, micro_batches(s), most_layers(s, limit));
  if (layers != models::layers_per_stage(job_.architecture, s)) {
    for (std::size_t i = 0, last = 0; i + 1 < layers.size(); ++i) {
      last += at(layers[i]);
      s.pipeline_cuts.push_back(static_cast<int>(last) - 1);
    }
  }
  c.bound = bound_of_cuts(s);
}

Seconds CandidatePart::bound(const Strategy& s) {
  use_batch_of(s);
  return to_seconds(has_free_cuts(s) ? bounds().bound_of_any_cuts(s, micro_batches(s))
                                     : bounds().lower_bound(s, micro_batches(s)));
}

Seconds CandidatePart::bound_of_cuts(const Strategy& s) {
  use_batch_of(s);
  return to_seconds(bounds().without_contention(s, micro_batches(s)));
}

bool CandidatePart::fits(const Strategy& s, Bytes limit) {
  use_batch_of(s);
  memory_.choose(s);
  if (!memory_.may_fit(limit)) return false;  // as of most
  const int m = micro_batches(s);
  Tried automatic{models::layers_per_chunk(job_.architecture, s)};
  const std::vector<models::Residency>* alive = s.virtual_pipeline > 1 ? &residencies(s, m) : nullptr;
  for (int& stage = automatic.failed; stage < s.pipeline_parallel; ++stage) {
    const int layers = models::layers_of_stage(automatic.layers, s, stage);
    const models::Residency held = alive != nullptr ? (*alive)[at(stage)] : one_chunk(s, m, stage, layers);
    if (!fits(memory_.of(stage, layers, held), limit)) break;
  }
  if (automatic.failed == s.pipeline_parallel) return true;
  return has_free_cuts(s) && !most_layers(s, limit, &automatic).empty();
}

bool CandidatePart::may_fit(const Strategy& s, Bytes limit) {
  memory_.choose(s);
  return memory_.may_fit(limit);
}

std::vector<Violation> CandidatePart::violations(const Strategy& s) {
  use_batch_of(s);
  std::vector<Violation> all = rule_violations(job_, s, target_);
  if (auto missing = not_modelled(job_, s)) all.push_back(std::move(*missing));
  if (all.empty()) all = replica_group_violation(verdict_of(s));
  return all;
}

const topology::PlacementVerdict& CandidatePart::verdict_of(const Strategy& s) {
  const auto groups = keys_of(s).groups;
  if (last_verdict_ != nullptr && last_verdict_->first == groups) return last_verdict_->second;
  const auto [it, fresh] = verdicts_.try_emplace(groups);
  if (fresh) it->second = placement_verdict(job_, s, graph_);
  last_verdict_ = &*it;
  return it->second;
}

models::StepBounds& CandidatePart::bounds() {
  if (!bounds_) bounds_ = std::make_unique<models::StepBounds>(given_, profile_, graph_);
  return *bounds_;
}

bool CandidatePart::has_free_cuts(const Strategy& s) const {
  if (s.pipeline_parallel == 1 || s.virtual_pipeline > 1) return false;
  if (target_ == nullptr || beyond_target_) return true;
  Strategy uneven = s;
  uneven.pipeline_cuts.assign(at(s.pipeline_parallel - 1), 0);
  return target_->expresses(job_, uneven);
}

/// Strategies that differ in recomputation alone follow each other in canonical order, and those that rules judge alike
/// are judged once (tests/planner/search compares them with all rules).
bool CandidatePart::is_against_the_rules(const Strategy& s) {
  Judged& last = judged_[kind_of_recompute(s)];
  last.strategy.recompute = s.recompute;
  if (!last.broken || last.batch != job_.training.global_batch || last.strategy != s) {
    last = {s, job_.training.global_batch, breaks_a_rule(job_, s, target_)};
  }
  return *last.broken;
}

void CandidatePart::use_batch_of(const Strategy& s) {
  if (job_.space.largest_batch > 0) job_.training.global_batch = batch_of(job_, s);
}

/// More than three rounds of micro-batches change nothing.
const std::vector<models::Residency>& CandidatePart::residencies(const Strategy& s, int m) {
  const int few = std::min(m, 3 * s.pipeline_parallel + 2);
  const auto [it, fresh] = residencies_.try_emplace({keys_of(s).chunks, few});
  if (fresh) it->second = models::residencies(job_.architecture, s, few);
  return it->second;
}

/// The most layers that fit on each stage; empty if they are not enough.
std::vector<int> CandidatePart::most_layers(const Strategy& s, Bytes limit, const Tried* tried) {
  memory_.choose(s);
  const int m = micro_batches(s), stages = s.pipeline_parallel;
  const int all = job_.architecture.layers - (stages - 1);
  std::vector<int> most;
  int sum = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const auto ok = [&](int l) { return fits(memory_.of(stage, l, one_chunk(s, m, stage, l)), limit); };
    int low = 0, high = all;  // `low` fits, more than `high` do not
    if (tried != nullptr && stage < tried->failed) low = tried->layers[at(stage)];
    if (tried != nullptr && stage == tried->failed) high = tried->layers[at(stage)] - 1;
    // A stage mostly has room for as many as the one below, or for one more.
    const bool open = !most.empty() && low < high;
    for (int l = open ? std::clamp(most.back(), low + 1, high) : 0, step = 1; l > 0 && low < high;
         step *= 2) {
      if (ok(l)) {
        low = l;
        l = std::min(l + step, high);
        if (l == low) break;
      } else {
        high = l - 1;
        if (low > 0) break;
        l = std::max(l - step, 0);
      }
    }
    while (low < high) {
      const int l = (low + high + 1) / 2;
      const bool room = ok(l);
      (room ? low : high) = room ? l : l - 1;
    }
    if (low == 0) return {};
    most.push_back(low);
    sum += low;
  }
  if (sum < job_.architecture.layers) return {};
  return most;
}

}  // namespace trnplan::planner
