// plan: the best strategies of a job, how sure that is, which to take, and the folder that trains with it.
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
  std::string job;                   ///< a path made absolute, or the model
  std::vector<std::string> options;  ///< as they were given
};

struct PlanRequest : Asked {
  std::string out;           ///< folder to write to; empty: nothing is written
  std::string baseline;      ///< an NxDT YAML that runs today; empty: the job's own, if it is one
  int top = 5, threads = 0;  ///< 0 threads: one a core
  double time_limit = 0;     ///< seconds, of the whole call; 0: none
  double fit_probability = 0.9, sure = 0.9;
  planner::RiskAttitude risk = planner::RiskAttitude::neutral;
  bool allow_doubtful = false, force = false;
  JobWords words;                           ///< for measure.sh
  const std::atomic<bool>* stop = nullptr;  ///< may be null; true: the best so far is returned
  std::function<void(const planner::SearchProgress&)> progress;  ///< may be empty; called often
};
/// Files and folders that it reads, and those that it writes but for a report.
[[nodiscard]] std::vector<std::string> paths_of(const PlanRequest& request);

/// What the folder's config or flags say of the whole training, where they are from a recipe of the target's own.
struct WrittenTraining {
  std::int64_t steps = 0;
  double tokens = 0, days = 0;  ///< at the predicted step, without failures
  planner::WrittenLearning learning;
  bool steps_stated = false, rate_stated = false;  ///< by the job; else the recipe's
};

struct PlanResult {
  models::Job job;                 ///< as the stack of the plans trains it
  Stack stack;                     ///< that was chosen
  std::vector<OtherStack> others;  ///< that were searched, too, and have a plan
  models::Profile profile;         ///< what predicted
  planner::SearchResult search;
  Seconds wall{};                             ///< what the search took
  std::optional<targets::Baseline> baseline;  ///< what runs today
  std::string baseline_file;
  planner::Confidence confidence;
  std::vector<planner::Tie> ties;
  std::vector<planner::Outlook> outlooks;   ///< of search.plans; their intervals are widened by these
  std::optional<planner::ForecastRun> run;  ///< where a limit of the run is stated
  bool interrupted = false;
  bool written = false;                     ///< the folder
  std::string script;                       ///< measure.sh in it, where there is one
  std::optional<WrittenTraining> training;  ///< that it describes
  std::optional<InputError> unwritten;      ///< why the folder was not written, though it was asked for
  bool writable = true;                     ///< the target can say the recommended plan
  bool measures = true;                     ///< its folders get a measure.sh where that decides a tie
};

/// Throws InputError for faults of the request and of the files it names, and std::logic_error where what
/// was found breaks an invariant of plans (planner/check/invariants.h).
[[nodiscard]] PlanResult plan(const PlanRequest& request, Remarks& remarks);

}  // namespace trnplan::api
