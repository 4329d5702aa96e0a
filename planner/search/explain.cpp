#include "planner/search/explain.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "models/step/step_bound.h"
#include "planner/check/judge.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/plan/strategy_grammar.h"

namespace trnplan::planner {

using models::Job;
using models::Memory;
using models::Strategy;

namespace {

constexpr std::int64_t kLargestBatch = 1'000'000'000;

/// True if every broken rule is one of `rules`.
bool breaks_only(const std::vector<Violation>& violations, std::initializer_list<std::string_view> rules) {
  return std::all_of(violations.begin(), violations.end(), [&](const Violation& v) {
    return std::find(rules.begin(), rules.end(), v.rule) != rules.end();
  });
}

/// The strategies that are legal and fit: often few among very many.
class Legal {
 public:
  explicit Legal(Candidates& cluster) : cluster_(cluster) {
    for (Candidate& c : cluster.all) {
      if (c.feasibility == Feasibility::legal) all_.push_back(&c);
    }
  }

  /// The fastest by bound that satisfies `like`, with chosen cuts. Null if there is none.
  template <class Like>
  const Candidate* best(Like&& like) {
    for (;;) {
      Candidate* best = nullptr;
      for (Candidate* c : all_) {
        if (like(c->strategy) && (best == nullptr || c->bound < best->bound)) best = c;
      }
      if (best == nullptr || best->refined) return best;
      cluster_.refine(*best);
    }
  }

  const Job& job() const { return cluster_.job(); }

 private:
  Candidates& cluster_;
  std::vector<Candidate*> all_;
};

std::string memory_fix(Legal& legal, const Strategy& s) {
  const Candidate* near =
      legal.best([&](const Strategy& o) { return same_layout(o, s) && same_experts(o, s); });
  if (near == nullptr) near = legal.best([&](const Strategy& o) { return same_layout(o, s); });
  const auto cores = [](const Strategy& o) { return o.tensor_parallel * o.pipeline_parallel; };
  if (near == nullptr) near = legal.best([&](const Strategy& o) { return cores(o) > cores(s); });
  if (near == nullptr) near = legal.best([](const Strategy&) { return true; });
  if (near == nullptr) return "nothing fits on this cluster: use more nodes";
  return strategy_grammar(legal.job(), near->strategy) + " fits";
}

class NearMisses {
 public:
  NearMisses(Candidates& cluster, const models::Profile& profile, double fit_probability, const Plan* winner,
             const Stop& stop)
      : cluster_(cluster),
        legal_(cluster),
        profile_(profile),
        fit_probability_(fit_probability),
        winner_(winner),
        stop_(stop),
        of_batch_(cluster.job()),
        bounds_(cluster.job(), profile) {}

  Refusals collect() {
    Refusals out;
    const auto stopped = [&] {
      if (out.complete && stop_ && stop_()) out.complete = false;
      return !out.complete;
    };
    for (const Candidate& c : cluster_.all) {
      if (c.feasibility == Feasibility::legal || c.feasibility == Feasibility::unseen) continue;
      if (stopped()) break;
      try {
        look_at(c);
      } catch (const std::overflow_error&) {
        // beyond the simulation clock: not a near miss
      }
    }
    for (auto& [key, r] : kept_) {
      if (stopped()) break;
      explain(r);
      (r.refusal.why.doubtful ? out.doubtful : out.certain).push_back(std::move(r.refusal));
    }
    const auto order = [](const Refusal& a, const Refusal& b) {
      const auto peak = [](const Refusal& r) { return r.memory ? r.memory->worst().peak() : Bytes(0); };
      return std::tuple(peak(a), a.lower_bound) < std::tuple(peak(b), b.lower_bound);
    };
    std::stable_sort(out.certain.begin(), out.certain.end(), order);
    std::stable_sort(out.doubtful.begin(), out.doubtful.end(), order);
    return out;
  }

 private:
  struct Kept {
    Refusal refusal;
    const Candidate* candidate;
  };
  using Layout = std::array<int, 6>;  ///< TP, PP, DP, CP, EP, ETP
  using Key = std::tuple<Layout, std::string, std::string>;
  /// Rules about numbers that a strategy breaks.
  enum class Numbers { none, with_a_time, others };
  struct Judged {
    Strategy strategy;
    int batch = 0;
    std::optional<Numbers> numbers;  ///< absent: none was judged
  };

