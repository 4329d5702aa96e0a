#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "io/input/plan_file.h"
#include "launch/folder/again.h"
#include "launch/folder/folder_check.h"
#include "launch/folder/folder_settings.h"
#include "launch/folder/scripts.h"
#include "launch/submit/submit.h"
#include "targets/registry.h"
#include "text/document.h"
#include "text/parse.h"
#include "text/version.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPlainPath = "not an absolute path of letters, digits and / _ . - + @";

class Preflight {
 public:
  Preflight(const SubmitRequest& request, const io::Catalog& catalog, const Runner& runner,
            std::vector<std::string>& notes)
      : request_(request),
        catalog_(catalog),
        runner_(runner),
        notes_(&notes),
        folder_(request.folder.path()),
        order_{request.folder, folder_, request.flavour},
        pods_(request.scheduler.pods(order_)) {}

  std::vector<Diagnostic> run() {
    check_folder();
    if (!faults_.empty()) return faults_;
    read_plan();
    if (plan_) {
      if (auto refusal = request_.scheduler.refusal(order_, *plan_)) return {std::move(*refusal)};
      if (auto other = for_another()) return {std::move(*other)};
    }
    if (plan_) check_files();
    check_values();
    check_copy();
    request_.scheduler.check(
        {order_, plan_ ? &*plan_ : nullptr, settings_, catalog_, runner_, faults_, *notes_});
    return faults_;
  }

 private:
  void fault(std::string file, std::string key, std::string problem, std::string fix) {
    faults_.push_back({{std::move(file), 0, 0}, std::move(key), std::move(problem), std::move(fix)});
  }

  void check_folder() {
    if (!request_.folder.is_folder()) {
      fault(folder_.string(), "", "is not a folder", "write one: trnplan plan JOB --out DIR");
      return;
    }
    if (!plain_path(folder_.string())) {
      fault(folder_.string(), "", "the path contains characters that are special to the training script",
            "use a path of letters, digits and / _ . - + @");
    }
    for (const char* name : {io::kPlanFile, "config.json", kSettingsFile, "setup_env.sh", "node_run.sh"})
      need_file(name);
  }

  void need_file(const char* name) {
    if (has_file(name)) return;
    fault((folder_ / name).string(), "", "is missing", plan_again());
  }

  bool has_file(const std::string& name) const {
    std::error_code error;
    return fs::is_regular_file(folder_ / name, error);
  }

  /// Fault of a plan that was written for another scheduler and lacks files that this one needs.
  std::optional<Diagnostic> for_another() const {
    const std::optional<models::SubmitBy>& by = plan_->job.run.scheduler;
    if (!by) return std::nullopt;
    const std::string_view own = models::kSubmitNames[static_cast<std::size_t>(*by)];
    const std::vector<std::string> needed = request_.scheduler.needs(order_);
    if (own == request_.scheduler.name() ||
        std::all_of(needed.begin(), needed.end(), [&](const auto& name) { return has_file(name); }))
      return std::nullopt;
    return Diagnostic{{(folder_ / io::kPlanFile).string(), 0, 0},
                      "job.run.scheduler",
                      fmt::format("the folder was written for {} only", own),
                      fmt::format("plan again without --scheduler (run.scheduler of the job), or launch with "
                                  "--scheduler {}",
                                  own)};
  }

  void read_plan() {
    const fs::path path = folder_ / io::kPlanFile;
    try {
      const std::string version = io::plan_version(request_.folder.read(io::kPlanFile));
      try {
        plan_ = io::read_plan_file(path, catalog_, request_.folder);
      } catch (const InputError& e) {
        if (version.empty() || version == program_version()) throw;
        faults_.push_back(of_another_version(path.string(), version, e.faults().front()));
      }
    } catch (const InputError& e) {
      faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
    }
  }

  void check_files() {
    FolderFindings found =
        launch::check_folder(request_.folder, *plan_, request_.scheduler.manifests(order_));
    for (Diagnostic& d : found.faults) faults_.push_back(std::move(d));
    for (std::string& what : found.edited) notes_->push_back(std::move(what));
  }

  void setting_fault(const std::string& name, const Setting& stated, std::string problem, std::string fix) {
    const std::string file = stated.line > 0 ? (folder_ / kSettingsFile).string() : "environment";
    faults_.push_back(
        {{file, stated.line, stated.line > 0 ? 1 : 0}, name, std::move(problem), std::move(fix)});
  }

