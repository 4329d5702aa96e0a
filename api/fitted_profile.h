// A fitted profile as a file for --profile.
#pragma once

#include <string>
#include <vector>

#include "calibrate/session/collective_points.h"
#include "calibrate/session/machine_calibration.h"
#include "calibrate/session/samples.h"
#include "calibrate/session/step_calibration.h"
#include "io/catalog/catalog.h"

namespace trnplan::api {

/// States in the file what it was fitted to: which of the files, and which builds.
[[nodiscard]] std::string collective_profile_json(const calibrate::CollectiveFit& fit,
                                                  const io::Catalog& catalog,
                                                  const std::vector<calibrate::CollectiveReading>& readings,
                                                  const std::string& name, const std::string& instance);
/// `files`: those that were read.
[[nodiscard]] std::string step_profile_json(const calibrate::StepCalibration& c,
                                            const std::vector<calibrate::LogFile>& files,
                                            const io::Catalog& catalog);
[[nodiscard]] std::string machine_profile_json(const calibrate::MachineCalibration& c,
                                               const io::Catalog& catalog);

}  // namespace trnplan::api
