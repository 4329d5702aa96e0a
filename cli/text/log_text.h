// What logs show, as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/session/samples.h"

namespace trnplan::cli {

/// "job.yaml: 2 of 3 step samples are of it", and these with what the job says of them; "" when nothing says
/// what ran.
std::string of_job_text(const std::vector<logs::StepSample>& kept,
                        const std::vector<calibrate::LogFile>& files,
                        const std::optional<calibrate::WhatRan>& ran);

/// What was understood of a file beside nccom-test points, indented; "" when there is nothing.
std::string log_text(const logs::Detected& content);

}  // namespace trnplan::cli
