#include "launch/folder/folder_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "io/input/plan_file.h"
#include "io/output/emit_cluster.h"
#include "launch/folder/again.h"
#include "launch/folder/bundle.h"
#include "launch/folder/cluster_kinds.h"
#include "launch/folder/editing.h"
#include "launch/folder/tree_check.h"
#include "planner/check/rules.h"
#include "targets/registry.h"
#include "text/version.h"

namespace trnplan::launch {

namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";

/// Plan from which the folder's files are written.
planner::Plan plan_of(const io::PlanFile& file) {
  planner::Plan plan;
  plan.strategy = file.strategy;
  plan.nodes = file.job.cluster.nodes;
  plan.instance = file.job.cluster.instance.name;
  plan.global_batch = file.job.training.global_batch;
  plan.report.step = file.step;
  plan.report.low = file.low;
  plan.report.high = file.high;
  return plan;
}

/// True for a file or folder that Python takes for a module, or in which it keeps compiled modules.
bool is_importable(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".py" || ending == ".pyc" || ending == ".so" || ending == ".pth") return true;
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  if (path.filename() == "__pycache__") return true;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("__init__.")) return true;
  }
  return false;
}

class FolderCheck {
 public:
  FolderCheck(const HeldFolder& folder, const io::PlanFile& plan, const std::vector<std::string>& manifests)
      : folder_(folder), plan_(plan), manifests_(manifests), target_(targets::find(plan.target)) {}

  FolderFindings run() {
    check_plan();
    if (target_ != nullptr && possible_) check_files();
    if (plan_.version != program_version() && !result_.faults.empty())
      result_.faults = {of_another_version(path_of(io::kPlanFile), plan_.version, result_.faults.front())};
    return std::move(result_);
  }

 private:
  std::string path_of(const std::string& name) const { return (folder_.path() / name).string(); }

  void fault(const std::string& name, std::string key, std::string problem, std::string fix) {
    result_.faults.push_back({{path_of(name), 0, 0}, std::move(key), std::move(problem), std::move(fix)});
  }

  // ---- plan.json

  void check_plan() {
    if (target_ == nullptr)
      return fault(io::kPlanFile, "target", in_quotes(plan_.target) + " is not known", plan_again());
    if (plan_.config.is_null()) fault(io::kPlanFile, "job.config", "is missing", plan_again());
    if (!plan_.unchanged)
      fault(io::kPlanFile, "", "is not as trnplan wrote it: its sha256 differs", undo_or_plan_again());
    for (const planner::Violation& v : planner::rule_violations(plan_.job, plan_.strategy, target_)) {
      if (!v.doubtful) impossible(v.message);
    }
    if (!possible_) return;
    if (const auto why = planner::inexpressible(*target_, plan_.job, plan_.strategy)) impossible(*why);
    if (const std::string why = no_folder_for(plan_.job.cluster.instance); !why.empty()) impossible(why);
  }

  void impossible(std::string why) {
    possible_ = false;
    fault(io::kPlanFile, "strategy", std::move(why), undo_or_plan_again());
  }

  // ---- the other files

  void check_files() {
    const std::vector<io::OutputFile> written = bundle_beside_plan(plan_.job, plan_of(plan_), *target_);
    std::set<std::string> names = {io::kPlanFile};
    for (const io::OutputFile& file : written) {
      names.insert(file.name);
      check_file(file);
    }
    check_others(names);
  }

  void check_file(const io::OutputFile& written) {
    const bool applied = std::find(manifests_.begin(), manifests_.end(), written.name) != manifests_.end();
    const Editing how = editing_of(written.name, applied);
    if (!folder_.holds(written.name)) {
      if (how == Editing::all) return edited(written.name, {"it has been removed"});
      return fault(written.name, "", "is missing", plan_again());
    }
    try {
      const std::string& found = how == Editing::all ? text_of_any(written.name) : folder_.read(written.name);
      if (found == written.text && how != Editing::layout) return;
      compare(how, {path_of(written.name), found, written.text}, written.name);
    } catch (const InputError& e) {
      if (how == Editing::all) return edited(written.name, {"it cannot be read"});
      result_.faults.insert(result_.faults.end(), e.faults().begin(), e.faults().end());
    }
  }

