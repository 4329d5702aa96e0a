// What step validation and calibration fit to: published runs and nccom-test points, prepared.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "calibrate/data/run_jobs.h"
#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/step_fit.h"
#include "io/catalog/catalog.h"

namespace trnplan::cli {

/// Published runs on trn1.32xlarge. Not to be moved: the bench refers to its runs.
struct StepData {
  calibrate::MappedRuns runs;
  std::unique_ptr<calibrate::StepBench> bench;
  std::unique_ptr<calibrate::CollectiveBench> collectives;  ///< null: none
  std::vector<calibrate::LeftOut> left_out;                 ///< of the points
};

/// `runs` on the catalogue's trn1.32xlarge, with `points` (of one nccom-test build) beside them.
/// `add` may put further runs to them.
std::unique_ptr<StepData> step_data(const io::Catalog& catalog, const std::vector<models::MeasuredRun>& runs,
                                    const std::vector<logs::MeasuredCollective>& points,
                                    const models::Profile& prior,
                                    const std::function<void(calibrate::MappedRuns&)>& add = {});

/// The catalogue's nccom-test points that were measured on trn1: those of 2023, older than trn2, but
/// for what the table leaves out.
std::vector<logs::MeasuredCollective> catalogue_points(const io::Catalog& catalog);

/// What a profile was fitted from; itself when it was not fitted to steps.
models::Profile prior_of(const io::Catalog& catalog, const models::Profile& profile);

}  // namespace trnplan::cli
