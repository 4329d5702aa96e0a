// What documents, strategies and jobs consist of, as data: Python's records, its stub and the tables of docs/ are made of it.
#pragma once

#include <string>

namespace trnplan::io {

/// A list of {"name", "says", "base", "keys": [{"name", "type", "says"}]}: each record of each document, what it is built on and what it
/// holds before it. Types are spelled as Python's.
[[nodiscard]] std::string records_json();

/// A list of [name, brief name] of the keys of a strategy.
[[nodiscard]] std::string strategy_keys_json();

}  // namespace trnplan::io