  bool beats_winner(Seconds bound, int batch) const {
    if (winner_ == nullptr) return true;
    return bound / Seconds(batch) < winner_->report.step / Seconds(winner_->global_batch);
  }

  static Layout layout_of(const Strategy& s) {
    return {s.tensor_parallel,  s.pipeline_parallel, s.data_parallel,
            s.context_parallel, s.expert_parallel,   models::expert_tensor_degree(s)};
  }
  /// True if no faster strategy of its layout is kept for its groups.
  bool beats_kept(Seconds bound, const Strategy& s) const {
    const auto kept = fastest_.find(layout_of(s));
    return kept == fastest_.end() || bound < kept->second;
  }

  /// Rules about numbers that `s` breaks: with_a_time if they leave a meaningful program, which has a time. Neighbours
  /// in canonical order differ in recomputation alone, and those that rules judge alike are judged once.
  Numbers numbers_of(const Strategy& s) {
    Judged& last = judged_[kind_of_recompute(s)];
    last.strategy.recompute = s.recompute;
    if (!last.numbers || last.batch != of_batch_.training.global_batch || last.strategy != s) {
      const auto broken = rule_violations(of_batch_, s, cluster_.target());
      const bool has_a_time = breaks_only(broken, {"pipeline-parity", "vocabulary", "tied-embeddings"});
      last = {s, of_batch_.training.global_batch,
              broken.empty() ? Numbers::none
              : has_a_time   ? Numbers::with_a_time
                             : Numbers::others};
    }
    return *last.numbers;
  }

  void look_at(const Candidate& c) {
    const Strategy& s = c.strategy;
    const int batch = cluster_.batch_of(s);
    if (c.feasibility == Feasibility::too_large) {
      if (!is_smallest(s)) return;
      const Seconds bound = cluster_.bound(c);
      if (!beats_winner(bound, batch)) return;
      return keep(c, bound, {"memory", "", ""}, to_string(s.recompute));
    }
    const int m =
        batch / std::max<int>(1, static_cast<int>(saturating_product({s.micro_batch, s.data_parallel})));
    if (m < 1) return;
    of_batch_.training.global_batch = batch;
    const Numbers numbers = numbers_of(s);
    // Too large anyway, which is cheaper to know than its bounds and groups.
    if (numbers == Numbers::others || !cluster_.may_fit(c, cluster_.limit())) return;
    // With no such rule broken only its groups can be refused, and one of its layout is kept.
    const auto matters = [&](Seconds least) {
      return beats_winner(least, batch) && (numbers != Numbers::none || beats_kept(least, s));
    };
    constexpr double kRounding = 1 - 1e-9;  // the busiest stage takes no less than the mean, but for this
    if (!matters(bounds_.mean_stage(s, m) * kRounding)) return;
    Seconds bound = to_seconds(bounds_.busiest_stage(s, m));
    if (!matters(bound)) return;
    if (!cluster_.fits(c, cluster_.limit())) return;
    std::vector<Violation> why = cluster_.violations(c);
    if (!breaks_only(why, {"replica-group", "pipeline-parity", "vocabulary", "tied-embeddings"})) return;
    if (why.front().rule != "replica-group") {  // its collectives have a time
      bound = cluster_.bound(c);
      if (!beats_winner(bound, batch)) return;
    }
    keep(c, bound, std::move(why.front()), "");
  }

  void keep(const Candidate& c, Seconds bound, Violation why, std::string policy) {
    const Strategy& s = c.strategy;
    Refusal r;
    r.strategy = s;
    r.lower_bound = bound;
    r.why = std::move(why);
    // Other rules are the same in every layout.
    const bool of_groups = r.why.rule == "replica-group", of_layout = of_groups || r.why.rule == "memory";
    Key key{of_layout ? layout_of(s) : Layout{}, r.why.rule, std::move(policy)};
    const auto [it, fresh] = kept_.try_emplace(std::move(key), Kept{r, &c});
    if (!fresh && bound < it->second.refusal.lower_bound) it->second = {r, &c};
    if (of_groups) fastest_[layout_of(s)] = it->second.refusal.lower_bound;
  }

