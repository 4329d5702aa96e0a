// Data for step validation and calibration: published runs and nccom-test points, prepared.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "calibrate/data/run_jobs.h"
#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/step_fit.h"
#include "text/remarks.h"

namespace trnplan::calibrate {

/// Data that a catalogue publishes for fits.
struct Published {
  topology::Instance instance;            ///< instance of its runs and points
  RunReading reading;                     ///< of its runs
  std::vector<models::MeasuredRun> runs;  ///< measured-runs.csv
  /// Points of measured-collectives.csv of one build on `instance`.
  std::vector<logs::MeasuredCollective> points;
  models::CalibrationFile runs_file, points_file;
  std::function<models::Profile(const std::string&)> profile;  ///< by its name; throws InputError
};

/// Steps and points of one fit. Not to be moved: the bench refers to its runs.
struct StepData {
  MappedRuns runs;
  std::unique_ptr<StepBench> bench;
  std::unique_ptr<CollectiveBench> collectives;  ///< null: none
  std::vector<LeftOut> left_out;                 ///< of the points
};

/// Data of `runs` on the instance of `published`, with `points` (of one nccom-test build). `add` may add
/// further runs.
[[nodiscard]] std::unique_ptr<StepData> step_data(const Published& published,
                                                  const std::vector<models::MeasuredRun>& runs,
                                                  const std::vector<logs::MeasuredCollective>& points,
                                                  const models::Profile& prior, Remarks& remarks,
                                                  const std::function<void(MappedRuns&)>& add = {});

/// The prior that a profile was fitted from; itself if it was not fitted to steps.
[[nodiscard]] models::Profile prior_of(const Published& published, const models::Profile& profile);

}  // namespace trnplan::calibrate
