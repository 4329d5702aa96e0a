// The two doors to numbers and advice: the prediction of one strategy of a resolved job, and the
// recommendation.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/resolve.h"
#include "api/risk.h"
#include "planner/check/judge.h"
#include "planner/confidence/compared_jobs.h"
#include "planner/confidence/recommendation.h"
#include "planner/search/search.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Prediction of one strategy.
struct Prediction {
  StackRef stack;   ///< that runs it
  models::Job job;  ///< the stack's, with the strategy's precision
  planner::Judgement judgement;
  planner::Outlook outlook;  ///< of the plan, if there is one; its interval is already widened
};

/// Another stack that was searched, represented by its recommended plan.
struct OtherStack {
  std::string name;
  planner::Plan plan;
  bool written = true;  ///< false: no target can write its config
  /// Ranked plans, as of the recommended stack; `plan` is at index `recommended`.
  std::vector<planner::Plan> plans = {};
  std::size_t recommended = 0;
  std::vector<planner::Outlook> outlooks = {};
};

/// The recommended stack and its plans.
struct Recommendation {
  StackRef stack;  ///< stack of these plans
  /// Search of the stack: intervals of plans are widened by their outlooks, clusters have the plan of any stack.
  planner::SearchResult search;
  std::vector<planner::Outlook> outlooks;  ///< of search.plans
  std::vector<OtherStack> others;          ///< that also have a plan
  /// True if a target writes the recommended plan's config.
  [[nodiscard]] bool is_written() const;
};

/// Keeps a reference to the resolved job. Any number of threads may use it: known runs are read once.
class Predictor {
 public:
  explicit Predictor(const ResolvedJob& resolved,
                     planner::RiskAttitude attitude = planner::RiskAttitude::neutral, double sure = 0.9)
      : resolved_(resolved), attitude_(attitude), sure_(sure) {}

  /// `at`: the resolved job on the strategy's cluster. Cost: one simulation.
  [[nodiscard]] Prediction predict(const models::Job& at, const models::Strategy& strategy) const;

  /// Searches each stack, and recommends among their best plans the one with the highest expected value,
  /// preferring those whose config can be written. `at`: the resolved job on one cluster, or on its open
  /// ones. Sets target and advisor of the options. Cost: a search per stack.
  [[nodiscard]] Recommendation recommend(const models::Job& at, const planner::SearchOptions& options) const;

  /// Adds to a plan the nearest published job.
  void tell_nearest(planner::Plan& plan, const ResolvedStack& of) const;

  /// Adds to a plan the probability that it works, and widens its interval by its distance from known runs.
  void tell_risk(planner::Plan& plan, const ResolvedStack& of) const;

  [[nodiscard]] const planner::RecommendingParameters& parameters(const topology::Instance& machine) const;

 private:
  [[nodiscard]] const KnownRisk& risk(const topology::Instance& machine) const;
  [[nodiscard]] const planner::ComparedJobs& compared_jobs(const topology::Instance& machine) const;
  [[nodiscard]] Recommendation search(const StackRef& stack, planner::SearchOptions options) const;

  const ResolvedJob& resolved_;
  planner::RiskAttitude attitude_;
  double sure_;
  mutable std::mutex guard_;                                    ///< of the two maps
  mutable std::map<bool, KnownRisk> risks_;                     ///< with runs on GPUs, and without
  mutable std::map<std::string, planner::ComparedJobs> known_;  ///< by the profile's name
};

}  // namespace trnplan::api
