// Scalars of an NxDT YAML as text.
#pragma once

#include <string>
#include <string_view>

namespace trnplan::targets {

/// True if `text` can be written without quotes after "key: " and read back unchanged.
bool plain_in_block(std::string_view text);
/// True if the same holds inside "[...]", where YAML 1.1 ends a plain text at a '?'.
bool plain_in_flow(std::string_view text);

/// Text in double quotes, with escapes for controls, " and a backslash.
std::string double_quoted(std::string_view text);
/// Text in single quotes, as in the shipped configs; in double quotes if it needs escapes.
std::string single_quoted(std::string_view text);

/// Plain scalar in NxDT's spelling: True and False, and a dot in every number with an exponent.
std::string spelled(std::string_view text);

}  // namespace trnplan::targets
