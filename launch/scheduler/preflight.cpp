#include "launch/scheduler/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "io/input/cluster_files.h"
#include "io/input/plan_file.h"
#include "io/output/emit_cluster.h"
#include "launch/folder/folder_check.h"
#include "launch/folder/setup_env.h"
#include "launch/scheduler/submit.h"
#include "targets/registry.h"
#include "text/document.h"
#include "text/parse.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSetup = "setup_env.sh";
const ProcessOptions kQuery = {true, {}, -1, kQuerySeconds};

Environment environment_of(const fs::path& folder) {
  return [folder](const std::string& name) -> std::optional<std::string> {
    if (name == "plan") return folder.string();  // the scripts set it before they read the file
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

/// bash runs the file and prints the variables with zero bytes between.
SetupValues run_setup(const fs::path& folder, const Runner& runner) {
  const ProcessResult ran = runner(
      {"bash", "-c",
       "set -eu; plan=$1; . \"$plan/setup_env.sh\" >&2; printf '%s\\0' \"$TRNPLAN_VENV\" \"$TRNPLAN_CODE\" "
       "\"$TRNPLAN_DATA\" \"$TRNPLAN_PARTITION\"",
       "bash", folder.string()},
      {});
  std::vector<std::string> words;
  for (std::size_t at = 0; at < ran.output.size();) {
    const std::size_t end = std::min(ran.output.find('\0', at), ran.output.size());
    words.push_back(ran.output.substr(at, end - at));
    at = end + 1;
  }
  if (ran.ok() && words.size() == 4) return {words[0], words[1], words[2], words[3]};
  throw InputError({{(folder / kSetup).string(), 0, 0},
                    "",
                    "bash cannot read it: " + printable(ran.error),
                    "mend it, or write the folder anew"});
}

/// Hydra takes , = { } [ ] ( ) $ and quotes in a value for its own; a dash in front for an option.
bool plain_path(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-+@";
  return text.starts_with('/') && text.find_first_not_of(kPlain) == std::string_view::npos;
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
    if (plan_) {
      const std::string manifest = request_.scheduler == Scheduler::eks ? request_.manifest : "";
      for (Diagnostic& d : folder_faults(folder_, *plan_, has_manifest() ? manifest : ""))
        faults_.push_back(std::move(d));
    }
    check_syntax();
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
         {"plan.json", "config.json", kSetup, "node_run.sh", "compile.sbatch", "train.sbatch"}) {
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

  /// Nothing in it is run: -n only parses.
  void check_syntax() {
    const ProcessResult ran =
        runner_({"bash", "-n", (folder_ / kSetup).string()}, {true, {"BASH_ENV"}, -1, kQuerySeconds});
    if (!ran.started) return notes_->push_back("there is no bash here, so setup_env.sh was not parsed");
    if (!ran.ok()) {
      fault((folder_ / kSetup).string(), "", "bash cannot read it: " + printable(ran.error),
            "mend it, or write the folder anew");
    }
  }

  /// Variables that the scripts take for granted, so that a file that was cut off is noticed.
  void check_all_set() {
    const SetupEnv env = read_setup_env(read_text(folder_ / kSetup), environment_of(folder_));
    for (const char* name :
         {"TRNPLAN_VENV", "TRNPLAN_CODE", "TRNPLAN_DATA", "TRNPLAN_CACHE", "TRNPLAN_LOCAL_CACHE",
          "TRNPLAN_PARTITION", "TRNPLAN_RESTARTS", "TRNPLAN_SMOKE_STEPS"}) {
      const auto found = env.values.find(name);
      if (found == env.values.end()) {
        if (env.unread.empty())
          fault((folder_ / kSetup).string(), name, "is nowhere set, and the scripts need it",
                "put back its line, or write the folder anew");
        else
          not_known(name, env.unread.front());
        continue;
      }
      if (!found->second.text) {
        not_known(name, found->second.line);
      } else if (const std::string_view what = name;
                 what == "TRNPLAN_RESTARTS" || what == "TRNPLAN_SMOKE_STEPS") {
        if (parse_whole(*found->second.text)) continue;
        faults_.push_back({{(folder_ / kSetup).string(), found->second.line, 1},
                           name,
                           in_quotes(*found->second.text) + " is no whole number",
                           "write for example 3"});
      }
    }
  }

  void not_known(const char* name, int line) {
    if (!request_.dry_run) return;
    notes_->push_back(
        fmt::format("{}:{}: {} is not known without running this file, which a dry run does not",
                    (folder_ / kSetup).string(), line, name));
  }

  /// `needed` is below `value`. What is not known was noted.
  void check_path(const char* name, const std::optional<std::string>& stated, const fs::path& below,
                  const std::string& fix) {
    if (!stated) return;
    const std::string& value = *stated;
    const fs::path needed = below.empty() ? fs::path(value) : fs::path(value) / below;
    const std::string file = (folder_ / kSetup).string();
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
    try {
      values_ = setup_values(folder_, request_.dry_run ? Runner() : runner_);
    } catch (const InputError& e) {
      faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
      return;
    }
    check_all_set();
    check_path("TRNPLAN_VENV", values_.venv, fs::path("bin") / "torchrun",
               "set it to the Python environment that holds the software");
    const planner::Target* target = plan_ ? targets::find(plan_->target) : nullptr;
    // The folder's check tells of what the target lacks.
    if (target != nullptr && !planner::inexpressible(*target, plan_->job, plan_->strategy)) {
      const planner::TargetCode code = target->code();
      check_path("TRNPLAN_CODE", values_.code, fs::path(code.folder) / code.script,
                 "git clone " + code.clone + ", and set it to the clone");
    }
    if (!values_.data) return;
    std::error_code error;
    const fs::path indexed = *values_.data + ".bin";  // Megatron's data sets are named without their ending
    if (!values_.data->empty() && plain_path(*values_.data) && fs::exists(indexed, error)) return;
    check_path("TRNPLAN_DATA", values_.data, {}, "set it to the tokenised data set");
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
    const std::string partition = values_.partition.value_or("");
    if (!partition.empty()) command.insert(command.begin() + 1, "--partition=" + partition);
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

  class Table : public Files {
   public:
    explicit Table(const std::string& text) : text_(text) {}
    bool has(const fs::path&) const override { return true; }
    std::string text(const fs::path&) const override { return text_; }

   private:
    const std::string& text_;
  };

  void compare_cluster(const std::string& table) {
    const std::string partition = values_.partition.value_or("");
    const std::string wanted = partition.empty() ? default_partition(table) : partition;
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

  bool has_manifest() const {
    return fs::path(request_.manifest).filename() == request_.manifest &&
           fs::is_regular_file(folder_ / request_.manifest);
  }

  void check_kubernetes() {
    const fs::path manifest = folder_ / request_.manifest;
    if (!has_manifest()) {
      return fault(manifest.string(), "--manifest", "there is no such file in the folder",
                   "take mpijob.yaml or pytorchjob.yaml");
    }
    const std::string text = read_text(manifest);
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
  SetupValues values_;
};

}  // namespace

fs::path absolute_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error);
  return error ? fs::absolute(folder) : whole;
}

SetupValues setup_values(const fs::path& folder, const Runner& runner) {
  const SetupEnv env = read_setup_env(read_text(folder / kSetup), environment_of(folder));
  bool known = true;
  const auto value = [&](const char* name) -> std::optional<std::string> {
    const auto found = env.values.find(name);
    if (found != env.values.end() && found->second.text) return found->second.text;
    if (found == env.values.end() && env.unread.empty()) return "";
    known = false;
    return std::nullopt;
  };
  SetupValues values{value("TRNPLAN_VENV"), value("TRNPLAN_CODE"), value("TRNPLAN_DATA"),
                     value("TRNPLAN_PARTITION")};
  return known || !runner ? values : run_setup(folder, runner);
}

std::vector<Diagnostic> preflight(const SubmitRequest& request, const io::Catalog& catalog,
                                  const Runner& runner, std::vector<std::string>& notes) {
  return Preflight(request, catalog, runner, notes).run();
}

}  // namespace trnplan::launch
