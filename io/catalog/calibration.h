// The part of a profile file that a fit to steps adds: stacks, covariance, and the fit's inputs.
//
//   "calibration": {"prior": "trn1-datasheet", "tool": "trnplan 0.1", "files": [{"name", "sha256", "bytes"}],
//     "stacks": [{"framework", "release", "median", "log_sd"}],
//     "ranges": {"nodes": [1, 32], ...},
//     "covariance": {"of": ["matmul_efficiency", ..., "nxd", "nxd 2.20"], "lower": [[v], [v, v], ...]}}
//
// "lower" is the lower triangle, row by row, of the covariance of the logarithms of the names in "of":
// parameters, then stacks ("framework" or "framework release"). Values that it does not name are known
// exactly. "ranges", which may be absent, are the ranges of the fitted runs (traits_of() of
// models/uncertainty/spread.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/parameters/profile.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the calibration; null with faults: an unknown name, a name twice, a triangle of another shape, a
/// number that is not finite, a variance that is not that of `values`, a matrix that is no covariance.
std::shared_ptr<const models::Calibration> calibration_from(const Node& node, const models::Profile& profile,
                                                            std::vector<Diagnostic>& faults);

/// The calibration of a base if `stated` of its parameters have values of their own in `profile`: these are
/// independent of all others.
std::shared_ptr<const models::Calibration> calibration_beside(const models::Calibration& base,
                                                              const models::Profile& profile,
                                                              const Node* stated);

/// The names of "of" for all rows of Calibration::covariance; "" for a place without a parameter.
std::vector<std::string> covariance_names(const models::Calibration& calibration,
                                          const models::ParameterSchema& schema);

}  // namespace trnplan::io