  /// Reads a file that no job reads: it may be a link, and change later.
  const std::string& text_of_any(const std::string& name) {
    other_ = read_text(folder_.path() / name);
    return other_;
  }

  void compare(Editing how, const FileText& file, const std::string& name) {
    FileFindings found = findings(how, file);
    const bool sound = found.faults.empty();
    for (Diagnostic& d : found.faults) result_.faults.push_back(std::move(d));
    if (how == Editing::layout && found.edited.empty()) return;  // only the layout differs, which is allowed
    if (sound) edited(name, found.edited);
  }

  FileFindings findings(Editing how, const FileText& file) const {
    const topology::Cluster& cluster = plan_.job.cluster;
    switch (how) {
      case Editing::nothing:
        return compare_bytes(file);
      case Editing::layout:
        return compare_json(file.path, file.found, plan_.config);
      case Editing::values:
        return compare_values(file);
      case Editing::directives:
        return compare_directives(file, cluster.hosts(),
                                  cluster.instance.hosts > 1 ? " hosts: " + io::hosts_text(cluster) : "");
      case Editing::fields:
        return compare_manifest(file);
      case Editing::all:
        break;
    }
    return {};
  }

  void edited(const std::string& name, const std::vector<std::string>& what) {
    result_.edited.push_back("edited: " + name +
                             (what.empty() ? "" : fmt::format(": {}", fmt::join(what, ", "))));
  }

  /// Reports files that only other plans' folders have, which would be taken for this plan's, and modules in
  /// a folder from which Python imports.
  void check_others(const std::set<std::string>& own) {
    std::set<std::string> of_other_plans;
    for (const planner::Target* target : targets::all()) {
      for (std::string& name : bundle_names(*target)) of_other_plans.insert(std::move(name));
    }
    const bool imports = target_->command(plan_.job, plan_.strategy).imports_plan;
    for (const std::string& name : folder_.names()) {
      if (own.contains(name)) continue;
      if (of_other_plans.contains(name) && editing_of(name, false) != Editing::all) {
        fault(name, "", "belongs to another plan: this one has no such file", "remove it");
      } else if (imports && is_importable(folder_.path() / name)) {
        fault(name, "", "would be imported by the plan's programs, which import from this folder",
              "remove it");
      }
    }
  }

  const HeldFolder& folder_;
  const io::PlanFile& plan_;
  const std::vector<std::string>& manifests_;
  const planner::Target* target_;
  bool possible_ = true;  ///< true if the files can be written
  std::string other_;
  FolderFindings result_;
};

}  // namespace

Diagnostic of_another_version(const std::string& plan_path, const std::string& version,
                              const Diagnostic& first) {
  const std::string who = version.empty() ? "an older trnplan, which did not record its version,"
                                          : "trnplan " + printable(version, 20);
  const std::string file = fs::path(first.at.file).filename().string();
  const std::string place = first.at.line > 0 ? fmt::format("{}:{}", file, first.at.line) : file;
  return {{plan_path, 0, 0},
          "trnplan_version",
          fmt::format(
              "{} wrote this folder, and trnplan {} would write it differently (the first difference: {}{})",
              who, program_version(), place, first.key.empty() ? "" : ", " + first.key),
          "plan again with this version: trnplan plan JOB --out DIR --force; or launch with the version that "
          "wrote it"};
}

FolderFindings check_folder(const HeldFolder& folder, const io::PlanFile& plan,
                            const std::vector<std::string>& manifests) {
  return FolderCheck(folder, plan, manifests).run();
}

}  // namespace trnplan::launch