  void check_numbers() {
    for (const char* name : {"TRNPLAN_RESTARTS", "TRNPLAN_SMOKE_STEPS"}) {
      const auto stated = settings_.find(name);
      if (stated && !parse_whole(stated->value))
        setting_fault(name, *stated, in_quotes(stated->value) + " is not a whole number",
                      "write for example 3");
    }
  }

  /// True if a path is on a volume of the pods, which see settings.env, their volumes and their image.
  bool on_volume(const std::string& path) const {
    const auto holds = [&](const std::string& mount) {
      return path == mount || path.starts_with(mount.ends_with('/') ? mount : mount + '/');
    };
    return std::any_of(pods_->mounts.begin(), pods_->mounts.end(), holds);
  }
  std::string volumes() const {
    std::string text;
    for (const std::string& mount : pods_->mounts) text += (text.empty() ? "" : " and ") + mount;
    return text;
  }
  bool knows_pods() const { return pods_ && !pods_->folder.empty() && !pods_->mounts.empty(); }

  /// Checks the place of the copy that pods run, which is out of reach here.
  void check_copy() {
    if (!knows_pods()) return;
    if (!on_volume(pods_->folder)) {
      return fault((folder_ / request_.scheduler.manifests(order_).back()).string(), "command",
                   "the pods look for this folder at " + pods_->folder + ", and mount " + volumes(),
                   "write a path below it there, or mount the volume where the folder is");
    }
    notes_->push_back(
        fmt::format("the pods run the copy of this folder at {} on their volume: copy {} there first, as it "
                    "is now (README.md)",
                    pods_->folder, folder_.string()));
  }

  /// Checks a path whose files have to outlive a pod, or reach another.
  void check_shared(const char* name, const std::optional<Setting>& stated, const char* what) {
    if (!knows_pods() || !stated || !on_volume(pods_->folder) || on_volume(stated->value)) return;
    if (!plain_path(stated->value)) return;  // reported elsewhere
    setting_fault(
        name, *stated,
        fmt::format("{} is not on the pods' volume ({}): {}", in_quotes(stated->value), volumes(), what),
        "set it to a folder below " + pods_->mounts.front());
  }

  /// Checks the path that a setting names; the needed files lie `below` it. A missing name was reported before.
  void check_path(const char* name, const fs::path& below, const std::string& fix) {
    const auto stated = settings_.find(name);
    if (!stated) return;
    const std::string& value = stated->value;
    const fs::path needed = below.empty() ? fs::path(value) : fs::path(value) / below;
    if (value.empty()) {
      const bool ours = pods_ && std::getenv(name) != nullptr;
      return setting_fault(name, *stated,
                           ours ? "is not set in it, and pods do not get it from this shell" : "is not set",
                           fix);
    }
    if (!plain_path(value)) return setting_fault(name, *stated, in_quotes(value) + " is " + kPlainPath, fix);
    if (pods_) {
      if (knows_pods() && !on_volume(value)) {
        notes_->push_back(fmt::format("{}: {} is not on the pods' volume ({}), so their image has to hold it",
                                      name, value, volumes()));
      }
      return;
    }
    std::error_code error;
    if (!fs::exists(needed, error)) {
      setting_fault(name, *stated,
                    needed.string() + " does not exist" + (error ? ": " + error.message() : ""), fix);
    }
  }

  /// Checks the path of a folder that the jobs create, if they use it.
  void check_made(const char* name, const std::optional<Setting>& stated) {
    if (!stated || plain_path(stated->value)) return;
    if (stated->value.empty() && node_script().find(std::string("$") + name) == std::string::npos) return;
    setting_fault(name, *stated,
                  stated->value.empty() ? "is not set" : in_quotes(stated->value) + " is " + kPlainPath,
                  "write such a path, or one below ./, the plan's folder: nothing is expanded");
  }

  /// Checks values that only this target asks for.
  void check_asked(const planner::Target& target) {
    for (const planner::PersonValue& v : target.asked_for(plan_->job)) {
      const auto found = settings_.find(v.name);
      if (!found) continue;
      if (v.is_path) {
        check_path(v.name.c_str(), {}, "set it: " + v.meaning);
      } else if (!parse_whole(found->value)) {
        setting_fault(v.name, *found, in_quotes(found->value) + " is not a whole number",
                      "set it: " + v.meaning);
      }
    }
  }

