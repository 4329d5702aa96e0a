// Page of simulate: one strategy in detail.
#pragma once

#include "api/report_parts.h"
#include "api/simulate.h"

namespace trnplan::api {

/// Throws InputError if it cannot be written. Cost: a simulation, with its timeline.
void write_simulate_report(const ReportFile& file, const SimulateRequest& request,
                           const SimulateResult& result, const std::vector<Remark>& remarks);

/// Data of that page.
[[nodiscard]] io::JsonValue simulate_report(const SimulateRequest& request, const SimulateResult& result,
                                            const std::vector<Remark>& remarks);

}  // namespace trnplan::api
