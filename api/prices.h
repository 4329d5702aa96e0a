// Prices of a request: options as people write them, and files of prices.
#pragma once

#include <string>
#include <vector>

#include "api/whatif.h"
#include "io/catalog/catalog.h"
#include "io/input/price_list.h"
#include "planner/cost/prices.h"

namespace trnplan::api {

using io::is_price_file;

/// Adds a fault for each option that is wrong, and those of the file of --price. `types`: those compared.
[[nodiscard]] planner::PriceOptions price_options(const WhatIfRequest& request,
                                                  const std::vector<topology::Instance>& types,
                                                  const io::Catalog& catalog,
                                                  std::vector<Diagnostic>& faults);

}  // namespace trnplan::api
