#include "planner/search/candidates.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "models/framework/partition.h"
#include "models/memory/fit_probability.h"
#include "models/memory/memory.h"
#include "models/step/step_bound.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/search/parallel.h"
#include "units/index.h"

namespace trnplan::planner {

using models::Job;
using models::Strategy;
using topology::Verdict;

namespace {

/// What is remembered of strategies is found by these parts of them. A field that is added to Strategy does
/// not compile until it is given to the keys of what it changes.
struct Keys {
  std::array<int, 5> groups;                                        ///< degrees whose groups are judged
  std::tuple<int, int, models::Schedule, std::vector<int>> chunks;  ///< of layers
};

Keys keys_of(const Strategy& s) {
  // Expert groups lie within data-parallel ones; all others change times and bytes of what is in a group.
  const auto& [tensor, pipeline, virtual_pipeline, context, expert, data, micro_batch, sequence_parallel,
               zero1, recompute, flash_attention, kv_replicator, precision, bucket_mb, pipeline_cuts,
               schedule, framework, sharding, shard_ranks] = s;
  (void)sharding, (void)shard_ranks;  // shard groups lie within data-parallel ones
  return {{tensor, context, data, pipeline, kv_replicator},
          {pipeline, virtual_pipeline, schedule, pipeline_cuts}};
}

/// What strategies of one tensor- and context-parallel degree share, or as many of them as a thread gets. One
/// thread at a time.
class Part {
 public:
  Part(const Job& job, const models::Profile& profile, const topology::ChipGraph& graph,
       double fit_probability, const Target* target, bool beyond_target)
      : given_(job),
        job_(job),
        profile_(profile),
        graph_(graph),
        limit_(job.cluster.instance.core.memory),
        fit_(fit_probability, profile),
        target_(target),
        beyond_target_(beyond_target) {}

  /// What was remembered; it is found again where it is asked for.
  void forget() {
    bounds_.reset();
    verdicts_.clear();
    residencies_.clear();
  }

  void classify(Candidate& c, bool accept_doubt) {
    const Strategy& s = c.strategy;
    c.feasibility = feasibility_of(s, accept_doubt);
    if (c.feasibility != Feasibility::legal) return;
    try {
      c.bound = bound(s);
    } catch (const std::overflow_error&) {
      c.feasibility =
          Feasibility::refused;  // violations() finds no rule, and says that the clock is too short
      return;
    }
    c.refined = !has_free_cuts(s);
  }

  /// All but the bound.
  Feasibility feasibility_of(const Strategy& s, bool accept_doubt) {
    use_batch_of(s);
    if (is_against_the_rules(s) || not_modelled(job_, s)) return Feasibility::refused;
    const Verdict verdict = verdict_of(s).overall;
    if (verdict == Verdict::refused) return Feasibility::refused;
    if (verdict == Verdict::doubtful && !accept_doubt) return Feasibility::doubtful;
    return fits(s, limit()) ? Feasibility::legal : Feasibility::too_large;
  }

  /// Other strategies' verdicts stay known.
  bool feasible(int batch, bool accept_doubt, const std::function<bool()>& stop) {
    job_.training.global_batch = batch;
    for (const Strategy& s : space_of(job_, target_, stop).strategies) {
      if (stop && stop()) return false;
      if (feasibility_of(s, accept_doubt) == Feasibility::legal) return true;
    }
    return false;
  }

  void refine(Candidate& c, Bytes limit) {
    try {
      choose_cuts(c, limit);
    } catch (const std::overflow_error&) {
      c.bound = Seconds(std::numeric_limits<double>::infinity());  // beyond the simulation clock
    }
    c.refined = true;
  }

  void choose_cuts(Candidate& c, Bytes limit) {
    Strategy& s = c.strategy;
    use_batch_of(s);
    const std::vector<int> layers = bounds().best_layers(s, micro_batches(s), most_layers(s, limit));
    if (layers != models::layers_per_stage(job_.architecture, s)) {
      for (std::size_t i = 0, last = 0; i + 1 < layers.size(); ++i) {
        last += at(layers[i]);
        s.pipeline_cuts.push_back(static_cast<int>(last) - 1);
      }
    }
    c.bound = to_seconds(bounds().without_contention(s, micro_batches(s)));
  }

