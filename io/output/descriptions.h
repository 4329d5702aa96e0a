// Descriptions of documents, strategies and jobs as data: the source of Python's records, its stub and the
// tables of docs/.
#pragma once

#include <string>

namespace trnplan::io {

/// A list of {"name", "says", "base", "keys": [{"name", "type", "says"}]}: each record of each document,
/// after its base and the records that it holds. Types have Python's spelling.
[[nodiscard]] std::string records_json();

/// A list of [name, brief name] of the keys of a strategy.
[[nodiscard]] std::string strategy_keys_json();

}  // namespace trnplan::io
