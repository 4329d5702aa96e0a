// Content of logs, as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/session/samples.h"

namespace trnplan::cli {

/// "job.yaml: 2 of 3 step samples are of it", then these with the job's statements on them; "" if the plan
/// that ran is unknown.
std::string of_job_text(const std::vector<logs::StepSample>& kept,
                        const std::vector<calibrate::LogFile>& files,
                        const std::optional<calibrate::WhatRan>& ran);

/// Content of a file other than nccom-test points, indented; "" if there is none.
std::string log_text(const logs::Detected& content);

}  // namespace trnplan::cli
