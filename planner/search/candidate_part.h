// What the strategies of a cluster share while they are sorted out: whether one is legal and fits, and its bound.
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
#include "models/parameters/profile.h"
#include "models/step/step_bound.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"
#include "planner/search/candidates.h"
#include "topology/chip_graph.h"
#include "topology/verdict.h"

namespace trnplan::planner {

/// What strategies of one tensor- and context-parallel degree share, or as many of them as a thread gets. One
/// thread at a time. Keeps references to its arguments.
class CandidatePart {
 public:
  /// `target` null: everything can be expressed; `beyond_target`: nothing can, then its rules alone hold.
  CandidatePart(const models::Job& job, const models::Profile& profile, const topology::ChipGraph& graph,
                double fit_probability, const Target* target, bool beyond_target);

  /// What was remembered; it is found again where it is asked for.
  void forget();

  void classify(Candidate& c, bool accept_doubt);
  /// All but the bound.
  Feasibility feasibility_of(const models::Strategy& s, bool accept_doubt);
  /// With that global batch some strategy is legal and fits. Other strategies' verdicts stay known.
  bool feasible(int batch, bool accept_doubt, const std::function<bool()>& stop);

  void refine(Candidate& c, Bytes limit);
  Seconds bound(const models::Strategy& s);
  bool fits(const models::Strategy& s, Bytes limit);
  std::vector<Violation> violations(const models::Strategy& s);
  const topology::PlacementVerdict& verdict_of(const models::Strategy& s);

  Bytes limit() const { return limit_; }

 private:
  /// What is remembered of strategies is found by these parts of them.
  struct Keys {
    std::array<int, 5> groups;                                        ///< degrees whose groups are judged
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
  std::vector<int> most_layers(const models::Strategy& s, Bytes limit) const;

  struct Judged {
    models::Strategy strategy;
    int batch = 0;
    std::optional<bool> broken;  ///< absent: none was judged
  };

  const models::Job& given_;
  models::Job job_;  ///< with the batch of the strategy at hand
  const models::Profile& profile_;
  const topology::ChipGraph& graph_;
  Bytes limit_;
  models::FitTest fit_;
  const Target* target_;
  bool beyond_target_;
  std::array<Judged, 2> judged_;                ///< the last one, plain and flash
  std::unique_ptr<models::StepBounds> bounds_;  ///< made when it is asked for
  std::map<decltype(Keys::groups), topology::PlacementVerdict> verdicts_;
  std::map<std::pair<decltype(Keys::chunks), int>, std::vector<models::Residency>> residencies_;
};

}  // namespace trnplan::planner
