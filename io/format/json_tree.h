// JSON as nlohmann's tree, for code that writes it. Private to io/: it is not installed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "io/format/stored_strategy.h"

namespace trnplan::io {

using Json = nlohmann::ordered_json;

/// The object of strategy_json().
[[nodiscard]] Json strategy_tree(const models::Strategy& s, Known known = Known::whole);

/// Text of a profile in the layout of profile files: indented, matrices with a line for each row. Ends in a
/// newline.
[[nodiscard]] std::string profile_text(const Json& profile);

/// Text of a document: indented (-1: on one line), in ASCII, invalid UTF-8 replaced. Ends in a newline.
[[nodiscard]] std::string dumped(const Json& document, int indent = 2);

}  // namespace trnplan::io
