#include "cli/step_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/context.h"
#include "logs/table/measured_collectives.h"
#include "text/document.h"

namespace trnplan::cli {

namespace {

constexpr const char* kInstance = "trn1.32xlarge";
constexpr const char* kBuild = "2023-04";

}  // namespace

std::unique_ptr<StepData> step_data(const io::Catalog& catalog, const std::vector<models::MeasuredRun>& runs,
                                    const std::vector<logs::MeasuredCollective>& points,
                                    const models::Profile& prior,
                                    const std::function<void(calibrate::MappedRuns&)>& add) {
  auto data = std::make_unique<StepData>();
  const topology::Instance instance = catalog.instance(kInstance);
  data->runs = calibrate::map_runs(runs, instance);
  const auto guessed = std::count_if(data->runs.steps.begin(), data->runs.steps.end(),
                                     [](const auto& step) { return step.framework_guessed; });
  if (guessed > 0) {
    remark(fmt::format(
        "no column framework: what trained is guessed of {} run{} from model, source, precision and sequence "
        "parallel; a column framework (bert, megatron, nemo-megatron, nxd, nxdt) says it",
        guessed, guessed == 1 ? "" : "s"));
  }
  if (add) add(data->runs);
  data->bench = std::make_unique<calibrate::StepBench>(data->runs.steps);
  calibrate::Selection selection;
  if (!points.empty()) selection = calibrate::select_points(points, instance, prior);
  data->left_out = std::move(selection.left_out);
  std::vector<logs::MeasuredCollective> chosen = std::move(selection.points);
  std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  if (!chosen.empty()) {
    data->collectives = std::make_unique<calibrate::CollectiveBench>(std::move(chosen), instance);
  }
  return data;
}

std::vector<logs::MeasuredCollective> catalogue_points(const io::Catalog& catalog) {
  constexpr const char* kFile = "measured-collectives.csv";
  auto points = logs::parse_measured_collectives(read_text(catalog.file(kFile)), kFile);
  std::erase_if(points, [](const auto& p) { return p.build != kBuild || !p.left_out.empty(); });
  return points;
}

models::Profile prior_of(const io::Catalog& catalog, const models::Profile& profile) {
  return profile.calibration == nullptr ? profile : catalog.profile(profile.calibration->prior);
}

}  // namespace trnplan::cli
