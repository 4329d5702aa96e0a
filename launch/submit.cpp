#include "launch/submit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "io/atomic_write.h"
#include "io/cluster_files.h"
#include "io/document.h"
#include "io/emit_cluster.h"
#include "io/plan_file.h"
#include "launch/target.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLock = "launch.lock";
constexpr std::size_t kShown = 200;  ///< bytes of what a program said
constexpr int kSignalled = 128;
constexpr const char* kUnknownId = "COMPILE_JOB_ID";
constexpr const char* kUnknownName = "trnplan-UNIQUE";
const ProcessOptions kQuery = {true, {}, -1, kQuerySeconds};

/// What setup_env.sh leaves in its variables.
struct Values {
  std::string venv, code, data, partition;
};

/// Hydra takes , = { } [ ] ( ) $ and quotes in a value for its own; a dash in front for an option.
bool plain_path(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-+@";
  return text.starts_with('/') && text.find_first_not_of(kPlain) == std::string_view::npos;
}

/// The absolute path of the folder; as given when it is none.
fs::path absolute_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error);
  return error ? fs::absolute(folder) : whole;
}

class Preflight {
 public:
  Preflight(const SubmitRequest& request, const io::Catalog& catalog, const Runner& runner,
            std::vector<std::string>& notes)
      : request_(request),
        catalog_(catalog),
        runner_(runner),
        notes_(&notes),
        folder_(absolute_folder(request.folder)) {}

  std::vector<Diagnostic> run() {
    check_folder();
    if (!faults_.empty()) return faults_;
    read_plan();
    check_values();
    if (request_.scheduler == Scheduler::eks) {
      check_kubernetes();
    } else {
      if (request_.scheduler == Scheduler::slurm && plan_) check_slurm();
      if (request_.scheduler == Scheduler::local && plan_) check_local();
    }
    return faults_;
  }

 private:
  void fault(std::string file, std::string key, std::string problem, std::string fix) {
    faults_.push_back({{std::move(file), 0, 0}, std::move(key), std::move(problem), std::move(fix)});
  }

  void check_folder() {
    if (!fs::is_directory(folder_)) {
      fault(request_.folder.string(), "", "is no folder", "write one: trnplan plan JOB --out DIR");
      return;
    }
    if (!plain_path(folder_.string())) {
      fault(folder_.string(), "", "the path holds characters that the training script takes for its own",
            "use a path of letters, digits and / _ . - + @");
    }
    for (const char* name :
         {"plan.json", "config.json", "setup_env.sh", "node_run.sh", "compile.sbatch", "train.sbatch"}) {
      if (!fs::is_regular_file(folder_ / name)) {
        fault((folder_ / name).string(), "", "is missing",
              "write the folder anew: trnplan plan JOB --out DIR --force");
      }
    }
  }

  void read_plan() {
    try {
      plan_ = io::read_plan_file(folder_ / "plan.json", catalog_);
    } catch (const InputError& e) {
      faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
    }
  }

  std::optional<Values> values() {
    const ProcessResult ran = runner_(
        {"bash", "-c",
         "set -eu; plan=$1; . \"$plan/setup_env.sh\"; printf '%s\\0' \"$TRNPLAN_VENV\" \"$TRNPLAN_CODE\" "
         "\"$TRNPLAN_DATA\" \"$TRNPLAN_PARTITION\"",
         "bash", folder_.string()},
        {});
    std::vector<std::string> words;
    for (std::size_t at = 0; at < ran.output.size();) {
      const std::size_t end = std::min(ran.output.find('\0', at), ran.output.size());
      words.push_back(ran.output.substr(at, end - at));
      at = end + 1;
    }
    if (ran.ok() && words.size() == 4) return Values{words[0], words[1], words[2], words[3]};
    fault((folder_ / "setup_env.sh").string(), "", "bash cannot read it: " + printable(ran.error),
          "mend it, or write the folder anew");
    return std::nullopt;
  }

  void check_path(const char* name, const std::string& value, const fs::path& needed,
                  const std::string& fix) {
    const std::string file = (folder_ / "setup_env.sh").string();
    if (value.empty()) return fault(file, name, "is not set", fix);
    if (!plain_path(value)) {
      return fault(file, name,
                   "\"" + printable(value) + "\" is no absolute path of letters, digits and / _ . - + @",
                   fix);
    }
    if (request_.scheduler == Scheduler::eks) return;  // a path of the pods
    std::error_code error;
    if (!fs::exists(needed, error)) {
      fault(file, name, needed.string() + " is not there" + (error ? ": " + error.message() : ""), fix);
    }
  }

  void check_values() {
    const std::optional<Values> v = values();
    if (!v) return;
    values_ = *v;
    check_path("TRNPLAN_VENV", v->venv, fs::path(v->venv) / "bin" / "torchrun",
               "set it to the Python environment that holds the software");
    const std::optional<Target> target = target_from(plan_ ? plan_->target : "nxdt");
    if (!target) {
      fault((folder_ / "plan.json").string(), "target", "unknown", "write the folder anew");
    } else if (plan_) {
      const TrainCommand command = train_command(*target, plan_->job, plan_->strategy);
      check_path("TRNPLAN_CODE", v->code, fs::path(v->code) / command.folder / command.script,
                 "git clone " + command.clone + ", and set it to the clone");
    }
    std::error_code error;
    const fs::path indexed = v->data + ".bin";  // Megatron's data sets are named without their ending
    check_path("TRNPLAN_DATA", v->data, fs::exists(indexed, error) ? indexed : fs::path(v->data),
               "set it to the tokenised data set");
  }

