// What fits found and what they read, as JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "calibrate/data/run_jobs.h"
#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/kernel_bench.h"
#include "calibrate/fit/step_fit.h"
#include "io/output/log_json.h"

namespace trnplan::io {

/// {"schema_version", "profile", "prior", "parameters": [...], "stacks": [...], "configurations": {...},
/// "kernels": [...], "left_out": [...], "summary": {...}}; see docs/json.md. Ends in a newline.
std::string step_fit_json(const calibrate::StepFit& fit, const std::vector<calibrate::ExcludedRun>& left_out,
                          const std::vector<calibrate::KernelRow>& kernels, const ReadLogs& logs);

/// What `profile` says of kernels, without a fit: {"schema_version", "profile", "kernels": [...]}.
std::string kernels_json(const std::vector<calibrate::KernelRow>& kernels, const std::string& profile,
                         const ReadLogs& logs);

/// {"schema_version", "profile", "instance", "parameters": [...], "rows": [...], "left_out": [...],
/// "summary": {...}}; see docs/json.md.
std::string collective_fit_json(const calibrate::CollectiveFit& fit,
                                const std::vector<calibrate::LeftOut>& left_out, const std::string& instance,
                                const ReadLogs& logs);

}  // namespace trnplan::io