  Seconds bound(const Strategy& s) {
    use_batch_of(s);
    return to_seconds(has_free_cuts(s) ? bounds().bound_of_any_cuts(s, micro_batches(s))
                                       : bounds().lower_bound(s, micro_batches(s)));
  }

  bool fits(const Strategy& s, Bytes limit) {
    use_batch_of(s);
    const int m = micro_batches(s);
    const std::vector<int> parts = models::layers_per_chunk(job_.architecture, s);
    const std::vector<models::Residency>* alive = s.virtual_pipeline > 1 ? &residencies(s, m) : nullptr;
    bool automatic = true;
    for (int stage = 0; stage < s.pipeline_parallel && automatic; ++stage) {
      const int layers = models::layers_of_stage(parts, s, stage);
      const models::Residency held = alive != nullptr ? (*alive)[at(stage)] : one_chunk(s, m, stage, layers);
      automatic = fits(models::stage_memory(job_, s, profile_, stage, layers, held), limit);
    }
    if (automatic || !has_free_cuts(s)) return automatic;
    return !most_layers(s, limit).empty();
  }

  std::vector<Violation> violations(const Strategy& s) {
    use_batch_of(s);
    std::vector<Violation> all = rule_violations(job_, s, target_);
    if (auto missing = not_modelled(job_, s)) all.push_back(std::move(*missing));
    if (all.empty()) all = replica_group_violation(verdict_of(s));
    return all;
  }

  const topology::PlacementVerdict& verdict_of(const Strategy& s) {
    const auto [it, fresh] = verdicts_.try_emplace(keys_of(s).groups);
    if (fresh) it->second = placement_verdict(job_, s, graph_);
    return it->second;
  }

  Bytes limit() const { return limit_; }

 private:
  models::StepBounds& bounds() {
    if (!bounds_) bounds_ = std::make_unique<models::StepBounds>(given_, profile_, graph_);
    return *bounds_;
  }

  bool has_free_cuts(const Strategy& s) const {
    if (s.pipeline_parallel == 1 || s.virtual_pipeline > 1) return false;
    if (target_ == nullptr || beyond_target_) return true;
    Strategy uneven = s;
    uneven.pipeline_cuts.assign(at(s.pipeline_parallel - 1), 0);
    return target_->expresses(job_, uneven);
  }

  /// Rules do not look at what is recomputed: strategies that differ in it alone, which follow each other in canonical
  /// order, are judged once for each kind of attention (tests/planner/search compares them with all rules).
  bool is_against_the_rules(const Strategy& s) {
    Judged& last = judged_[s.flash_attention ? 1 : 0];
    Strategy asked = s;
    asked.recompute = {};
    if (!last.broken || last.batch != job_.training.global_batch || last.strategy != asked) {
      last = {std::move(asked), job_.training.global_batch, breaks_a_rule(job_, s, target_)};
    }
    return *last.broken;
  }

  void use_batch_of(const Strategy& s) {
    if (job_.space.largest_batch > 0) job_.training.global_batch = batch_of(job_, s);
  }

  int micro_batches(const Strategy& s) const { return models::micro_batches(job_.training, s); }

  bool fits(const models::StageMemory& m, Bytes limit) const { return fit_.fits(m, limit); }

  static models::Residency one_chunk(const Strategy& s, int m, int stage, int layers) {
    return models::schedule_of(s).residency(stage, models::shape_of(s, m), {&layers, 1});
  }

  /// Beyond three rounds more micro-batches change nothing.
  const std::vector<models::Residency>& residencies(const Strategy& s, int m) {
    const int few = std::min(m, 3 * s.pipeline_parallel + 2);
    const auto [it, fresh] = residencies_.try_emplace({keys_of(s).chunks, few});
    if (fresh) it->second = models::residencies(job_.architecture, s, few);
    return it->second;
  }

