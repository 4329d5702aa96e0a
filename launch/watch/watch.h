// Comparison of a run in progress with its plan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/input/plan_file.h"
#include "io/output/watch_json.h"
#include "launch/watch/advice.h"
#include "launch/watch/alarms.h"
#include "launch/watch/run_log.h"
#include "launch/watch/watched_log.h"
#include "models/parameters/profile.h"

namespace trnplan::launch {

/// References for a log; every part may be absent.
struct WatchContext {
  std::optional<io::PlanFile> plan;
  /// Profile of the plan's prediction, which times its step in scenarios; null if there is none.
  std::shared_ptr<const models::Profile> profile;
  RanPlan ran;  ///< for advice on failures
  std::string state;
  std::optional<double> silent;  ///< s since the last step, of a run in progress
};

/// Makes the times of the run those of whole steps, from one to the next, where the log shows that they are longer than
/// the step times in it: by its clock, or by the throughput, for the batch of the plan. A log of another job stays.
/// Steps of a batch that grows are made those of a whole one before: take_whole_batch().
void take_whole_steps(LogReading& reading, const std::optional<io::PlanFile>& plan);

/// Reports progress, step time against the plan, alarms, memory, interruptions, goodput, remaining time,
/// money, and failures with advice. `reading`: with take_whole_steps(); `advice`: advise() on its failures.
///
/// goodput = steps that count and change the weights x median step of their stretch / wall time
/// (launch/watch/progress.h). ETA: remaining steps x median of the pace x wall time / time of the steps that count,
/// without the compiling and loading of the first start, which is not repeated; none if the run learns nothing. Money:
/// the plan's price; in total with the steps before the log, at the median step. Cost: linear in the steps,
/// except for sorting them.
io::WatchReport watch(const LogReading& reading, const std::vector<Advice>& advice, const std::string& name,
                      const WatchContext& context);

/// The same for a whole text. Cost: linear in it, and a search for each failure that a plan can avoid.
io::WatchReport watch(std::string_view text, const std::string& name, const WatchContext& context,
                      const models::Profile& profile, const FindPlans& find);

}  // namespace trnplan::launch
