#include "calibrate/session/run_validation.h"

#include <set>
#include <string>

namespace trnplan::calibrate {

RunValidation validate_runs(const Published& published,
                            const std::optional<std::vector<models::MeasuredRun>>& asked,
                            const models::Profile& profile, LeaveOut leave_out, Remarks& remarks) {
  std::vector<models::MeasuredRun> runs = asked.value_or(published.runs);
  std::set<std::string> ids;
  for (const auto& run : runs) ids.insert(run.id);
  if (asked) {
    for (const auto& run : published.runs) {
      if (!ids.contains(run.id)) runs.push_back(run);
    }
  }
  const models::Profile prior = prior_of(published, profile);
  RunValidation out;
  out.data = step_data(published, runs, published.points, prior, remarks);
  const auto score = [&](const MeasuredStep& s) { return ids.contains(s.id); };
  const models::Profile& start = leave_out == LeaveOut::none ? profile : prior;
  const CollectiveBench* collectives = out.data->collectives.get();
  out.validation = validate_steps(*out.data->bench, collectives, start, leave_out, {}, score);
  if (leave_out != LeaveOut::none) {
    StepFitOptions without;
    without.stacks = false;
    out.without_stacks = validate_steps(*out.data->bench, collectives, start, leave_out, without, score);
  }
  out.excluded = out.data->runs.excluded;
  std::erase_if(out.excluded, [&](const auto& e) { return !ids.contains(e.id); });
  return out;
}

}  // namespace trnplan::calibrate
