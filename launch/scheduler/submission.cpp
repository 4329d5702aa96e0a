#include "launch/scheduler/submission.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "io/format/schema_version.h"
#include "io/output/atomic_write.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kState = "launch.json";
constexpr std::size_t kShown = 200;

std::string pairs(const std::vector<SubmittedJob>& jobs) {
  std::string text;
  for (const SubmittedJob& j : jobs)
    text += fmt::format("{}\"{}\": \"{}\"", text.empty() ? "" : ", ", j.what, j.id);
  return "{" + text + "}";
}

bool is_sound(const SubmittedJob& j) {
  return is_plain_id(j.id) && (j.what == "compile" || j.what == "train");
}

std::vector<SubmittedJob> jobs_of(const Node* node) {
  std::vector<SubmittedJob> jobs;
  if (node == nullptr || !node->is_map()) return jobs;
  for (const Node::Entry& e : node->entries) jobs.push_back({e.key, e.value.scalar});
  return jobs;
}

bool is_id(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Of the output files what-ID.out that are not older than launch.json the newest.
std::optional<std::string> id_of_output(const fs::path& folder, const std::string& what) {
  std::error_code error;
  fs::file_time_type newest = fs::last_write_time(folder / kState, error);
  if (error) return std::nullopt;
  std::optional<std::string> id;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string(), ending = ".out";
    if (!name.starts_with(what + "-") || !name.ends_with(ending)) continue;
    const std::string number = name.substr(what.size() + 1, name.size() - what.size() - 1 - ending.size());
    const fs::file_time_type written = entry.last_write_time(error);
    if (error || !is_id(number) || written < newest) continue;
    newest = written;
    id = number;
  }
  return id;
}

}  // namespace

const SubmittedJob* Submission::find(std::string_view what) const {
  const auto it =
      std::find_if(jobs.begin(), jobs.end(), [&](const SubmittedJob& j) { return j.what == what; });
  return it == jobs.end() ? nullptr : &*it;
}

bool is_plain_id(const std::string& id) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  return !id.empty() && id[0] != '-' && id.find_first_not_of(kPlain) == std::string::npos;
}

std::optional<Submission> submitted(const fs::path& folder) {
  const fs::path path = folder / kState;
  if (!fs::exists(fs::symlink_status(path))) return std::nullopt;
  return submission_from(read_text(path), path.string());
}

Submission submission_from(const std::string& text, const std::string& name) {
  const Node root = parse_document(text, name);
  std::vector<Diagnostic> faults;
  MapReader map(root, "", faults);
  io::check_schema(map);
  if (!faults.empty()) throw InputError(std::move(faults));
  const Node *scheduler = root.find("scheduler"), *begun = root.find("begun");
  Submission s;
  s.jobs = jobs_of(root.find("jobs"));
  bool sound = scheduler != nullptr && (scheduler->scalar == "slurm" || scheduler->scalar == "eks") &&
               std::all_of(s.jobs.begin(), s.jobs.end(), is_sound);
  if (begun != nullptr) {
    const std::vector<SubmittedJob> one = jobs_of(begun);
    sound = sound && one.size() == 1 && is_sound(one[0]);
    if (sound) s.begun = one[0];
  }
  sound = sound && (!s.jobs.empty() || s.begun);
  if (sound) s.scheduler = scheduler->scalar;
  // submit.sh writes slurm's; what runs on this node keeps no record.
  const bool slurm = s.scheduler == "slurm";
  sound =
      sound && (slurm || s.scheduler == "eks") &&
      std::all_of(s.jobs.begin(), s.jobs.end(), [&](const SubmittedJob& j) { return !slurm || is_id(j.id); });
  if (sound) return s;
  throw InputError({{name, 0, 0},
                    "",
                    "does not say what was submitted from here",
                    "look for the jobs with squeue, then remove this file"});
}

std::string submission_json(const Submission& s) {
  const std::string begun = s.begun ? ", \"begun\": " + pairs({*s.begun}) : "";
  return fmt::format("{{\"schema_version\": 1, \"scheduler\": \"{}\", \"jobs\": {}{}}}\n", s.scheduler,
                     pairs(s.jobs), begun);
}

void keep(const fs::path& folder, const Submission& s) {
  io::write_file(folder / kState, submission_json(s), true);
}

void forget(const fs::path& folder) {
  std::error_code ignored;
  fs::remove(folder / kState, ignored);
}

std::string unique_name(const std::string& what) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("trnplan-{}-{:x}-{:x}", what,
                     std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), ::getpid());
}

std::optional<std::string> find_begun(const fs::path& folder, const SubmittedJob& begun, bool earlier,
                                      const Runner& runner) {
  const ProcessResult ran =
      runner({"squeue", "--noheader", "--states=all", "--format=%A", "--name=" + begun.id},
             {true, {}, -1, kQuerySeconds});
  if (!ran.ok()) {
    throw Unsure(
        fmt::format("squeue cannot say whether the job {} was queued: {}; launch again when it answers, or "
                    "remove {} when "
                    "you know that there is no such job",
                    begun.id, printable(ran.error, kShown), (folder / kState).string()));
  }
  const std::string first = ran.output.substr(0, ran.output.find_first_of(" \n"));
  if (is_id(first)) return first;
  return earlier ? id_of_output(folder, begun.what) : std::nullopt;
}

}  // namespace trnplan::launch
