// plan: the best strategies of a job, their probabilities, the recommended one, and the folder that trains
// with it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/predictor.h"
#include "api/resolve.h"
#include "planner/confidence/experiment.h"
#include "planner/confidence/recommendation.h"
#include "planner/confidence/ties.h"
#include "planner/cost/run_forecast.h"
#include "planner/search/search.h"
#include "targets/nxdt/baseline.h"
#include "targets/registry.h"
#include "text/diagnostic.h"
#include "text/remarks.h"

namespace trnplan::api {

/// The job as words of a command line that may run in another folder.
struct JobWords {
  std::string job;                   ///< an absolute path, or the model
  std::vector<std::string> options;  ///< as given
};

struct PlanRequest : Asked {
  std::string out;           ///< folder to write to; empty = nothing is written
  std::string baseline;      ///< an NxDT YAML in use; empty = the job's own, if it is one
  int top = 5, threads = 0;  ///< 0 threads = one per core
  double time_limit = 0;     ///< seconds, for the whole call; 0 = none
  double fit_probability = 0.9, sure = 0.9;
  planner::RiskAttitude risk = planner::RiskAttitude::neutral;
  bool allow_doubtful = false, force = false;
  std::string price;              ///< of nodes by type, instead of the catalogue's; see stated_prices()
  std::string pricing = "usual";  ///< kind of the prices, as in WhatIfRequest
  JobWords words;                 ///< for measure.sh
  const std::atomic<bool>* stop = nullptr;  ///< may be null; true = return the best so far
  std::function<void(const planner::SearchProgress&)> progress;  ///< may be empty; called often
};
/// Files and folders that it reads, and those that it writes except a report.
[[nodiscard]] std::vector<std::string> paths_of(const PlanRequest& request);

/// Settings of the whole training in the folder's config or flags, if they come from a recipe of the target.
struct WrittenTraining {
  std::int64_t steps = 0;
  double tokens = 0, days = 0;  ///< at the predicted step, without failures
  planner::WrittenLearning learning;
  bool steps_stated = false, rate_stated = false;  ///< by the job; else from the recipe
};

struct PlanResult {
  models::Job job;                 ///< as the plans' stack trains it
  Stack stack;                     ///< that was chosen
  std::vector<OtherStack> others;  ///< other stacks that were searched and have a plan
  models::Profile profile;         ///< of the predictions
  planner::SearchResult search;
  Seconds wall{};                             ///< duration of the search
  std::optional<targets::Baseline> baseline;  ///< the config in use
  std::string baseline_file;
  planner::Confidence confidence;
  std::vector<planner::Tie> ties;
  std::vector<planner::Outlook> outlooks;   ///< of search.plans, with their intervals already widened
  std::optional<planner::ForecastRun> run;  ///< if a limit of the run is stated
  bool interrupted = false;
  bool written = false;                     ///< true if the folder was written
  std::string script;                       ///< its measure.sh, if any
  std::optional<WrittenTraining> training;  ///< that the folder describes
  std::optional<InputError> unwritten;      ///< reason why the requested folder was not written
  bool writable = true;                     ///< a folder can be written for the recommended plan
  bool measures = true;  ///< its folders get a measure.sh if that resolves a tie, or times GPUs
};

/// Throws InputError for faults of the request and of the files that it names, and std::logic_error if a
/// result breaks an invariant of plans (planner/check/invariants.h).
[[nodiscard]] PlanResult plan(const PlanRequest& request, Remarks& remarks);

}  // namespace trnplan::api