  /// The most layers each stage has room for; empty when that is not enough.
  std::vector<int> most_layers(const Strategy& s, Bytes limit) const {
    const int m = micro_batches(s), stages = s.pipeline_parallel;
    const int all = job_.architecture.layers - (stages - 1);
    std::vector<int> most;
    int sum = 0;
    for (int stage = 0; stage < stages; ++stage) {
      int low = 0, high = all;  // `low` fits
      while (low < high) {
        const int l = (low + high + 1) / 2;
        const bool ok =
            fits(models::stage_memory(job_, s, profile_, stage, l, one_chunk(s, m, stage, l)), limit);
        (ok ? low : high) = ok ? l : l - 1;
      }
      if (low == 0) return {};
      most.push_back(low);
      sum += low;
    }
    if (sum < job_.architecture.layers) return {};
    return most;
  }

  struct Judged {
    Strategy strategy;
    int batch = 0;
    std::optional<bool> broken;  ///< absent: none was judged
  };

  const Job& given_;
  Job job_;  ///< with the batch of the strategy at hand
  const models::Profile& profile_;
  const topology::ChipGraph& graph_;
  Bytes limit_;
  models::FitTest fit_;
  const Target* target_;                        ///< null: everything can be expressed
  bool beyond_target_;                          ///< nothing can; then its rules alone hold
  std::array<Judged, 2> judged_;                ///< the last one, plain and flash
  std::unique_ptr<models::StepBounds> bounds_;  ///< made when it is asked for
  std::map<decltype(Keys::groups), topology::PlacementVerdict> verdicts_;
  std::map<std::pair<decltype(Keys::chunks), int>, std::vector<models::Residency>> residencies_;
};

}  // namespace

struct Candidates::State {
  Job job;
  topology::ChipGraph graph;
  Bytes limit;
  const Target* target;
  std::vector<std::unique_ptr<Part>> parts;

