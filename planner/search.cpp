#include "planner/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "planner/judge.h"
#include "planner/rules.h"
#include "planner/space.h"

namespace trnplan::planner {

using models::Job;
using models::Memory;
using models::Strategy;
using topology::Verdict;

namespace {

double gib(Bytes b) {
  return in_gibibytes(b);
}

/// Verdicts of a job's layouts; a layout is its degrees.
class Verdicts {
 public:
  Verdicts(const Job& job, const topology::ChipGraph& graph) : job_(job), graph_(graph) {}

  const topology::PlacementVerdict& of(const Strategy& s) {
    const std::array<int, 4> key = {s.tensor_parallel, s.context_parallel, s.data_parallel,
                                    s.pipeline_parallel};
    const auto [it, fresh] = known_.try_emplace(key);
    if (fresh) it->second = placement_verdict(job_, s, graph_);
    return it->second;
  }

 private:
  const Job& job_;
  const topology::ChipGraph& graph_;
  std::map<std::array<int, 4>, topology::PlacementVerdict> known_;
};

constexpr std::int64_t kLargestBatch = 1'000'000'000;

enum class Fate { legal, refused, doubtful, too_large };

struct Candidate {
  Strategy strategy;
  Fate fate = Fate::legal;
  std::vector<Violation> violations;
  std::optional<Memory> memory;  ///< when no rule about numbers is broken
  Seconds bound{};
};

/// The user asked for exactly this layout, so its doubts are his.
bool layout_is_pinned(const Job& job) {
  return job.pin.tensor_parallel && (job.pin.pipeline_parallel || job.pin.data_parallel);
}

/// True when every rule broken is one of `rules`.
bool breaks_only(const Candidate& c, std::initializer_list<std::string_view> rules) {
  return std::all_of(c.violations.begin(), c.violations.end(), [&](const Violation& v) {
    return std::find(rules.begin(), rules.end(), v.rule) != rules.end();
  });
}

/// Only rules that leave a meaningful program have a time to be tempted by.
bool has_meaningful_time(const Candidate& c) {
  return c.fate == Fate::too_large ||
         breaks_only(c, {"replica-group", "pipeline-parity", "vocabulary", "tied-embeddings"});
}

Candidate classify(const Job& job, const models::Profile& profile, const Strategy& s, Verdicts& verdicts,
                   bool accept_doubt) {
  Candidate c{s, Fate::legal, rule_violations(job, s), std::nullopt, {}};
  if (auto missing = not_modelled(job, s)) c.violations.push_back(std::move(*missing));
  if (!c.violations.empty()) {
    c.fate = Fate::refused;
    if (breaks_only(c, {"batch", "pipeline-parity", "vocabulary", "tied-embeddings"})) {
      c.memory = models::memory_of(job, s, profile);
    }
    return c;
  }
  c.memory = models::memory_of(job, s, profile);
  c.violations = replica_group_violation(verdicts.of(s));
  if (!c.violations.empty() && !(c.violations.front().doubtful && accept_doubt)) {
    c.fate = c.violations.front().doubtful ? Fate::doubtful : Fate::refused;
    return c;
  }
  if (!c.memory->fits()) c.fate = Fate::too_large;
  return c;
}

bool same_layout(const Strategy& a, const Strategy& b) {
  return a.tensor_parallel == b.tensor_parallel && a.pipeline_parallel == b.pipeline_parallel &&
         a.data_parallel == b.data_parallel && a.context_parallel == b.context_parallel;
}

/// Of the strategies that are legal and fit, the fastest by bound that satisfies `like`.
template <class Like>
const Candidate* best_legal(const std::vector<Candidate>& all, Like&& like) {
  const Candidate* best = nullptr;
  for (const Candidate& c : all) {
    if (c.fate != Fate::legal || !like(c.strategy)) continue;
    if (best == nullptr || c.bound < best->bound) best = &c;
  }
  return best;
}

std::string memory_fix(const std::vector<Candidate>& all, const Strategy& s) {
  const Candidate* near = best_legal(all, [&](const Strategy& o) { return same_layout(o, s); });
  if (near == nullptr) return "no recompute policy makes this layout fit: raise TP or PP";
  return fmt::format("recompute {} at micro-batch {} needs {:.1f} GiB", to_string(near->strategy.recompute),
                     near->strategy.micro_batch, gib(near->memory->worst().peak()));
}

std::string layout_fix(const Job& job, const topology::ChipGraph& graph, const std::vector<Candidate>& all,
                       const Strategy& s, const topology::GroupVerdict& offending) {
  const Candidate* near =
      best_legal(all, [&](const Strategy& o) { return o.pipeline_parallel == s.pipeline_parallel; });
  if (near == nullptr) near = best_legal(all, [](const Strategy&) { return true; });
  if (near != nullptr) {
    const Strategy& n = near->strategy;
    return fmt::format("use TP {} x PP {} x DP {} with recompute {}", n.tensor_parallel, n.pipeline_parallel,
                       n.data_parallel, to_string(n.recompute));
  }
  return replica_group_fix(job, graph, s, offending);
}

class Search {
 public:
  Search(const Job& job, const models::Profile& profile, const SearchOptions& options)
      : job_(job),
        profile_(profile),
        options_(options),
        graph_(job.cluster.instance),
        verdicts_(job, graph_),
        accept_doubt_(options.allow_doubtful || layout_is_pinned(job)) {}

