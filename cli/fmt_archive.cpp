// Functions of fmt for the link without shared libraries: Debian has no static archive of fmt. Compiled with
// FMT_HEADER_ONLY and -fkeep-inline-functions, fmt's functions are emitted here under the names of its shared
// library.
#include <fmt/format.h>

namespace trnplan::cli {

/// Uses the templates, since only templates in use are emitted.
std::string use_fmt(double number, float single) {
  return fmt::format("{} {} {:.3g} {:L}", number, single, number, number);
}

}  // namespace trnplan::cli
