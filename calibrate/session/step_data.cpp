#include "calibrate/session/step_data.h"

#include <algorithm>

#include <fmt/format.h>

namespace trnplan::calibrate {

std::unique_ptr<StepData> step_data(const Published& published, const std::vector<models::MeasuredRun>& runs,
                                    const std::vector<logs::MeasuredCollective>& points,
                                    const models::Profile& prior, Remarks& remarks,
                                    const std::function<void(MappedRuns&)>& add) {
  auto data = std::make_unique<StepData>();
  const topology::Instance& instance = published.instance;
  data->runs = map_runs(runs, instance, published.reading);
  const auto guessed = std::count_if(data->runs.steps.begin(), data->runs.steps.end(),
                                     [](const auto& step) { return step.framework_guessed; });
  if (guessed > 0) {
    remarks.add(fmt::format(
        "no column framework: the stack of {} run{} is guessed from model, source, precision and sequence "
        "parallel; a column framework (bert, megatron, nemo-megatron, nxd, nxdt) states it",
        guessed, guessed == 1 ? "" : "s"));
  }
  if (add) add(data->runs);
  data->bench = std::make_unique<StepBench>(data->runs.steps);
  Selection selection;
  if (!points.empty()) selection = select_points(points, instance, prior);
  data->left_out = std::move(selection.left_out);
  std::vector<logs::MeasuredCollective> chosen = std::move(selection.points);
  std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  if (!chosen.empty()) {
    data->collectives = std::make_unique<CollectiveBench>(std::move(chosen), instance);
  }
  return data;
}

models::Profile prior_of(const Published& published, const models::Profile& profile) {
  return profile.calibration == nullptr ? profile : published.profile(profile.calibration->prior);
}

}  // namespace trnplan::calibrate
