#include "launch/slurm/slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include "launch/slurm/begun.h"
#include "launch/slurm/partition.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr int kSignalled = 128;
constexpr const char* kUnknownId = "COMPILE_JOB_ID";
constexpr const char* kUnknownName = "trnplan-UNIQUE";

std::string partition_of(const Order& order) {
  return FolderSettings(read_settings(order.held.read(kSettingsFile)), order.folder)
      .value("TRNPLAN_PARTITION");
}

/// A unique name makes a job findable if its id is lost.
std::vector<std::string> sbatch(const fs::path& folder, const std::string& partition, const std::string& what,
                                const std::string& name, const std::string& after) {
  std::vector<std::string> command = {"sbatch", "--parsable", "--chdir=" + folder.string(),
                                      "--job-name=" + name};
  if (!partition.empty()) command.push_back("--partition=" + partition);
  if (!after.empty()) {
    command.push_back("--dependency=afterok:" + after);
    command.push_back("--kill-on-invalid-dep=yes");  // else training waits forever for a failed compilation
  }
  command.push_back((folder / (what + ".sbatch")).string());
  command.push_back(folder.string());
  return command;
}

/// Id that sbatch prints: "123", or "123;cluster"; "" for other output.
std::string job_id(const std::string& text) {
  const std::size_t end = std::min(text.find_first_of(";\n"), text.size());
  const std::string id = text.substr(0, end);
  return id.find_first_not_of("0123456789") == std::string::npos ? id : "";
}

std::string refusal_of(const ProcessResult& ran) {
  if (!ran.error.empty()) return "sbatch: " + printable(ran.error, kSaid);
  if (ran.code > kSignalled) return fmt::format("sbatch: ended by signal {}", ran.code - kSignalled);
  if (!ran.ok()) return fmt::format("sbatch: ended with {}", ran.code);
  return "sbatch: no job id in \"" + printable(ran.output, kSaid) + "\"";
}

/// Submits one job, or finds the one that an earlier call began to submit. Records the submission before it
/// begins, so that the next call can look for it.
std::string submit_one(const HeldFolder& held, const std::string& partition, Submission& s,
                       const std::string& what, int lock, const Runner& runner) {
  const fs::path& folder = held.path();
  if (s.begun && s.begun->what == what) {
    if (const auto id = find_begun(folder, *s.begun, true, runner)) return *id;
  }
  const SubmittedJob* compile = s.find("compile");
  held.need_unchanged();
  s.begun = SubmittedJob{what, unique_name(what)};
  keep(folder, s);
  // An sbatch that outlives us holds the lock until it ends.
  const ProcessResult ran = runner(
      sbatch(folder, partition, what, s.begun->id, compile == nullptr ? "" : compile->id), {true, {}, lock});
  if (const std::string id = job_id(ran.output); ran.ok() && !id.empty()) return id;
  const std::string why = refusal_of(ran);
  try {  // It may have been queued although sbatch did not report it.
    if (const auto id = ran.started ? find_begun(folder, *s.begun, false, runner) : std::nullopt) return *id;
  } catch (const Unsure& e) {
    throw Unsure(why + "; " + e.what());
  }
  throw SchedulerRefused(why);
}

class Slurm : public Scheduler {
 public:
  std::string_view name() const override { return "slurm"; }
  bool is_job_id(const std::string& id) const override { return is_slurm_id(id); }
  bool can_watch() const override { return true; }

  std::vector<std::string> needs(const Order& order) const override {
    std::vector<std::string> files;
    for (const std::string& mode : modes_of(order.held)) files.push_back(mode + ".sbatch");
    return files;
  }

  void check(const CheckedFolder& checked) const override {
    if (checked.plan != nullptr) check_partition(checked);
  }

  std::vector<std::vector<std::string>> commands(const Order& order) const override {
    const std::string partition = partition_of(order);
    std::vector<std::vector<std::string>> all;
    for (const std::string& mode : modes_of(order.held))
      all.push_back(sbatch(order.folder, partition, mode, kUnknownName, all.empty() ? "" : kUnknownId));
    return all;
  }

  SubmitResult submit(const Order& order, const std::optional<Submission>& before, int lock,
                      const Runner& runner) const override {
    SubmitResult result;
    result.submission = before.value_or(Submission{std::string(name()), {}, {}});
    Submission& s = result.submission;
    const std::string partition = partition_of(order);
    for (const std::string& what : modes_of(order.held)) {
      if (s.find(what) != nullptr) continue;
      try {
        s.jobs.push_back({what, submit_one(order.held, partition, s, what, lock, runner)});
      } catch (const Unsure&) {
        throw;
      } catch (const SchedulerRefused&) {
        if (const SubmittedJob* compile = s.find("compile")) runner({"scancel", compile->id}, kQuery);
        forget(order.folder);
        throw;
      }
      s.begun.reset();
      keep(order.folder, s);
    }
    return result;
  }
};

}  // namespace

const Scheduler& slurm() {
  static const Slurm scheduler;
  return scheduler;
}

}  // namespace trnplan::launch
