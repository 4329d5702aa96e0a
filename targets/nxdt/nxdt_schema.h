// Keys that NxDT knows, and the form of their values. Private to the linter.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "targets/nxdt/nxdt_config.h"

namespace trnplan::targets {

enum class Kind {
  count,    ///< whole number of at least 1; anything else fails
  whole,    ///< whole number, possibly -1
  number,   ///< whole or not
  boolean,  ///< True or False
  list,
  any,
  free,  ///< a section whose keys the user chooses
};

/// Description of a kind, such as "a whole number of at least 1".
std::string_view wanted(Kind kind);

/// Requires: the key is present and not null.
bool fits(const NxdtConfig& config, std::string_view key, Kind kind);

enum class Known { yes, section, no };
struct LookedUp {
  Known known = Known::no;
  Kind kind = Kind::any;  ///< any = not known
};
LookedUp look_up(std::string_view key);

/// Known key most similar to `key`: preferably a sibling, else one with the same name elsewhere ("moved"),
/// else "".
std::string most_like(std::string_view key);

/// Keys and sections at the top level that the orchestrator reads.
std::span<const std::string_view> required_at_top();

/// Section that must contain `name` because NxDT looks the name up anywhere in the file; "" = the top level.
/// nullptr if NxDT looks it up by its full path only.
const std::string_view* home_of(std::string_view name);

// Dotted keys.
bool under(std::string_view key, std::string_view section);
std::string_view parent_of(std::string_view key);
std::string_view last_of(std::string_view key);

}  // namespace trnplan::targets
