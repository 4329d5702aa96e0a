#include "io/catalog/program_path.h"

#include <sys/auxv.h>

#include <system_error>

namespace trnplan::io {

namespace fs = std::filesystem;

fs::path program_path() {
  std::error_code error;
  const fs::path linked = fs::read_symlink("/proc/self/exe", error);
  if (!error && fs::exists(linked, error)) return linked;
  // The path that was executed; a shell has looked it up on PATH. The program never changes its folder.
  const auto* executed = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (executed == nullptr) return {};
  const fs::path path = fs::canonical(executed, error);
  return error ? fs::path() : path;
}

}  // namespace trnplan::io