  void check_local() {
    if (plan_->job.cluster.nodes > 1) {
      fault((folder_ / "plan.json").string(), "strategy.nodes",
            fmt::format("the plan needs {} nodes, and this is one", plan_->job.cluster.nodes),
            "plan with --nodes 1 for a smoke test");
    }
  }

  void check_slurm() {
    if (const ProcessResult sbatch = runner_({"sbatch", "--version"}, kQuery); !sbatch.started) {
      return fault("command line", "--scheduler", "there is no sbatch here: " + sbatch.error,
                   "run it on the head node of the Slurm cluster, or take --scheduler local");
    }
    std::vector<std::string> command = {"sinfo", "-N", "-o", "%N %t %f %P"};
    if (!values_.partition.empty()) command.insert(command.begin() + 1, "--partition=" + values_.partition);
    const ProcessResult sinfo = runner_(command, kQuery);
    if (!sinfo.ok()) {
      return fault("sinfo", "", "failed: " + printable(sinfo.error.empty() ? sinfo.output : sinfo.error),
                   "start Slurm's controller, or correct its address in slurm.conf");
    }
    compare_cluster(sinfo.output);
  }

  /// The partition sinfo marks as the default one.
  static std::string default_partition(const std::string& table) {
    const std::size_t star = table.find("*\n");
    if (star == std::string::npos) return "";
    const std::size_t blank = table.find_last_of(" \n", star);
    return table.substr(blank + 1, star - blank - 1);
  }

  class Table : public io::Files {
   public:
    explicit Table(const std::string& text) : text_(text) {}
    bool has(const fs::path&) const override { return true; }
    std::string text(const fs::path&) const override { return text_; }

   private:
    const std::string& text_;
  };

  void compare_cluster(const std::string& table) {
    const std::string wanted = values_.partition.empty() ? default_partition(table) : values_.partition;
    try {
      const io::ClusterReading found = io::read_sinfo("sinfo", catalog_, wanted, Table(table));
      for (const std::string& note : found.notes) notes_->push_back(note);
      const int needed = plan_->job.cluster.nodes;
      if (found.nodes < needed) {
        fault("sinfo", "",
              fmt::format("partition {} has {} usable nodes, the plan needs {}", printable(found.group),
                          found.nodes, needed),
              fmt::format("set TRNPLAN_PARTITION in setup_env.sh, mend nodes, or plan with --nodes {}",
                          found.nodes));
      }
      compare_instance(found);
    } catch (const InputError& e) {
      faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
    }
  }

  void compare_instance(const io::ClusterReading& found) {
    if (found.instance.empty()) {
      notes_->push_back(
          "sinfo names no instance type for these nodes, so it was not compared with the plan's");
      return;
    }
    const std::string have = io::machine_type(catalog_.instance(found.instance)),
                      need = io::machine_type(plan_->job.cluster.instance);
    if (have != need) {
      fault("sinfo", "", fmt::format("the nodes are {}, the plan is for {}", have, need),
            fmt::format("plan for {}, or set TRNPLAN_PARTITION in setup_env.sh", have));
    }
  }

  void check_kubernetes() {
    const fs::path manifest = folder_ / request_.manifest;
    if (fs::path(request_.manifest).filename() != request_.manifest || !fs::is_regular_file(manifest)) {
      return fault(manifest.string(), "--manifest", "there is no such file in the folder",
                   "take mpijob.yaml or pytorchjob.yaml");
    }
    const std::string text = io::read_text(manifest);
    std::size_t line = 1, at = 0;
    for (std::size_t end; at < text.size(); at = end + 1, ++line) {
      end = std::min(text.find('\n', at), text.size());
      const std::string_view row = std::string_view(text).substr(at, end - at);
      if (row.starts_with('#') || row.find(io::kSetMe) == std::string_view::npos) continue;
      faults_.push_back({{manifest.string(), static_cast<int>(line), 0},
                         "",
                         "still holds " + std::string(io::kSetMe),
                         "put in the image that holds the software"});
    }
    if (const ProcessResult kubectl = runner_({"kubectl", "version", "--client"}, kQuery); !kubectl.ok()) {
      fault("command line", "--scheduler", "there is no kubectl here: " + printable(kubectl.error),
            "install kubectl and point it at the cluster");
    }
  }

  const SubmitRequest& request_;
  const io::Catalog& catalog_;
  const Runner& runner_;
  std::vector<std::string>* notes_;
  fs::path folder_;
  std::vector<Diagnostic> faults_;
  std::optional<io::PlanFile> plan_;
  Values values_;
};

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

std::string partition_of(const fs::path& folder, const Runner& runner) {
  const ProcessResult ran = runner({"bash", "-c",
                                    "set -eu; plan=$1; . \"$plan/setup_env.sh\"; printf '%s' "
                                    "\"$TRNPLAN_PARTITION\"",
                                    "bash", folder.string()},
                                   {});
  return ran.ok() ? ran.output : "";
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
  const std::string partition = partition_of(folder, runner);
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

std::vector<Diagnostic> preflight(const SubmitRequest& request, const io::Catalog& catalog,
                                  const Runner& runner, std::vector<std::string>& notes) {
  return Preflight(request, catalog, runner, notes).run();
}

std::vector<std::vector<std::string>> commands(const SubmitRequest& request, const Runner& runner) {
  const fs::path folder = absolute_folder(request.folder);
  if (request.scheduler == Scheduler::local) return {local_command(folder)};
  if (request.scheduler == Scheduler::eks) return {kubectl_command(request, folder)};
  const std::string partition = partition_of(folder, runner);
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
