// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trnplan {

/// Rounded, in groups of three digits: "17,334".
std::string grouped(double value);

/// "1 node", "2 nodes".
std::string counted(std::int64_t count, std::string_view noun);
/// The ending of a noun after `count`: "" or "s".
constexpr const char* plural(std::int64_t count) {
  return count == 1 ? "" : "s";
}

}  // namespace trnplan
