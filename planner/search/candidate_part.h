// State that the strategies of a cluster share during classification: legality, fit and bound of each.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/job/job.h"
#include "models/memory/fit_probability.h"
#include "models/memory/memory.h"
#include "models/memory/stage_memories.h"
#include "models/parameters/profile.h"
#include "models/step/step_bound.h"
#include "planner/check/rules.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"
#include "planner/search/candidates.h"
#include "topology/chip_graph.h"
#include "topology/verdict.h"

namespace trnplan::planner {

/// State that strategies of one tensor- and context-parallel degree share, or the subset of them that a
/// thread gets. For one thread at a time. Keeps references to its arguments.
class CandidatePart {
 public:
  /// `target` null: everything can be expressed; `beyond_target`: nothing can be expressed, and of the
  /// target only its rules apply.
  CandidatePart(const models::Job& job, const models::Profile& profile, const topology::ChipGraph& graph,
                double fit_probability, const Target* target, bool beyond_target);

  /// Drops the caches; their values are computed again on demand.
  void forget();

  void classify(Candidate& c, bool accept_doubt);
  /// Classifies a strategy without its bound.
  Feasibility feasibility_of(const models::Strategy& s, bool accept_doubt);
  /// True if some strategy with that global batch is legal and fits. Cached verdicts of other strategies
  /// stay.
  bool feasible(int batch, bool accept_doubt, const std::function<bool()>& stop);

  void refine(Candidate& c, Bytes limit);
  Seconds bound(const models::Strategy& s);
  /// The time of a strategy with its own cuts, without contention.
  Seconds bound_of_cuts(const models::Strategy& s);
  bool fits(const models::Strategy& s, Bytes limit);
  /// False only if fits() is; costs less.
  bool may_fit(const models::Strategy& s, Bytes limit);
  std::vector<Violation> violations(const models::Strategy& s);
  const topology::PlacementVerdict& verdict_of(const models::Strategy& s);

  Bytes limit() const { return limit_; }

 private:
  /// Parts of a strategy by which cached values are found.
  struct Keys {
    std::array<int, 5> groups;  ///< degrees of the groups that are judged
    std::tuple<int, int, models::Schedule, std::vector<int>> chunks;  ///< of layers
  };
  static Keys keys_of(const models::Strategy& s);

  void choose_cuts(Candidate& c, Bytes limit);
  models::StepBounds& bounds();
  bool has_free_cuts(const models::Strategy& s) const;
  bool is_against_the_rules(const models::Strategy& s);
  void use_batch_of(const models::Strategy& s);
  int micro_batches(const models::Strategy& s) const { return models::micro_batches(job_.training, s); }
  bool fits(const models::StageMemory& m, Bytes limit) const { return fit_.fits(m, limit); }
  const std::vector<models::Residency>& residencies(const models::Strategy& s, int m);
  /// Layers of stages, known to fit on each stage below `failed` and not on that one.
  struct Tried {
    std::vector<int> layers;
    int failed = 0;
  };
  std::vector<int> most_layers(const models::Strategy& s, Bytes limit, const Tried* tried = nullptr);

  struct Judged {
    models::Strategy strategy;
    int batch = 0;
    std::optional<bool> broken;  ///< absent: none was judged
  };

  const models::Job& given_;
  models::Job job_;  ///< with the batch of the current strategy
  const models::Profile& profile_;
  const topology::ChipGraph& graph_;
  Bytes limit_;
  models::FitTest fit_;
  models::StageMemories memory_;
  const Target* target_;
  bool beyond_target_;
  std::array<Judged, kKindsOfRecompute> judged_;  ///< the last one of each kind
  std::unique_ptr<models::StepBounds> bounds_;    ///< made on demand
  std::map<decltype(Keys::groups), topology::PlacementVerdict> verdicts_;
  const decltype(verdicts_)::value_type* last_verdict_ = nullptr;  ///< the last one asked for
  std::map<std::pair<decltype(Keys::chunks), int>, std::vector<models::Residency>> residencies_;
};

}  // namespace trnplan::planner
