// Who runs the jobs of a plan's folder. The rooms slurm/, kubernetes/ and local/ implement the interface;
// launch/submit/schedulers.h lists them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/catalog/catalog.h"
#include "io/input/plan_file.h"
#include "launch/folder/folder_settings.h"
#include "launch/folder/held_folder.h"
#include "launch/process/process.h"
#include "launch/scheduler/submission.h"
#include "text/diagnostic.h"

namespace trnplan::launch {

/// A folder that is to be submitted.
struct Order {
  const HeldFolder& held;
  std::filesystem::path folder;  ///< its path
  std::string flavour;           ///< of Kubernetes: a name of io/output/emit_kubernetes.h
};

/// What a scheduler's checks look at, and where they say what they found.
struct CheckedFolder {
  const Order& order;
  const io::PlanFile* plan;  ///< nullptr: plan.json cannot be read, which was told
  const FolderSettings& settings;
  const io::Catalog& catalog;
  const Runner& runner;
  std::vector<Diagnostic>& faults;
  std::vector<std::string>& notes;  ///< what could not be checked

  void fault(std::string file, std::string key, std::string problem, std::string fix) const {
    faults.push_back({{std::move(file), 0, 0}, std::move(key), std::move(problem), std::move(fix)});
  }
};

/// Objects without state; all functions may be called from any thread.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// One word, as --scheduler and launch.json have it: "slurm".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Behind the name in the help, such as ": a smoke test on this node"; "" where the name says it.
  [[nodiscard]] virtual std::string_view remark() const { return ""; }

  /// It has jobs that train what the target writes on such machines.
  [[nodiscard]] virtual bool runs_on(const topology::Instance&, const planner::Target&) const { return true; }
  /// The pods of its jobs, which paths of settings.env are of; nullopt: they are of this machine.
  [[nodiscard]] virtual std::optional<Pods> pods(const Order&) const { return std::nullopt; }
  /// The files of the folder that are applied and have to be the plan's.
  [[nodiscard]] virtual std::vector<std::string> manifests(const Order&) const { return {}; }
  /// The files of the folder that it starts jobs with, whether they are there or not. node_run.sh is every scheduler's.
  [[nodiscard]] virtual std::vector<std::string> needs(const Order&) const { return {}; }
  /// Why such a plan cannot run on it at all; nothing else is checked then.
  [[nodiscard]] virtual std::optional<Diagnostic> refusal(const Order&, const io::PlanFile&) const {
    return std::nullopt;
  }
  /// What keeps the folder from running on it; asks the scheduler's own programs, and changes nothing.
  virtual void check(const CheckedFolder& checked) const = 0;

  /// The commands that submit() runs, in their order; COMPILE_JOB_ID, trnplan-UNIQUE and TRNPLAN_PARTITION
  /// stand for an id, a name and a partition that are not known yet. Nothing of the folder is run.
  [[nodiscard]] virtual std::vector<std::vector<std::string>> commands(const Order& order) const = 0;

  /// Whether launch.json is kept: jobs that go on after submit() ended.
  [[nodiscard]] virtual bool keeps_record() const { return true; }
  /// Whether a text is an id of one of its jobs. Only plain ones are asked (is_plain_id).
  [[nodiscard]] virtual bool is_job_id(const std::string& id) const = 0;
  /// Whether `trnplan watch` finds the log of a job by its id.
  [[nodiscard]] virtual bool can_watch() const { return false; }
  /// The command that prints the log of a job as it comes, for `trnplan watch -`; empty where there is none.
  [[nodiscard]] virtual std::vector<std::string> prints_log(const std::string& /*id*/) const { return {}; }
  /// What submit() takes its time for; "" where it returns at once.
  [[nodiscard]] virtual std::string waits_for() const { return ""; }

  /// Submits what `before`, the folder's launch.json, does not hold yet, and writes launch.json. `lock`: the
  /// descriptor that keeps others away, for programs that may outlive us. Before each submission it asks for
  /// HeldFolder::need_unchanged(). Throws SchedulerRefused; InputError when launch.json cannot be written.
  virtual SubmitResult submit(const Order& order, const std::optional<Submission>& before, int lock,
                              const Runner& runner) const = 0;
};

}  // namespace trnplan::launch
