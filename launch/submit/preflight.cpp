#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "io/input/plan_file.h"
#include "launch/folder/folder_check.h"
#include "launch/folder/scripts.h"
#include "launch/folder/setup_env.h"
#include "launch/folder/setup_values.h"
#include "launch/submit/submit.h"
#include "targets/registry.h"
#include "text/document.h"
#include "text/parse.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSetup = kSetupFile;

class Preflight {
 public:
  Preflight(const SubmitRequest& request, const io::Catalog& catalog, const Runner& runner,
            std::vector<std::string>& notes)
      : request_(request),
        catalog_(catalog),
        runner_(runner),
        notes_(&notes),
        folder_(absolute_folder(request.folder)),
        order_{folder_, request.flavour} {}

  std::vector<Diagnostic> run() {
    check_folder();
    if (!faults_.empty()) return faults_;
    read_plan();
    const planner::Target* target = plan_ ? targets::find(plan_->target) : nullptr;
    if (target == nullptr || target->compiles_ahead()) need_file("compile.sbatch");
    if (plan_) {
      for (Diagnostic& d : folder_faults(folder_, *plan_, request_.scheduler.manifests(order_)))
        faults_.push_back(std::move(d));
    }
    check_syntax();
    check_values();
    request_.scheduler.check(
        {order_, plan_ ? &*plan_ : nullptr, values_, catalog_, runner_, faults_, *notes_});
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
    for (const char* name : {"plan.json", "config.json", kSetup, "node_run.sh", "train.sbatch"})
      need_file(name);
  }

  void need_file(const char* name) {
    if (fs::is_regular_file(folder_ / name)) return;
    fault((folder_ / name).string(), "", "is missing",
          "write the folder anew: trnplan plan JOB --out DIR --force");
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
    if (!request_.scheduler.sees_our_paths()) return;
    std::error_code error;
    if (!fs::exists(needed, error)) {
      fault(file, name, needed.string() + " is not there" + (error ? ": " + error.message() : ""), fix);
    }
  }

  /// What only this target asks for.
  void check_asked(const planner::Target& target, const SetupEnv& env) {
    for (const planner::PersonValue& v : target.asked_for(plan_->job)) {
      const auto found = env.values.find(v.name);
      if (found == env.values.end() || !found->second.text) continue;
      const std::string& text = *found->second.text;
      if (v.is_path) {
        check_path(v.name.c_str(), text, {}, "set it: " + v.meaning);
      } else if (!parse_whole(text)) {
        fault((folder_ / kSetup).string(), v.name, in_quotes(text) + " is no whole number",
              "set it: " + v.meaning);
      }
    }
  }

  /// A folder of results that another plan trains in; node_run.sh would refuse it, behind the compilation.
  void check_results(const SetupEnv& env) {
    const auto stated = env.values.find("TRNPLAN_RESULTS");
    if (stated == env.values.end() || !stated->second.text || !request_.scheduler.sees_our_paths()) return;
    const std::string script = read_text(folder_ / "node_run.sh"), mark = "\nidentity='";
    const std::size_t at = script.find(mark);
    if (at == std::string::npos) return;
    const std::size_t from = at + mark.size();
    const std::string ours = script.substr(from, script.find('\'', from) - from);
    const fs::path file = fs::path(*stated->second.text) / kRunMark;
    std::error_code error;
    if (!fs::is_regular_file(file, error)) return;
    std::string theirs = read_text(file);
    theirs.erase(std::min(theirs.find('\n'), theirs.size()));
    if (theirs == ours) return;
    faults_.push_back({{(folder_ / kSetup).string(), stated->second.line, 1},
                       "TRNPLAN_RESULTS",
                       *stated->second.text + " holds the run of another plan: " + printable(theirs),
                       "set it to a folder of this plan's own, or remove " + file.string() +
                           " to go on with what is there"});
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
      const planner::TargetCode code = target->code_for(plan_->job, plan_->strategy);
      check_path("TRNPLAN_CODE", values_.code, fs::path(code.folder) / code.script,
                 "git clone " + code.clone + ", and set it to the clone");
    }
    const SetupEnv env = read_setup_env(read_text(folder_ / kSetup), environment_of(folder_));
    if (target != nullptr) check_asked(*target, env);
    check_results(env);
    if (!values_.data) return;
    std::error_code error;
    const fs::path indexed = *values_.data + ".bin";  // Megatron's data sets are named without their ending
    if (!values_.data->empty() && plain_path(*values_.data) && fs::exists(indexed, error)) return;
    check_path("TRNPLAN_DATA", values_.data, {}, "set it to the tokenised data set");
  }

  const SubmitRequest& request_;
  const io::Catalog& catalog_;
  const Runner& runner_;
  std::vector<std::string>* notes_;
  fs::path folder_;
  Order order_;
  std::vector<Diagnostic> faults_;
  std::optional<io::PlanFile> plan_;
  SetupValues values_;
};

}  // namespace

std::vector<Diagnostic> preflight(const SubmitRequest& request, const io::Catalog& catalog,
                                  const Runner& runner, std::vector<std::string>& notes) {
  return Preflight(request, catalog, runner, notes).run();
}

}  // namespace trnplan::launch
