// Scalars of an NxDT YAML as text.
#pragma once

#include <string>
#include <string_view>

namespace trnplan::targets {

/// Can `text` stand without quotes after "key: " and be read back as it is?
bool plain_in_block(std::string_view text);
/// The same inside "[...]", where YAML 1.1 ends a plain text at a '?'.
bool plain_in_flow(std::string_view text);

/// With escapes for controls, " and a backslash.
std::string double_quoted(std::string_view text);
/// Single quotes as the shipped configs use them, double ones where escapes are needed.
std::string single_quoted(std::string_view text);

/// A plain scalar in NxDT's spelling: True and False, and a dot in every number with an exponent.
std::string spelled(std::string_view text);

}  // namespace trnplan::targets
