// What step validation and calibration fit to: published runs and nccom-test points, prepared.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "calibrate/data/run_jobs.h"
#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/step_fit.h"
#include "text/remarks.h"

namespace trnplan::calibrate {

/// What a catalogue publishes for fits.
struct Published {
  topology::Instance instance;            ///< that its runs and points are of
  RunReading reading;                     ///< of its runs
  std::vector<models::MeasuredRun> runs;  ///< measured-runs.csv
  std::vector<logs::MeasuredCollective>
      points;  ///< of measured-collectives.csv those of one build on `instance`
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

/// `runs` on the instance of `published`, with `points` (of one nccom-test build) beside them. `add` may put
/// further runs to them.
[[nodiscard]] std::unique_ptr<StepData> step_data(const Published& published,
                                                  const std::vector<models::MeasuredRun>& runs,
                                                  const std::vector<logs::MeasuredCollective>& points,
                                                  const models::Profile& prior, Remarks& remarks,
                                                  const std::function<void(MappedRuns&)>& add = {});

/// What a profile was fitted from; itself when it was not fitted to steps.
[[nodiscard]] models::Profile prior_of(const Published& published, const models::Profile& profile);

}  // namespace trnplan::calibrate
