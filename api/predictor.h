// The two doors to numbers and advice: what one strategy of a resolved job does, and which to take.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/resolve.h"
#include "api/risk.h"
#include "planner/check/judge.h"
#include "planner/confidence/known_jobs.h"
#include "planner/confidence/recommendation.h"
#include "planner/search/search.h"
#include "text/remarks.h"

namespace trnplan::api {

/// What one strategy does.
struct Prediction {
  StackRef stack;   ///< that runs it
  models::Job job;  ///< the stack's, with the strategy's precision
  planner::Judgement judgement;
  planner::Outlook outlook;  ///< of the plan, where there is one; its interval is widened by it
};

/// Another stack that was searched, by the plan it recommends.
struct OtherStack {
  std::string name;
  planner::Plan plan;
};

/// What to take.
struct Recommendation {
  StackRef stack;                          ///< whose plans these are
  planner::SearchResult search;            ///< the intervals of its plans are widened by their outlooks
  std::vector<planner::Outlook> outlooks;  ///< of search.plans
  std::vector<OtherStack> others;          ///< that have a plan, too
};

/// Keeps a reference to the resolved job. One thread at a time: what is known to run is read once.
class Predictor {
 public:
  explicit Predictor(const ResolvedJob& resolved,
                     planner::RiskAttitude attitude = planner::RiskAttitude::neutral, double sure = 0.9)
      : resolved_(resolved), attitude_(attitude), sure_(sure) {}

  /// `at`: the resolved job on the cluster that the strategy is of. Cost: one simulation.
  [[nodiscard]] Prediction predict(const models::Job& at, const models::Strategy& strategy) const;

  /// Of each stack the best, and of these the one that is expected to do most, those first whose config can be written.
  /// `at`: the resolved job on one cluster, or on its free ones. Target and advisor of the options are set here. Cost: a
  /// search a stack.
  [[nodiscard]] Recommendation recommend(const models::Job& at, const planner::SearchOptions& options) const;

  /// Says of a plan which known job is nearest.
  void tell_nearest(planner::Plan& plan, const ResolvedStack& of) const;

  /// Says of a plan how surely it works, and widens its interval by its distance from known runs.
  void tell_risk(planner::Plan& plan, const ResolvedStack& of) const;

  [[nodiscard]] const planner::RecommendingParameters& parameters(const topology::Instance& machine) const;

 private:
  [[nodiscard]] const KnownRisk& risk(const topology::Instance& machine) const;
  [[nodiscard]] Recommendation search(StackRef stack, planner::SearchOptions options) const;

  const ResolvedJob& resolved_;
  planner::RiskAttitude attitude_;
  double sure_;
  mutable std::map<bool, KnownRisk> risks_;                  ///< with runs on GPUs, and without
  mutable std::map<std::string, planner::KnownJobs> known_;  ///< by the profile's name
};

}  // namespace trnplan::api
