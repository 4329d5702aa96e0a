// Prices of a request: options as people write them, and files of prices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/whatif.h"
#include "io/catalog/catalog.h"
#include "io/input/price_list.h"
#include "io/input/readers.h"
#include "planner/cost/prices.h"

namespace trnplan::api {

using io::is_price_file;

/// Prices of --price, a list or a file of types (io/input/price_list.h). Adds its faults, and one for each type of a
/// list that is not among `types`; `add` tells how it would be.
[[nodiscard]] io::PriceList stated_prices(const std::string& price,
                                          const std::vector<topology::Instance>& types,
                                          const std::string& add, const io::Catalog& catalog,
                                          std::vector<Diagnostic>& faults);
/// Types of a list that a job does not ask about.
enum class OtherTypes { refused, left_out };

/// The same, of any types.
[[nodiscard]] io::PriceList stated_prices(const std::string& price, const io::Catalog& catalog,
                                          std::vector<Diagnostic>& faults);
/// Throws InputError if money decides between the plans of a job, or limits them, and one of its types has no price.
void refuse_unpriced(const io::JobReading& reading);
/// Throws InputError if money limits runs on these types, and none has a price of that kind.
void refuse_unpriced(const io::JobReading& reading, const std::vector<topology::Instance>& types,
                     const planner::PriceOptions& prices);

/// Gives the machines of a job the prices of --price, else the catalogue's of the kind of --pricing
/// (ResolveOptions::amend), which throws InputError with every fault. A stated price is of that kind too, since the
/// market may interrupt spot nodes at any price. Refers to `price`.
[[nodiscard]] std::function<void(io::JobReading&, const io::Catalog&)> with_prices(
    const std::string& price, OtherTypes others = OtherTypes::refused, const std::string& pricing = "usual");

/// Adds a fault for each option that is wrong, and those of the file of --price. `types`: those compared.
[[nodiscard]] planner::PriceOptions price_options(const WhatIfRequest& request,
                                                  const std::vector<topology::Instance>& types,
                                                  const io::Catalog& catalog,
                                                  std::vector<Diagnostic>& faults);

}  // namespace trnplan::api
