// Replaces the file of this name in io/catalog: here the running program is Python, and the files of trnplan
// are next to this module.
#include "io/catalog/program_path.h"

#include <dlfcn.h>

#include <system_error>

namespace trnplan::io {

namespace fs = std::filesystem;

/// bin/trnplan next to the module: share/trnplan/catalog is found from there, and the tasks of a sweep run
/// it.
fs::path program_path() {
  Dl_info module{};
  if (dladdr(reinterpret_cast<const void*>(&program_path), &module) == 0 || module.dli_fname == nullptr)
    return {};
  std::error_code error;
  const fs::path folder = fs::canonical(module.dli_fname, error).parent_path();
  return error ? fs::path() : folder / "bin" / "trnplan";
}

}  // namespace trnplan::io