  State(Job j, const Target* t)
      : job(std::move(j)), graph(job.cluster.instance), limit(job.cluster.instance.core.memory), target(t) {}
  Part& part_of(const Candidate& c) { return *parts[at(c.part)]; }
};

Candidates::Candidates(Job job, const models::Profile& profile, bool accept_doubt, double fit_probability,
                       int threads, const std::function<bool()>& stop, Keep keep, const Target* target)
    : state_(std::make_unique<State>(std::move(job), target)) {
  State& state = *state_;
  // Most strategies that are legal may have the same degrees: pipelines go to the threads in turn.
  std::map<std::array<int, 3>, std::vector<int>> members;
  std::map<int, int> turns;  // by pipeline-parallel degree
  Space space = space_of(state.job, target, stop);
  complete = space.complete;
  inexpressible = space.inexpressible;
  beyond_target = space.beyond_target;
  for (Strategy& s : space.strategies) {
    const int turn = turns.try_emplace(s.pipeline_parallel, static_cast<int>(turns.size())).first->second;
    members[{s.tensor_parallel, s.context_parallel, turn % std::max(1, threads)}].push_back(
        static_cast<int>(all.size()));
    all.push_back({std::move(s)});
  }
  std::vector<const std::vector<int>*> work;
  for (auto m = members.rbegin(); m != members.rend(); ++m) {  // first the degrees at which large models fit
    for (const int i : m->second) all[at(i)].part = static_cast<int>(work.size());
    work.push_back(&m->second);
    state.parts.push_back(
        std::make_unique<Part>(state.job, profile, state.graph, fit_probability, target, beyond_target));
  }
  parallel_for(static_cast<int>(work.size()), threads, [&](int p) {
    for (const int i : *work[at(p)]) {
      if (stop && stop()) {
        all[at(i)].feasibility = Feasibility::unseen;
        continue;
      }
      state.parts[at(p)]->classify(all[at(i)], accept_doubt);
    }
    if (keep == Keep::open) state.parts[at(p)]->forget();
  });
  if (keep == Keep::open) drop_closed();
}

void Candidates::drop_closed() {
  std::erase_if(all, [&](const Candidate& c) {
    if (c.feasibility == Feasibility::legal || c.feasibility == Feasibility::unseen) return false;
    ++(c.feasibility == Feasibility::too_large ? dropped.too_large : dropped.refused);
    return true;
  });
  all.shrink_to_fit();
}

void Candidates::take_legal(const Candidates& legal) {
  auto next = legal.all.begin();
  for (Candidate& c : all) {
    if (c.feasibility != Feasibility::legal) continue;
    while (next != legal.all.end() && next->feasibility != Feasibility::legal) ++next;
    if (next == legal.all.end()) return;
    c = *next++;
  }
}

bool Candidates::find_legal(bool accept_doubt, int& tries, const std::function<bool()>& stop) {
  for (auto c = all.rbegin(); c != all.rend() && tries > 0 && !stop(); ++c) {
    if (c->feasibility != Feasibility::unseen) continue;
    --tries;
    state_->part_of(*c).classify(*c, accept_doubt);
    if (c->feasibility == Feasibility::legal) return true;
  }
  return false;
}

Candidates::~Candidates() = default;
Candidates::Candidates(Candidates&&) noexcept = default;

const Job& Candidates::job() const {
  return state_->job;
}

const Target* Candidates::target() const {
  return state_->target;
}

Job Candidates::job_of(const Strategy& s) const {
  Job job = state_->job;
  job.training.global_batch = planner::batch_of(job, s);
  return job;
}

int Candidates::batch_of(const Strategy& s) const {
  return planner::batch_of(state_->job, s);
}

const topology::ChipGraph& Candidates::graph() const {
  return state_->graph;
}

Bytes Candidates::limit() const {
  return state_->limit;
}

void Candidates::refine(Candidate& c, Bytes limit) {
  if (c.refined) return;
  Part& part = state_->part_of(c);
  part.refine(c, limit.value > 0 ? limit : part.limit());
}

bool Candidates::fits(const Candidate& c, Bytes limit) {
  return state_->part_of(c).fits(c.strategy, limit);
}

Seconds Candidates::bound(const Candidate& c) {
  return state_->part_of(c).bound(c.strategy);
}

std::vector<Violation> Candidates::violations(const Candidate& c) {
  std::vector<Violation> found = state_->part_of(c).violations(c.strategy);
  if (found.empty() && c.feasibility == Feasibility::refused) found.push_back(beyond_the_clock());
  return found;
}

const topology::PlacementVerdict& Candidates::verdict(const Candidate& c) {
  return state_->part_of(c).verdict_of(c.strategy);
}

bool feasible(const Job& job, const models::Profile& profile, bool accept_doubt, double fit_probability,
              const Target* target, const std::function<bool()>& stop) {
  return first_feasible_batch(job, profile, accept_doubt, fit_probability, {job.training.global_batch},
                              target, stop) != 0;
}

namespace {

/// What is beyond the simulation clock is no plan.
bool computes_within(Seconds longest, models::ComputeBounds& bounds, const Strategy& s, int micro_batches) {
  try {
    return bounds.layers(s, micro_batches) <= longest;
  } catch (const std::overflow_error&) {
    return false;
  }
}

}  // namespace

bool may_reach(const Job& job, const models::Profile& profile, bool accept_doubt, double fit_probability,
               double tokens_per_second, const Target* target) {
  const topology::ChipGraph graph(job.cluster.instance);
  Space space = space_of(job, target);
  Part part(job, profile, graph, fit_probability, target, space.beyond_target);
  models::ComputeBounds bounds(job, profile);
  Job with_batch = job;
  for (Strategy& s : space.strategies) {
    with_batch.training.global_batch = batch_of(job, s);
    const models::Training& t = with_batch.training;
    // Bounds are of whole ticks.
    const Seconds longest(static_cast<double>(t.global_batch) * t.sequence / tokens_per_second * (1 + 1e-9));
    if (!computes_within(longest, bounds, s, models::micro_batches(t, s))) continue;
    Candidate c{std::move(s)};
    part.classify(c, accept_doubt);
    if (c.feasibility == Feasibility::legal && c.bound <= longest) return true;
  }
  return false;
}

int first_feasible_batch(const Job& job, const models::Profile& profile, bool accept_doubt,
                         double fit_probability, const std::vector<int>& batches, const Target* target,
                         const std::function<bool()>& stop) {
  const topology::ChipGraph graph(job.cluster.instance);
  const bool beyond_target = target != nullptr && space_of(job, target, stop).beyond_target;
  Part part(job, profile, graph, fit_probability, target, beyond_target);
  for (const int batch : batches) {
    if (part.feasible(batch, accept_doubt, stop)) return batch;
  }
  return 0;
}

}  // namespace trnplan::planner
