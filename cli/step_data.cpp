#include "cli/step_data.h"

#include <algorithm>

#include "calibrate/measured_collectives.h"
#include "io/document.h"

namespace trnplan::cli {

namespace {

constexpr const char* kInstance = "trn1.32xlarge";
constexpr const char* kBuild = "2023-04";

}  // namespace

std::unique_ptr<StepData> step_data(const io::Catalog& catalog, const std::vector<models::MeasuredRun>& runs,
                                    const std::vector<calibrate::MeasuredCollective>& points,
                                    const models::Profile& prior,
                                    const std::function<void(calibrate::MappedRuns&)>& add) {
  auto data = std::make_unique<StepData>();
  const topology::Instance instance = catalog.instance(kInstance);
  data->runs = calibrate::map_runs(runs, instance);
  if (add) add(data->runs);
  data->bench = std::make_unique<calibrate::StepBench>(data->runs.steps);
  std::vector<calibrate::MeasuredCollective> chosen =
      points.empty() ? points : calibrate::select_points(points, instance, prior).points;
  std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  if (!chosen.empty()) {
    data->collectives = std::make_unique<calibrate::CollectiveBench>(std::move(chosen), instance);
  }
  return data;
}

std::vector<calibrate::MeasuredCollective> catalogue_points(const io::Catalog& catalog) {
  constexpr const char* kFile = "measured-collectives.csv";
  auto points = calibrate::parse_measured_collectives(io::read_text(catalog.file(kFile)), kFile);
  std::erase_if(points, [](const auto& p) { return p.build != kBuild; });
  return points;
}

models::Profile prior_of(const io::Catalog& catalog, const models::Profile& profile) {
  return profile.calibration == nullptr ? profile : catalog.profile(profile.calibration->prior);
}

}  // namespace trnplan::cli
