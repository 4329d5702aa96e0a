// Data with which the page of whatif answers other settings itself, by the program's formulas
// (launch/report/page/forecast.js). Private to api/: it is not installed.
#pragma once

#include <string>
#include <vector>

#include "api/whatif.h"
#include "io/output/json_value.h"

namespace trnplan::api {

/// Parameters, prices and command of the page's settings; or, where the page could not say what the program says,
/// `why_not`. Cost: up to four searches of every cluster, for the tokens that change no plan.
[[nodiscard]] io::JsonValue recompute_part(const WhatIfRequest& request,
                                           const std::vector<std::string>& job_options,
                                           const WhatIfAnswered& answered);

}  // namespace trnplan::api
