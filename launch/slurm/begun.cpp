#include "launch/slurm/begun.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <system_error>

#include "text/diagnostic.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

/// Newest output file what-ID.out that is not older than launch.json.
std::optional<std::string> id_of_output(const fs::path& folder, const std::string& what) {
  std::error_code error;
  fs::file_time_type newest = fs::last_write_time(folder / kStateFile, error);
  if (error) return std::nullopt;
  std::optional<std::string> id;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string(), ending = ".out";
    if (!name.starts_with(what + "-") || !name.ends_with(ending)) continue;
    const std::string number = name.substr(what.size() + 1, name.size() - what.size() - 1 - ending.size());
    const fs::file_time_type written = entry.last_write_time(error);
    if (error || !is_slurm_id(number) || written < newest) continue;
    newest = written;
    id = number;
  }
  return id;
}

}  // namespace

bool is_slurm_id(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::string unique_name(const std::string& what) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("trnplan-{}-{:x}-{:x}", what,
                     std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), ::getpid());
}

std::optional<std::string> find_begun(const fs::path& folder, const SubmittedJob& begun, bool earlier,
                                      const Runner& runner) {
  const ProcessResult ran =
      runner({"squeue", "--noheader", "--states=all", "--format=%A", "--name=" + begun.id}, kQuery);
  if (!ran.ok()) {
    throw Unsure(
        fmt::format("squeue does not say whether the job {} was queued: {}; launch again when it answers, or "
                    "remove {} if you know that there is no such job",
                    begun.id, printable(ran.error, kSaid), (folder / kStateFile).string()));
  }
  const std::string first = ran.output.substr(0, ran.output.find_first_of(" \n"));
  if (is_slurm_id(first)) return first;
  return earlier ? id_of_output(folder, begun.what) : std::nullopt;
}

}  // namespace trnplan::launch