  /// Adds the parts of an explanation that only refusals that stay need.
  void explain(Kept& kept) {
    Refusal& r = kept.refusal;
    const Job& job = cluster_.job();
    if (r.why.rule == "memory") {
      r.memory = models::memory_of(cluster_.job_of(r.strategy), r.strategy, profile_);
      r.why.message = memory_message(*r.memory, job.cluster.instance.traits.accelerator);
      if (r.strategy.pipeline_parallel > 1) r.why.message = "with even cuts " + r.why.message;
      if (r.memory->fits() && r.memory->fit_probability < fit_probability_) {
        r.why.message = fmt::format("only {:.0f} % likely to fit, {:.0f} % is asked for: {}",
                                    100 * r.memory->fit_probability, 100 * fit_probability_, r.why.message);
      }
      r.why.fix = memory_fix(legal_, r.strategy);
    } else if (r.why.rule == "replica-group") {
      const topology::GroupVerdict& group = *cluster_.verdict(*kept.candidate).offending;
      r.why.fix = layout_fix(job, r.strategy, group);
      r.chips = group.chips;
    }
  }

  std::string layout_fix(const Job& job, const Strategy& s, const topology::GroupVerdict& offending) {
    const Candidate* near =
        legal_.best([&](const Strategy& o) { return o.pipeline_parallel == s.pipeline_parallel; });
    if (near == nullptr) near = legal_.best([](const Strategy&) { return true; });
    if (near == nullptr) return replica_group_fix(job, cluster_.graph(), s, offending);
    return "use " + strategy_grammar(job, near->strategy);
  }

  bool is_smallest(const Strategy& s) const {
    const Job& job = cluster_.job();
    const bool could_use_sp =
        s.tensor_parallel > 1 && job.training.sequence / s.context_parallel % s.tensor_parallel == 0;
    return (s.micro_batch == 1 || job.pin.micro_batch) &&
           (s.virtual_pipeline == 1 || job.pin.virtual_pipeline) &&
           (s.sequence_parallel || !could_use_sp || job.pin.sequence_parallel);
  }

