#include "launch/scheduler/submit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "io/output/atomic_write.h"
#include "launch/scheduler/preflight.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLock = "launch.lock";
constexpr std::size_t kShown = 200;  ///< bytes of what a program said
constexpr int kSignalled = 128;
constexpr const char* kUnknownId = "COMPILE_JOB_ID";
constexpr const char* kUnknownName = "trnplan-UNIQUE";
constexpr const char* kUnknownPartition = "TRNPLAN_PARTITION";
const ProcessOptions kQuery = {true, {}, -1, kQuerySeconds};

// ---- one at a time

/// One launch of a folder at a time; the system frees the lock when the process ends, however it does.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : path_(folder / kLock) {
    fd_ = ::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0644);
    int fault = fd_ < 0 ? errno : EINTR;
    while (fault == EINTR) fault = ::flock(fd_, LOCK_EX) == 0 ? 0 : errno;
    if (fault != 0) {
      const std::string why = std::strerror(fault);
      if (fd_ >= 0) ::close(fd_);
      throw InputError({{path_.string(), 0, 0},
                        "",
                        "cannot be locked: " + why,
                        "put the folder on a file system that you may write to and that knows locks"});
    }
  }
  ~FolderLock() { ::close(fd_); }
  int descriptor() const { return fd_; }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  fs::path path_;
  int fd_ = -1;
};

// ---- commands

/// A name of its own makes a job findable when its id got lost.
std::vector<std::string> sbatch(const fs::path& folder, const std::string& partition, const std::string& what,
                                const std::string& name, const std::string& after) {
  std::vector<std::string> command = {"sbatch", "--parsable", "--chdir=" + folder.string(),
                                      "--job-name=" + name};
  if (!partition.empty()) command.push_back("--partition=" + partition);
  if (!after.empty()) {
    command.push_back("--dependency=afterok:" + after);
    command.push_back("--kill-on-invalid-dep=yes");  // else training waits forever for a compile that failed
  }
  command.push_back((folder / (what + ".sbatch")).string());
  command.push_back(folder.string());
  return command;
}

std::vector<std::string> local_command(const fs::path& folder) {
  return {"bash", (folder / "node_run.sh").string(), folder.string(), "compile", "smoke"};
}

std::vector<std::string> kubectl_command(const SubmitRequest& r, const fs::path& folder) {
  return {"kubectl", "apply", "-f", (folder / r.manifest).string(), "-o", "name"};
}

/// The id sbatch prints: "123", or "123;cluster"; "" when that is not what it printed.
std::string job_id(const std::string& text) {
  const std::size_t end = std::min(text.find_first_of(";\n"), text.size());
  const std::string id = text.substr(0, end);
  return id.find_first_not_of("0123456789") == std::string::npos ? id : "";
}

std::string refusal_of(const ProcessResult& ran) {
  if (!ran.error.empty()) return "sbatch: " + printable(ran.error, kShown);
  if (ran.code > kSignalled) return fmt::format("sbatch: ended by signal {}", ran.code - kSignalled);
  if (!ran.ok()) return fmt::format("sbatch: ended with {}", ran.code);
  return "sbatch: no job id in \"" + printable(ran.output, kShown) + "\"";
}

/// Submits one job, or finds the one that an earlier call began to submit. What is about to be submitted is
/// written down first, so that whoever comes next can look for it.
std::string submit_one(const fs::path& folder, const std::string& partition, Submission& s,
                       const std::string& what, int lock, const Runner& runner) {
  if (s.begun && s.begun->what == what) {
    if (const auto id = find_begun(folder, *s.begun, true, runner)) return *id;
  }
  const SubmittedJob* compile = s.find("compile");
  s.begun = SubmittedJob{what, unique_name(what)};
  keep(folder, s);
  // An sbatch that outlives us holds the lock until it is done.
  const ProcessResult ran = runner(
      sbatch(folder, partition, what, s.begun->id, compile == nullptr ? "" : compile->id), {true, {}, lock});
  if (const std::string id = job_id(ran.output); ran.ok() && !id.empty()) return id;
  const std::string why = refusal_of(ran);
  try {  // It may have been queued although sbatch did not say so.
    if (const auto id = ran.started ? find_begun(folder, *s.begun, false, runner) : std::nullopt) return *id;
  } catch (const Unsure& e) {
    throw Unsure(why + "; " + e.what());
  }
  throw SchedulerRefused(why);
}

