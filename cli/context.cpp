#include "cli/context.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "units/diagnostic.h"

namespace trnplan::cli {

namespace {

/// Runs `look_up`; a fault without a place is put down to the option that named the thing.
template <class LookUp>
auto blame(const char* option, const LookUp& look_up) {
  try {
    return look_up();
  } catch (const InputError& e) {
    std::vector<Diagnostic> faults = e.faults();
    for (Diagnostic& f : faults) {
      if (f.at.file.empty()) f.key = option;
    }
    throw InputError(std::move(faults));
  }
}

}  // namespace

models::Profile load_profile(const io::Catalog& catalog, const Common& common) {
  if (common.profile.ends_with(".json")) return io::profile_from(io::read_document(common.profile), &catalog);
  return blame("--profile", [&] { return catalog.profile(common.profile); });
}

topology::Instance instance_option(const io::Catalog& catalog, const std::string& name) {
  return blame("--instance", [&] { return catalog.instance(name); });
}

void print(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return;
  throw InputError(
      {{"standard output", 0, 0}, "", std::strerror(errno), "free space, or send the output elsewhere"});
}

void remark(std::string_view text) {
  const std::string line = "trnplan: " + printable(text, 4000) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void remarks(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) remark(note);
}

}  // namespace trnplan::cli
