// JSON as nlohmann's tree, for what writes it. Private to io/: it is not installed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "io/format/stored_strategy.h"

namespace trnplan::io {

using Json = nlohmann::ordered_json;

/// The object of strategy_json().
[[nodiscard]] Json strategy_tree(const models::Strategy& s, Known known = Known::whole);

/// Laid out as profile files are: indented, matrices with a line for each row. Ends in a newline.
[[nodiscard]] std::string profile_text(const Json& profile);

/// As all documents are written: indented (-1: on one line), in ASCII, what is no UTF-8 replaced. Ends in a newline.
[[nodiscard]] std::string dumped(const Json& document, int indent = 2);

}  // namespace trnplan::io