SubmitResult submit_slurm(const fs::path& folder, int lock, const Runner& runner) {
  SubmitResult result;
  result.submission = submitted(folder).value_or(Submission{"slurm", {}, {}});
  Submission& s = result.submission;
  result.already = s.find("train") != nullptr;
  if (result.already) return result;
  const std::string partition = setup_values(folder, runner).partition.value_or("");
  for (const std::string what : {"compile", "train"}) {
    if (s.find(what) != nullptr) continue;
    try {
      s.jobs.push_back({what, submit_one(folder, partition, s, what, lock, runner)});
    } catch (const Unsure&) {
      throw;
    } catch (const SchedulerRefused&) {
      if (const SubmittedJob* compile = s.find("compile")) runner({"scancel", compile->id}, kQuery);
      forget(folder);
      throw;
    }
    s.begun.reset();
    keep(folder, s);
  }
  return result;
}

SubmitResult submit_eks(const SubmitRequest& r, const fs::path& folder, const Runner& runner) {
  SubmitResult result;
  if (const auto before = submitted(folder)) return {*before, true};
  const ProcessResult ran = runner(kubectl_command(r, folder), {});
  if (!ran.ok()) throw SchedulerRefused("kubectl: " + ran.error);
  result.submission.scheduler = "eks";
  std::string last;  // of a list the job comes last
  for (std::size_t at = 0; at < ran.output.size();) {
    const std::size_t end = std::min(ran.output.find('\n', at), ran.output.size());
    if (end > at) last = ran.output.substr(at, end - at);
    at = end + 1;
  }
  if (!is_plain_id(last)) throw SchedulerRefused("kubectl: no name in \"" + ran.output + "\"");
  result.submission.jobs.push_back({"train", last});
  keep(folder, result.submission);
  return result;
}

SubmitResult run_local(const fs::path& folder, const Runner& runner) {
  ProcessOptions options;
  options.capture = false;
  // The node script must not take this for a task of an allocation it happens to be in.
  options.unset = {"SLURM_JOB_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PET_RDZV_BACKEND"};
  const ProcessResult ran = runner(local_command(folder), options);
  if (!ran.ok()) throw SchedulerRefused(fmt::format("node_run.sh ended with {}", ran.code));
  return {{"local", {}, {}}, false};
}

}  // namespace

std::string_view to_string(Scheduler s) {
  return s == Scheduler::slurm ? "slurm" : s == Scheduler::eks ? "eks" : "local";
}

std::vector<std::vector<std::string>> commands(const SubmitRequest& request) {
  const fs::path folder = absolute_folder(request.folder);
  if (request.scheduler == Scheduler::local) return {local_command(folder)};
  if (request.scheduler == Scheduler::eks) return {kubectl_command(request, folder)};
  const std::string partition = setup_values(folder, nullptr).partition.value_or(kUnknownPartition);
  return {sbatch(folder, partition, "compile", kUnknownName, ""),
          sbatch(folder, partition, "train", kUnknownName, kUnknownId)};
}

SubmitResult submit(const SubmitRequest& request, const Runner& runner) {
  const fs::path folder = absolute_folder(request.folder);
  if (request.scheduler == Scheduler::local) return run_local(folder, runner);
  const FolderLock lock(folder);
  return request.scheduler == Scheduler::eks ? submit_eks(request, folder, runner)
                                             : submit_slurm(folder, lock.descriptor(), runner);
}

}  // namespace trnplan::launch