  SearchResult run() {
    classify_all();
    simulate_best_first();
    collect_refusals();
    if (result_.plans.empty()) explain();
    return std::move(result_);
  }

 private:
  void classify_all() {
    for (const Strategy& s : enumerate(job_)) {
      candidates_.push_back(classify(job_, profile_, s, verdicts_, accept_doubt_));
      Candidate& c = candidates_.back();
      if (c.fate == Fate::legal) find_bound(c);
      ++result_.counts.enumerated;
      if (c.fate == Fate::refused || c.fate == Fate::doubtful) ++result_.counts.refused;
      if (c.fate == Fate::too_large) ++result_.counts.too_large;
    }
  }

  void find_bound(Candidate& c) const {
    try {
      c.bound = bound(c.strategy);
    } catch (const std::overflow_error&) {
      c.fate = Fate::refused;
      c.violations.push_back(beyond_the_clock());
    }
  }

  Seconds bound(const Strategy& s) const {
    return models::StepModel(job_, s, profile_, graph_).lower_bound();
  }

  static bool better(const Plan& a, const Plan& b) {
    return std::tie(a.report.step, a.strategy) < std::tie(b.report.step, b.strategy);
  }

  /// Simulates once; later calls look it up.
  const Plan& plan_of(const Candidate& c) {
    const auto known = simulated_.find(c.strategy);
    if (known != simulated_.end()) return known->second;
    Plan plan = make_plan(job_, c.strategy, profile_, graph_);  // may throw: nothing is remembered then
    plan.doubts = c.violations;
    for (Violation& v : plan.doubts) v.fix = group_fix(c.strategy);
    return simulated_.emplace(c.strategy, std::move(plan)).first->second;
  }

  /// The `most` best of `open`, which is in order of bounds: simulates until no bound can beat the worst of
  /// them.
  std::vector<Plan> best_of(const std::vector<const Candidate*>& open, std::size_t most) {
    std::vector<Plan> best;
    for (const Candidate* c : open) {
      if (best.size() == most && c->bound > best.back().report.step) break;
      Plan plan;
      try {
        plan = plan_of(*c);
      } catch (const std::overflow_error&) {
        continue;  // beyond the simulation clock, and so beyond every other plan
      }
      best.insert(std::upper_bound(best.begin(), best.end(), plan, better), std::move(plan));
      if (best.size() > most) best.pop_back();
    }
    return best;
  }

