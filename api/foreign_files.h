// Files given to check that are no config or script of a target.
#pragma once

#include <string>

#include "text/diagnostic.h"

namespace trnplan::api {

/// True for YAML, JSON or TOML with keys.
[[nodiscard]] bool is_document(const std::string& text, const std::string& file);

/// Throws InputError that names the kind of file, as far as its text shows, and the file to give instead;
/// returns if the kind is unknown. Cost: linear in the text.
void refuse_foreign(const std::string& text, const std::string& file);

}  // namespace trnplan::api
