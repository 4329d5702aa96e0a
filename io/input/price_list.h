// Prices of nodes that a user states: a list "p5.48xlarge=38.2/h,trn2=20/h", a map in YAML or JSON
// (p5.48xlarge: 38.2/h), or a CSV with the columns instance and usd_per_hour.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "text/diagnostic.h"

namespace trnplan::io {

/// USD per node and hour, by type of the catalogue.
using PriceList = std::map<std::string, double>;

/// True if the value of --price names a file: it has no '='.
[[nodiscard]] bool is_price_file(const std::string& text);

/// Adds faults at `--price` of the command line. Short names are read as in type_called().
[[nodiscard]] PriceList prices_from_list(const std::string& text, const Catalog& catalog,
                                         std::vector<Diagnostic>& faults);
/// Reads a file's text; `name` ends in .csv for a table. Throws InputError with every fault.
[[nodiscard]] PriceList prices_from_text(const std::string& text, const std::string& name,
                                         const Catalog& catalog);

}  // namespace trnplan::io
