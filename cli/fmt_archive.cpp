// What the program needs of fmt, for the link without shared libraries: Debian has no archive of fmt.
// Compiled with FMT_HEADER_ONLY and -fkeep-inline-functions, fmt's functions are emitted here under the names
// that its shared library has.
#include <fmt/format.h>

namespace trnplan::cli {

/// Uses what is a template, since only what is used is emitted.
std::string use_fmt(double number, float single) {
  return fmt::format("{} {} {:.3g} {:L}", number, single, number, number);
}

}  // namespace trnplan::cli
