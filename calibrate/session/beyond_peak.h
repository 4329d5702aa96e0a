// Steps that need more FLOPS than their devices have.
#pragma once

#include <optional>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "text/diagnostic.h"

namespace trnplan::calibrate {

/// Advice where a step can hardly be of the job that is given for it.
inline constexpr const char* kOfThisLog =
    "check that nodes, batch and strategy of the job are those of this log";

/// Fault of a step of so many seconds whose products, with half of the attention where it is causal, need more than
/// 90 % of what the devices of the job can do; nullopt: it needs less. `at` is where the step stands. Cost: none.
[[nodiscard]] std::optional<Diagnostic> beyond_peak(double seconds, const models::Job& job,
                                                    const models::Strategy& strategy, SourcePos at);

}  // namespace trnplan::calibrate