  /// Reports a folder of results that another plan trains in. node_run.sh would refuse it only after compiling.
  void check_results() {
    const auto stated = settings_.results();
    if (!stated || pods_ || !plain_path(stated->value)) return;
    const std::string script = node_script(), mark = "\nidentity='";
    const std::size_t at = script.find(mark);
    if (at == std::string::npos) return;
    const std::size_t from = at + mark.size();
    const std::string ours = script.substr(from, script.find('\'', from) - from);
    const fs::path file = fs::path(stated->value) / kRunMark;
    std::error_code error;
    if (!fs::is_regular_file(file, error)) return;
    std::string theirs = read_text(file);
    theirs.erase(std::min(theirs.find('\n'), theirs.size()));
    if (theirs == ours) return;
    setting_fault(
        kResults, *stated, stated->value + " holds the run of another plan: " + printable(theirs),
        "set it to a folder that only this plan uses, or remove " + file.string() + " to continue that run");
  }

  /// Text of node_run.sh; "" if it cannot be read, which the folder's check reports.
  std::string node_script() const {
    try {
      return request_.folder.read("node_run.sh");
    } catch (const InputError&) {
      return "";
    }
  }

  void check_values() {
    try {
      settings_ = FolderSettings(read_settings(request_.folder.read(kSettingsFile)), folder_, pods_);
    } catch (const InputError& e) {
      if (!plan_)
        faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());  // else reported before
      return;
    }
    const planner::Target* target = plan_ ? targets::find(plan_->target) : nullptr;
    const bool reads_data = target == nullptr || target->reads_data(plan_->job);
    const bool compiles = target == nullptr || target->compiles_ahead();
    check_numbers();
    check_path("TRNPLAN_VENV",
               fs::path("bin") / (target == nullptr ? planner::kTorchrun : target->starter()).program,
               compiles
                   ? "set it to the Python environment that holds the software"
                   : "set it to where the Python environment is, which bash prepare.sh environment makes");
    // The folder's check reports a plan that the target cannot express.
    std::string data_fix = "set it to the tokenised data set";
    if (target != nullptr && !planner::inexpressible(*target, plan_->job, plan_->strategy)) {
      const planner::Preparation prepared = target->preparation(plan_->job, plan_->strategy);
      if (!prepared.data_made.empty()) {
        data_fix += ", or make one: bash prepare.sh data";
      } else if (!prepared.data_is.empty()) {
        data_fix = "set it to the folder of the data set: " + prepared.data_is;
      }
      const planner::TargetCode code = target->code_for(plan_->job, plan_->strategy);
      check_path("TRNPLAN_CODE", fs::path(code.folder) / code.script,
                 "git clone " + code.clone +
                     ", and set it to the clone; bash prepare.sh environment makes it, of the revision that "
                     "the plan is for");
    }
    if (target != nullptr) check_asked(*target);
    check_made(kResults, settings_.results());
    for (const char* name : {"TRNPLAN_CACHE", "TRNPLAN_LOCAL_CACHE"}) check_made(name, settings_.find(name));
    check_results();
    check_shared(kResults, settings_.results(), "checkpoints would be lost with the pod");
    if (compiles)
      check_shared("TRNPLAN_CACHE", settings_.find("TRNPLAN_CACHE"),
                   "what the first job compiles would not reach the one that trains");
    if (!reads_data) return;
    std::error_code error;
    const std::string data = settings_.value("TRNPLAN_DATA");
    const fs::path indexed = data + ".bin";  // Megatron's data sets are named without their ending
    if (plain_path(data) && fs::exists(indexed, error)) return;
    check_path("TRNPLAN_DATA", {}, data_fix);
  }

  const SubmitRequest& request_;
  const io::Catalog& catalog_;
  const Runner& runner_;
  std::vector<std::string>* notes_;
  fs::path folder_;
  Order order_;
  std::optional<Pods> pods_;
  std::vector<Diagnostic> faults_;
  std::optional<io::PlanFile> plan_;
  FolderSettings settings_;
};

}  // namespace

std::vector<Diagnostic> preflight(const SubmitRequest& request, const io::Catalog& catalog,
                                  const Runner& runner, std::vector<std::string>& notes) {
  return Preflight(request, catalog, runner, notes).run();
}

}  // namespace trnplan::launch
