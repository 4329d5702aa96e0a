// Files that are handed to check and are no config or script of a target.
#pragma once

#include <string>

#include "text/diagnostic.h"

namespace trnplan::api {

/// It is YAML, JSON or TOML with keys.
[[nodiscard]] bool is_document(const std::string& text, const std::string& file);

/// Says what the file is, as far as its text tells, and what to give instead; throws nothing where that cannot be told.
/// Cost: linear in the text.
void refuse_foreign(const std::string& text, const std::string& file);

}  // namespace trnplan::api
