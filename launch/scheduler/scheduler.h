// Interface of the schedulers that run the jobs of a plan's folder. The rooms slurm/, kubernetes/ and local/
// implement it; launch/submit/schedulers.h lists them.
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

/// A folder to submit.
struct Order {
  const HeldFolder& held;
  std::filesystem::path folder;  ///< its path
  std::string flavour;           ///< of Kubernetes: a name of io/output/emit_kubernetes.h
};

/// Input of a scheduler's checks, and the lists of their findings.
struct CheckedFolder {
  const Order& order;
  const io::PlanFile* plan;  ///< nullptr: plan.json cannot be read, which is already reported
  const FolderSettings& settings;
  const io::Catalog& catalog;
  const Runner& runner;
  std::vector<Diagnostic>& faults;
  std::vector<std::string>& notes;  ///< on what could not be checked

  void fault(std::string file, std::string key, std::string problem, std::string fix) const {
    faults.push_back({{std::move(file), 0, 0}, std::move(key), std::move(problem), std::move(fix)});
  }
};

/// Objects without state; all functions may be called from any thread.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// One word, for --scheduler and launch.json: "slurm".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Text after the name in the help, such as ": a smoke test on this node"; "" if the name says it all.
  [[nodiscard]] virtual std::string_view remark() const { return ""; }

  /// True if it has jobs that train the target's output on such machines.
  [[nodiscard]] virtual bool runs_on(const topology::Instance&, const planner::Target&) const { return true; }
  /// Pods of its jobs, if paths in settings.env are theirs; nullopt if they are paths of this machine.
  [[nodiscard]] virtual std::optional<Pods> pods(const Order&) const { return std::nullopt; }
  /// Files of the folder that are applied and have to equal the plan's.
  [[nodiscard]] virtual std::vector<std::string> manifests(const Order&) const { return {}; }
  /// Files of the folder with which it starts jobs, present or not. Every scheduler needs node_run.sh.
  [[nodiscard]] virtual std::vector<std::string> needs(const Order&) const { return {}; }
  /// Reason why it cannot run such a plan at all; then nothing else is checked.
  [[nodiscard]] virtual std::optional<Diagnostic> refusal(const Order&, const io::PlanFile&) const {
    return std::nullopt;
  }
  /// Reports whatever keeps it from running the folder. Asks the scheduler's own programs, and changes
  /// nothing.
  virtual void check(const CheckedFolder& checked) const = 0;

  /// Commands that submit() runs, in order. COMPILE_JOB_ID, trnplan-UNIQUE and TRNPLAN_PARTITION replace an
  /// id, a name and a partition that are not known yet. Runs nothing of the folder.
  [[nodiscard]] virtual std::vector<std::vector<std::string>> commands(const Order& order) const = 0;

  /// True if launch.json is kept, because jobs continue after submit() ends.
  [[nodiscard]] virtual bool keeps_record() const { return true; }
  /// True if a text is an id of one of its jobs. Requires: is_plain_id(id).
  [[nodiscard]] virtual bool is_job_id(const std::string& id) const = 0;
  /// True if `trnplan watch` finds the log of a job by its id.
  [[nodiscard]] virtual bool can_watch() const { return false; }
  /// Command that prints the log of a job as it grows, for `trnplan watch -`; empty if there is none.
  [[nodiscard]] virtual std::vector<std::string> prints_log(const std::string& /*id*/) const { return {}; }
  /// Reason why submit() takes long; "" if it returns at once.
  [[nodiscard]] virtual std::string waits_for() const { return ""; }

  /// Submits the jobs that `before`, the folder's launch.json, does not contain yet, and writes launch.json.
  /// `lock`: the descriptor that keeps other launches away, for programs that may outlive us. Calls
  /// HeldFolder::need_unchanged() before each submission. Throws SchedulerRefused; InputError if launch.json
  /// cannot be written.
  virtual SubmitResult submit(const Order& order, const std::optional<Submission>& before, int lock,
                              const Runner& runner) const = 0;
};

}  // namespace trnplan::launch
