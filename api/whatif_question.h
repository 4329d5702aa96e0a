// Questions of whatif as a user writes them. Private to api/: it is not installed.
#pragma once

#include "api/whatif.h"
#include "io/catalog/catalog.h"

namespace trnplan::api {

/// Most clusters of a question: each is a search.
inline constexpr std::size_t kMostPoints = 64;

/// Throws InputError with every fault of the options.
[[nodiscard]] planner::WhatIfQuestion question_of(const WhatIfRequest& request, const models::Job& job,
                                                  const io::Catalog& catalog, Remarks& remarks);
/// Options replace the keys that the job leaves open; its limits apply to the run with its failures.
void take_over(models::Job& job, planner::WhatIfQuestion& question);
[[nodiscard]] planner::Reliability load_reliability(const io::Catalog& catalog, const WhatIfRequest& request);

}  // namespace trnplan::api