  void simulate_best_first() {
    std::vector<const Candidate*> open;
    for (const Candidate& c : candidates_) {
      if (c.fate == Fate::legal) open.push_back(&c);
    }
    std::stable_sort(open.begin(), open.end(),
                     [](const Candidate* a, const Candidate* b) { return a->bound < b->bound; });
    result_.plans = best_of(open, static_cast<std::size_t>(std::max(1, options_.top)));

    std::vector<std::vector<const Candidate*>> layouts;
    for (const Candidate* c : open) {
      const auto same = std::find_if(layouts.begin(), layouts.end(), [&](const auto& layout) {
        return same_layout(layout.front()->strategy, c->strategy);
      });
      if (same != layouts.end()) {
        same->push_back(c);
      } else if (static_cast<int>(layouts.size()) < options_.layouts) {
        layouts.push_back({c});
      }
    }
    for (const auto& layout : layouts) {
      for (Plan& plan : best_of(layout, 1)) result_.layouts.push_back(std::move(plan));
    }
    std::sort(result_.layouts.begin(), result_.layouts.end(), better);
    result_.counts.simulated = static_cast<int>(simulated_.size());
    result_.counts.bounded = static_cast<int>(open.size()) - result_.counts.simulated;
  }

  /// Those whose bound beats the winner. One entry per layout and rule; for memory per recompute policy too,
  /// at the smallest micro-batch and with SP. The rest breaks the same rule by more.
  void collect_refusals() {
    std::map<std::tuple<int, int, int, int, std::string, std::string>, Refusal> kept;
    for (const Candidate& c : candidates_) {
      if (c.fate == Fate::legal || !has_meaningful_time(c)) continue;
      if (c.fate != Fate::too_large && c.memory && !c.memory->fits()) continue;  // would not fit anyway
      if (c.fate == Fate::too_large && !is_smallest(c.strategy)) continue;
      Refusal r;
      try {
        r = refusal_of(c);
      } catch (const std::overflow_error&) {
        continue;  // beyond the simulation clock: not tempting
      }
      if (!result_.plans.empty() && r.lower_bound >= result_.plans.front().report.step) continue;
      const Strategy& s = c.strategy;
      const std::string policy = c.fate == Fate::too_large ? to_string(s.recompute) : "";
      const auto [it, fresh] = kept.try_emplace(
          {s.tensor_parallel, s.pipeline_parallel, s.data_parallel, s.context_parallel, r.why.rule, policy},
          r);
      if (!fresh && r.lower_bound < it->second.lower_bound) it->second = r;
    }
    for (auto& [key, r] : kept) (r.why.doubtful ? result_.doubtful : result_.refused).push_back(std::move(r));
    const auto order = [](const Refusal& a, const Refusal& b) {
      const auto peak = [](const Refusal& r) { return r.memory ? r.memory->worst().peak() : Bytes(0); };
      return std::tuple(peak(a), a.lower_bound) < std::tuple(peak(b), b.lower_bound);
    };
    std::stable_sort(result_.refused.begin(), result_.refused.end(), order);
    std::stable_sort(result_.doubtful.begin(), result_.doubtful.end(), order);
  }

  std::string group_fix(const Strategy& s) {
    return replica_group_fix(job_, graph_, s, *verdicts_.of(s).offending);
  }

  bool is_smallest(const Strategy& s) const {
    const bool could_use_sp = s.tensor_parallel > 1 && job_.training.sequence % s.tensor_parallel == 0;
    return (s.micro_batch == 1 || job_.pin.micro_batch) &&
           (s.sequence_parallel || !could_use_sp || job_.pin.sequence_parallel);
  }

  Refusal refusal_of(const Candidate& c) {
    Refusal r;
    r.strategy = c.strategy;
    const models::StepModel model(job_, c.strategy, profile_, graph_);
    r.lower_bound = c.fate == Fate::too_large ? model.lower_bound() : model.compute_bound();
    if (c.fate == Fate::too_large) {
      r.memory = c.memory;
      r.why = {"memory", memory_message(*c.memory), memory_fix(candidates_, c.strategy)};
      return r;
    }
    r.why = c.violations.front();
    if (r.why.rule == "replica-group") {
      const topology::GroupVerdict& group = *verdicts_.of(c.strategy).offending;
      r.why.fix = layout_fix(job_, graph_, candidates_, c.strategy, group);
      r.chips = group.chips;
    }
    return r;
  }

