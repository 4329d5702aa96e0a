// Numbers in the form that people read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trnplan {

/// The rounded value in groups of three digits: "17,334".
std::string grouped(double value);

/// A factor with two digits, never with an exponent above 1: "0.5", "1.8", "120".
std::string factor_text(double value);

/// The count and its noun: "1 node", "2 nodes".
std::string counted(std::int64_t count, std::string_view noun);
/// The ending of a noun after `count`: "" or "s".
constexpr const char* plural(std::int64_t count) {
  return count == 1 ? "" : "s";
}

}  // namespace trnplan
