#include "cli/context.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/text/wrap.h"
#include "io/catalog/profile_reader.h"
#include "text/diagnostic.h"

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

/// A path that is there, but no profile by its name.
void refuse_misnamed(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) return;
  if (std::filesystem::is_directory(status)) {
    throw InputError({{path, 0, 0}, "--profile", "is a folder", "name the profile's .json file in it"});
  }
  throw InputError({{path, 0, 0},
                    "--profile",
                    "this file's name does not end in .json, so it is taken for a name of the catalogue",
                    "rename it to end in .json"});
}

}  // namespace

models::Profile load_profile(const io::Catalog& catalog, const Common& common) {
  if (common.profile.ends_with(".json")) return io::profile_from(read_document(common.profile), &catalog);
  return blame("--profile", [&] {
    try {
      return catalog.profile(common.profile);
    } catch (const InputError&) {
      refuse_misnamed(common.profile);
      throw;
    }
  });
}

void remark_family(const io::Catalog& catalog, const models::Profile& profile,
                   const topology::Instance& instance) {
  if (profile.instance.empty()) return;
  const std::vector<std::string> known = catalog.instances();
  const bool type = std::find(known.begin(), known.end(), profile.instance) != known.end();
  const std::string family = type ? catalog.instance(profile.instance).family
                                  : profile.instance.substr(0, profile.instance.find('.'));
  if (family == instance.family) return;
  remark(instance.name + " timed with the parameters of " + profile.name + " (" + profile.instance + ")");
}

topology::Instance instance_option(const io::Catalog& catalog, const std::string& name) {
  return blame("--instance", [&] { return catalog.instance(name); });
}

void settle(models::Job& job) {
  const models::SearchSpace free = std::move(job.space);
  job.space = {};
  if (free.nodes.size() > 1)
    remark("cluster.nodes is free: " + std::to_string(job.cluster.nodes) + " are taken");
  if (free.instances.size() > 1)
    remark("cluster.instance is free: " + job.cluster.instance.name + " is taken");
  if (free.largest_batch > free.smallest_batch)
    remark("training.global_batch is free: " + std::to_string(job.training.global_batch) + " is taken");
  if (free.precision)
    remark("training.precision is free: " + std::string(to_string(job.training.precision)) + " is taken");
}

std::string no_efa_fix() {
  return "use one node, or an instance with EFA devices, for example trn1.32xlarge";
}

std::string printable_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += printable(text.substr(0, end), end);
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void print(std::string_view text) {
  const std::string safe = printable_lines(text);
  const bool written =
      std::fwrite(safe.data(), 1, safe.size(), stdout) == safe.size() && std::fflush(stdout) == 0;
  if (written) return;
  throw InputError(
      {{"standard output", 0, 0}, "", std::strerror(errno), "free space, or send the output elsewhere"});
}

void print_text(std::string_view text) {
  print(wrapped(text, text_width()));
}

void print_result(const Common& common, std::string_view result) {
  if (common.json())
    print(result);
  else
    print_text(result);
}

int text_width() {
  return output_width(STDOUT_FILENO);
}

namespace {

/// Broken for a terminal alone: in a file a message is a line that grep finds.
void to_standard_error(const std::string& text) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const std::string lines = terminal ? wrapped(text, output_width(STDERR_FILENO)) : text;
  std::fwrite(lines.data(), 1, lines.size(), stderr);
}

}  // namespace

void remark(std::string_view text) {
  to_standard_error("trnplan: " + printable(text, 4000) + "\n");
}

void remark(const Diagnostic& fault) {
  to_standard_error("trnplan: " + to_string(fault) + "\n");
}

void report_faults(const InputError& e) {
  // More than a person mends in one go, and less than scrolls the first ones away.
  constexpr std::size_t kMostFaults = 50;
  const std::size_t shown = std::min(e.faults().size(), kMostFaults);
  for (std::size_t i = 0; i < shown; ++i) to_standard_error(to_string(e.faults()[i]) + "\n");
  if (shown < e.faults().size())
    to_standard_error("and " + std::to_string(e.faults().size() - shown) + " more\n");
}

void remarks(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) remark(note);
}

}  // namespace trnplan::cli