  Candidates& cluster_;
  Legal legal_;
  const models::Profile& profile_;
  double fit_probability_;
  const Plan* winner_;
  const Stop& stop_;
  Job of_batch_;  ///< with the batch of the current strategy
  models::ComputeBounds bounds_;
  std::array<Judged, kKindsOfRecompute> judged_;  ///< the last one of each kind
  std::map<Key, Kept> kept_;
  std::map<Layout, Seconds> fastest_;  ///< of those kept for their groups
};

/// Smallest number of nodes that suffices: doubles them until something fits, then tries eighths below.
int more_nodes(const Job& wanted, const models::Profile& profile, bool accept_doubt, double fit_probability,
               const Target* target, const Stop& stop) {
  Job job = wanted;
  job.pin.data_parallel.reset();
  const auto resize = [](Job& j, int nodes) {
    j.cluster.nodes = nodes;
    if (j.space.batch_per_node > 0) j.training.global_batch = j.space.batch_per_node * nodes;
  };
  for (int nodes = wanted.cluster.nodes * 2; nodes / 2 < topology::kMostNodes; nodes *= 2) {
    resize(job, std::min(nodes, topology::kMostNodes));
    if (stop && stop()) return 0;
    if (!feasible(job, profile, accept_doubt, fit_probability, target, stop)) continue;
    const int floor = nodes / 2;
    for (int eighth = 1; eighth < 8; ++eighth) {
      Job smaller = job;
      resize(smaller, floor + floor * eighth / 8);
      if (smaller.cluster.nodes > floor && smaller.cluster.nodes < job.cluster.nodes &&
          feasible(smaller, profile, accept_doubt, fit_probability, target, stop)) {
        return smaller.cluster.nodes;
      }
    }
    return job.cluster.nodes;
  }
  return 0;
}

/// The global batch nearest to the user's for which a strategy becomes legal that has no other fault; 0 if
/// none of the nearest few hundred is.
int nearest_batch(Candidates& cluster, const models::Profile& profile, bool accept_doubt,
                  double fit_probability, const Stop& stop) {
  constexpr std::size_t kMostTried = 300;
  const Job& job = cluster.job();
  const std::int64_t wanted = job.training.global_batch;
  std::set<std::pair<std::int64_t, std::int64_t>> batches;  // by distance, the smaller of two
  for (const Candidate& c : cluster.all) {
    if (c.feasibility != Feasibility::refused) continue;
    if (stop && stop()) return 0;
    const std::vector<Violation> broken = rule_violations(job, c.strategy, cluster.target());
    if (broken.size() != 1 || broken.front().rule != "batch") continue;
    const std::int64_t slice = saturating_product({c.strategy.micro_batch, c.strategy.data_parallel});
    const std::int64_t below = wanted / slice * slice;
    for (const std::int64_t batch : {below, below == 0 ? slice : below + slice}) {
      if (batch >= 1 && batch <= kLargestBatch) batches.emplace(std::abs(batch - wanted), batch);
    }
  }
  std::vector<int> order;
  for (const auto& [distance, batch] : batches) {
    if (order.size() < kMostTried) order.push_back(static_cast<int>(batch));
  }
  return first_feasible_batch(job, profile, accept_doubt, fit_probability, order, cluster.target(), stop);
}

}  // namespace

bool same_layout(const Strategy& a, const Strategy& b) {
  return a.tensor_parallel == b.tensor_parallel && a.pipeline_parallel == b.pipeline_parallel &&
         a.data_parallel == b.data_parallel && a.context_parallel == b.context_parallel;
}

bool same_experts(const Strategy& a, const Strategy& b) {
  return a.expert_parallel == b.expert_parallel &&
         models::expert_tensor_degree(a) == models::expert_tensor_degree(b);
}

Refusals near_misses_of(Candidates& cluster, const models::Profile& profile, double fit_probability,
                        const Plan* winner, const Stop& stop) {
  return NearMisses(cluster, profile, fit_probability, winner, stop).collect();
}

Infeasible why_nothing(Candidates& cluster, const models::Profile& profile, bool accept_doubt,
                       double fit_probability, const Stop& stop) {
  Infeasible why;
  const Job& job = cluster.job();
  std::map<std::pair<std::string, bool>, std::pair<RuleCount, const Candidate*>> rules;
  for (const Candidate& c : cluster.all) {
    if (stop && stop()) break;
    if (c.feasibility == Feasibility::refused || c.feasibility == Feasibility::doubtful) {
      const std::vector<Violation> broken = cluster.violations(c);
      const auto [it, fresh] = rules.try_emplace({broken.front().rule, broken.front().doubtful},
                                                 RuleCount{0, c.strategy, broken.front()}, &c);
      ++it->second.first.strategies;
    }
    if (c.feasibility != Feasibility::too_large && c.feasibility != Feasibility::doubtful) continue;
    const Memory memory = models::memory_of(cluster.job_of(c.strategy), c.strategy, profile);
    if (memory.worst().peak() <= cluster.limit()) continue;
    if (why.memory && why.memory->worst().peak() <= memory.worst().peak()) continue;
    why.closest = c.strategy;
    why.memory = memory;
  }
  for (auto& [name, counted] : rules) {
    auto& [count, candidate] = counted;
    if (name.second) {
      count.why.fix = "--allow-doubtful includes them";
    } else if (name.first == "replica-group") {
      count.why.fix =
          replica_group_fix(job, cluster.graph(), count.example, *cluster.verdict(*candidate).offending);
    }
    why.rules.push_back(std::move(count));
  }
  std::stable_sort(why.rules.begin(), why.rules.end(),
                   [](const RuleCount& a, const RuleCount& b) { return a.strategies > b.strategies; });
  if (stop && stop()) return why;
  if (why.closest)
    why.nodes_that_would_do = more_nodes(job, profile, accept_doubt, fit_probability, cluster.target(), stop);
  why.nearest_batch = nearest_batch(cluster, profile, accept_doubt, fit_probability, stop);
  return why;
}

}  // namespace trnplan::planner