  void explain() {
    Infeasible why;
    const Candidate* closest = nullptr;
    std::map<std::string, RuleCount> rules;
    for (const Candidate& c : candidates_) {
      if (!c.violations.empty()) {
        const Violation& first = c.violations.front();
        const auto [it, fresh] = rules.try_emplace(first.rule, RuleCount{0, c.strategy, first});
        ++it->second.strategies;
      }
      if (c.fate == Fate::refused || !c.memory || c.memory->fits()) continue;
      if (closest == nullptr || c.memory->worst().peak() < closest->memory->worst().peak()) closest = &c;
    }
    for (auto& [name, count] : rules) {
      if (name == "replica-group") {
        count.why.fix = group_fix(count.example);
      }
      why.rules.push_back(std::move(count));
    }
    std::stable_sort(why.rules.begin(), why.rules.end(),
                     [](const RuleCount& a, const RuleCount& b) { return a.strategies > b.strategies; });
    if (closest != nullptr) {
      why.closest = closest->strategy;
      why.memory = closest->memory;
      why.nodes_that_would_do = more_nodes();
    }
    why.nearest_batch = nearest_batch();
    result_.infeasible = why;
  }

  bool feasible(const Job& job) const {
    Verdicts verdicts(job, graph_);
    for (const Strategy& s : enumerate(job)) {
      if (classify(job, profile_, s, verdicts, accept_doubt_).fate == Fate::legal) return true;
    }
    return false;
  }

  /// Doubles the nodes until something fits, then looks at eighths below.
  int more_nodes() const {
    Job job = job_;
    job.pin.data_parallel.reset();
    for (int nodes = job_.cluster.nodes * 2; nodes / 2 < topology::kMostNodes; nodes *= 2) {
      job.cluster.nodes = std::min(nodes, topology::kMostNodes);
      if (!feasible(job)) continue;
      const int floor = nodes / 2;
      for (int eighth = 1; eighth < 8; ++eighth) {
        Job smaller = job;
        smaller.cluster.nodes = floor + floor * eighth / 8;
        if (smaller.cluster.nodes > floor && smaller.cluster.nodes < job.cluster.nodes && feasible(smaller)) {
          return smaller.cluster.nodes;
        }
      }
      return job.cluster.nodes;
    }
    return 0;
  }

  /// Looks at layouts whose only fault is the batch.
  int nearest_batch() const {
    const std::int64_t wanted = job_.training.global_batch;
    std::int64_t nearest = 0;
    std::set<std::int64_t> tried;
    for (const Candidate& c : candidates_) {
      if (c.violations.size() != 1 || c.violations.front().rule != "batch") continue;
      const std::int64_t slice = saturating_product({c.strategy.micro_batch, c.strategy.data_parallel});
      const std::int64_t below = wanted / slice * slice;
      for (const std::int64_t batch : {below, below == 0 ? slice : below + slice}) {
        if (batch < 1 || batch > kLargestBatch || !tried.insert(batch).second) continue;
        if (nearest != 0 && std::abs(batch - wanted) >= std::abs(nearest - wanted)) continue;
        Job job = job_;
        job.training.global_batch = static_cast<int>(batch);
        if (feasible(job)) nearest = batch;
      }
    }
    return static_cast<int>(nearest);
  }

  const Job& job_;
  const models::Profile& profile_;
  const SearchOptions& options_;
  topology::ChipGraph graph_;
  Verdicts verdicts_;
  bool accept_doubt_;
  std::vector<Candidate> candidates_;
  std::map<Strategy, Plan> simulated_;
  SearchResult result_;
};

}  // namespace

SearchResult search(const Job& job, const models::Profile& profile, const SearchOptions& options) {
  return Search(job, profile, options).run();
}

}  // namespace trnplan::planner
