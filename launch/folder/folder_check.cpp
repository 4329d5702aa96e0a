#include "launch/folder/folder_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "io/output/emit_cluster.h"
#include "io/output/emit_kubernetes.h"
#include "launch/folder/bundle.h"
#include "launch/folder/scripts.h"
#include "targets/registry.h"
#include "text/document.h"
#include "text/sha256.h"

namespace trnplan::launch {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMpiLaunch = "mpi_launch.sh";
constexpr const char* kAnew = "write the folder anew: trnplan plan JOB --out DIR --force";

/// Lines of a text, each with its number.
struct Line {
  int number;
  std::string_view text;
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  int number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back({number, std::string_view(text).substr(at, end - at)});
    at = end + 1;
  }
  return lines;
}

class FolderCheck {
 public:
  FolderCheck(const fs::path& folder, const io::PlanFile& plan, const std::vector<std::string>& manifests)
      : folder_(folder), plan_(plan), manifests_(manifests), target_(targets::find(plan.target)) {
    if (target_ != nullptr) why_ = planner::inexpressible(*target_, plan.job, plan.strategy);
  }

  std::vector<Diagnostic> run() {
    if (target_ == nullptr) {
      fault("plan.json", 0, "target", in_quotes(plan_.target) + " is not known", kAnew);
      return std::move(faults_);
    }
    if (plan_.scripts.empty()) {
      fault("plan.json", 0, "scripts", "is missing: an older trnplan wrote this folder", kAnew);
    } else {
      check_scripts();
    }
    if (why_) {
      fault("plan.json", 0, "strategy", *why_, kAnew);
    } else {
      check_configs();
    }
    for (const std::string& manifest : manifests_) check_manifest(manifest);
    return std::move(faults_);
  }

 private:
  void fault(const std::string& file, int line, std::string key, std::string problem, std::string fix) {
    faults_.push_back({{(folder_ / file).string(), line, line > 0 ? 1 : 0},
                       std::move(key),
                       std::move(problem),
                       std::move(fix)});
  }

  /// Text of a file of the folder; a fault and nothing when it cannot be read.
  std::optional<std::string> text_of(const std::string& name) {
    try {
      return read_text(folder_ / name);
    } catch (const InputError& e) {
      faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
      return std::nullopt;
    }
  }

  // ---- scripts

  std::vector<std::string> scripts() const {
    std::vector<std::string> names = {"node_run.sh", "train.sbatch"};
    if (target_->compiles_ahead()) names.emplace_back("compile.sbatch");
    for (const std::string& manifest : manifests_) {
      if (names.back() != kMpiLaunch && manifest_of_plan(manifest).find(kMpiLaunch) != std::string::npos)
        names.push_back(kMpiLaunch);
    }
    return names;
  }

  void check_scripts() {
    for (const std::string& name : scripts()) {
      const std::optional<std::string> text = text_of(name);
      if (!text) continue;
      const auto written = plan_.scripts.find(name);
      if (written == plan_.scripts.end()) {
        fault("plan.json", 0, "scripts", name + " is missing in it", kAnew);
      } else if (sha256(script_body(*text)) != written->second) {
        tell_difference(name, *text, written->second);
      } else if (name == "node_run.sh") {
        check_flags(*text);
      }
      if (name.ends_with(".sbatch")) check_directives(name, *text);
    }
  }

  /// The scripts of this plan as this trnplan writes them; "" when it cannot.
  std::string written_anew(const std::string& name) const {
    if (why_) return "";
    planner::Plan plan;
    plan.strategy = plan_.strategy;
    plan.nodes = plan_.job.cluster.nodes;
    plan.instance = plan_.job.cluster.instance.name;
    plan.global_batch = plan_.job.training.global_batch;
    plan.report.step = plan_.step;
    plan.report.low = plan_.low;
    plan.report.high = plan_.high;
    const ScriptContext context{plan_.job, plan, *target_};
    if (name == "node_run.sh") return node_run_sh(context);
    if (name == "compile.sbatch") return compile_sbatch(context);
    if (name == "train.sbatch") return train_sbatch(context);
    return mpi_launch_sh(context);
  }

  void tell_difference(const std::string& name, const std::string& text, const std::string& hash) {
    const std::string fix = std::string("put settings into setup_env.sh, which it reads; else ") + kAnew;
    const std::string anew = written_anew(name), body = script_body(text);
    if (body.empty()) return fault(name, 0, "", "holds nothing that runs", kAnew);
    if (sha256(script_body(anew)) != hash)
      return fault(name, 0, "", "is not what plan --out wrote for this plan.json", fix);
    const std::string wanted = script_body(anew);
    const std::vector<Line> expected = lines_of(wanted);
    std::size_t next = 0;
    for (const Line& line : lines_of(text)) {
      const std::string one = script_body(std::string(line.text));
      if (one.empty()) continue;
      if (next < expected.size() && one == std::string(expected[next].text) + "\n") {
        ++next;
        continue;
      }
      return fault(name, line.number, "",
                   next < expected.size() ? "plan --out wrote here: " + in_quotes(expected[next].text, 120)
                                          : "plan --out wrote nothing more: " + in_quotes(one, 120),
                   fix);
    }
    fault(name, 0, "", "is cut off: " + in_quotes(expected[next].text, 120) + " is missing", kAnew);
  }

  /// plan.json may have been changed, or come from elsewhere.
  void check_flags(const std::string& script) {
    if (why_) return;  // told with the configs
    const planner::TrainCommand command = target_->command(plan_.job, plan_.strategy);
    std::vector<std::string> wanted = {
        fmt::format("\nnodes={}\n", plan_.job.cluster.hosts()),
        fmt::format("--nproc_per_node={} ", plan_.job.cluster.instance.host_cores())};
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      std::string flag = '"' + command.arguments[i] + '"';
      const bool valued = command.arguments[i].starts_with("--") && i + 1 < command.arguments.size() &&
                          command.arguments[i].find('=') == std::string::npos &&
                          !command.arguments[i + 1].starts_with("--");
      if (valued) flag += " \"" + command.arguments[++i] + '"';
      wanted.push_back(flag);
    }
    for (const std::string& words : wanted) {
      if (script.find(words) != std::string::npos) continue;
      std::string shown = words;
      std::replace(shown.begin(), shown.end(), '\n', ' ');
      fault("node_run.sh", 0, "", "does not run this plan: plan.json asks for " + shown, kAnew);
    }
  }

  /// sbatch reads directives up to the first command.
  void check_directives(const std::string& name, const std::string& text) {
    const std::string nodes = fmt::format("{}", plan_.job.cluster.hosts());
    const std::string why =
        plan_.job.cluster.instance.hosts > 1 ? " hosts: " + io::hosts_text(plan_.job.cluster) : "";
    bool has_nodes = false, has_tasks = false;
    for (const Line& line : lines_of(text)) {
      if (!script_body(std::string(line.text)).empty()) break;
      const auto value = [&](std::string_view option) -> std::optional<std::string> {
        const std::string start = "#SBATCH " + std::string(option);
        if (!line.text.starts_with(start)) return std::nullopt;
        std::string rest(line.text.substr(start.size()));
        rest = rest.substr(0, rest.find(" #"));
        const std::size_t first = rest.find_first_not_of(" =\t"), last = rest.find_last_not_of(" \t\r");
        return first == std::string::npos ? "" : rest.substr(first, last - first + 1);
      };
      std::optional<std::string> asked = value("--nodes");
      if (!asked) asked = value("-N");
      if (asked && *asked != nodes) {
        fault(name, line.number, "--nodes", in_quotes(*asked, 20) + ", but the plan is for " + nodes + why,
              "write --nodes=" + nodes + ", or plan for as many as you want");
      }
      has_nodes = has_nodes || asked;
      const std::optional<std::string> tasks = value("--ntasks-per-node");
      if (tasks && *tasks != "1") {
        fault(name, line.number, "--ntasks-per-node",
              in_quotes(*tasks, 20) + ", but node_run.sh is one task a node", "write --ntasks-per-node=1");
      }
      has_tasks = has_tasks || tasks;
    }
    if (!has_nodes)
      fault(name, 0, "--nodes", "no #SBATCH line asks for nodes", "add #SBATCH --nodes=" + nodes);
    if (!has_tasks)
      fault(name, 0, "--ntasks-per-node", "no #SBATCH line sets it", "add #SBATCH --ntasks-per-node=1");
  }

  // ---- the target's configs

  void check_configs() {
    for (const std::string& name : target_->config_names()) {
      std::optional<std::string> text = text_of(name);
      if (!text) continue;
      try {
        for (Diagnostic& d : target_->config_faults({(folder_ / name).string(), std::move(*text)}, plan_.job,
                                                    plan_.strategy, kAnew))
          faults_.push_back(std::move(d));
      } catch (const InputError& e) {
        faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
      }
    }
  }

  // ---- the manifest

  /// As plan --out writes it, but for names and the place of the folder; "" for a file of another name.
  std::string manifest_of_plan(const std::string& name) const {
    const io::ClusterSpec spec{"plan", plan_.job.cluster, ""};
    for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
      for (const char* mode : {"compile", "train"}) {
        if (manifest_name(flavour, mode) == name) return flavour.job(spec, "/plan", mode);
      }
    }
    return "";
  }

  void check_manifest(const std::string& name) {
    manifest_ = name;
    const std::string expected = manifest_of_plan(name);
    try {
      const Node found = read_document(folder_ / manifest_);
      compare_tree(parse_document(expected, manifest_), found, "");
    } catch (const InputError& e) {
      faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
    }
  }

  /// What a plan decides; the rest of a manifest is the person's.
  static bool of_the_plan(std::string_view key) {
    constexpr std::string_view kKeys[] = {"apiVersion",
                                          "kind",
                                          "slotsPerWorker",
                                          "replicas",
                                          "minReplicas",
                                          "maxReplicas",
                                          "rdzvBackend",
                                          "aws.amazon.com/neuron",
                                          "nvidia.com/gpu",
                                          "vpc.amazonaws.com/efa",
                                          "node.kubernetes.io/instance-type"};
    return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
  }

  void compare_tree(const Node& wanted, const Node& found, const std::string& path) {
    for (std::size_t i = 0; i < wanted.items.size(); ++i) {
      if (!wanted.items[i].is_map()) continue;
      const std::string here = fmt::format("{}[{}]", path, i);
      static const Node kNothing;
      compare_tree(wanted.items[i], i < found.items.size() ? found.items[i] : kNothing, here);
    }
    for (const Node::Entry& e : wanted.entries) {
      const std::string here = path.empty() ? e.key : path + "." + e.key;
      const Node* there = found.find(e.key);
      if (e.key == "command") {
        compare_command(e.value, there, here, found);
      } else if (e.value.is_map() || e.value.kind == Node::Kind::sequence) {
        static const Node kNothing;
        compare_tree(e.value, there == nullptr ? kNothing : *there, here);
      } else if (of_the_plan(e.key) && (there == nullptr || there->scalar != e.value.scalar)) {
        manifest_fault(there == nullptr ? found : *there, here,
                       there == nullptr ? "is missing" : in_quotes(there->scalar, 40) + " is not the plan's",
                       "write " + e.value.scalar);
      }
    }
  }

  /// The folder may lie elsewhere; the script and its modes are those of the plan.
  void compare_command(const Node& wanted, const Node* there, const std::string& path, const Node& around) {
    const auto words = [](const Node& n) {
      std::string text;
      for (const Node& item : n.items) {
        const std::string name = fs::path(item.scalar).filename().string();
        if (name.ends_with(".sh") || item.scalar.find('/') == std::string::npos) text += name + ' ';
      }
      return text;
    };
    const std::string need = words(wanted), have = there == nullptr ? "" : words(*there);
    if (need.find(".sh") == std::string::npos || have == need) return;
    manifest_fault(there == nullptr ? around : *there, path, "does not run what the plan's does",
                   "write bash, the path of the script, the folder: " + need);
  }

  void manifest_fault(const Node& node, const std::string& key, std::string problem, std::string fix) {
    SourcePos at = node.at;
    if (at.file.empty()) at = {(folder_ / manifest_).string(), 0, 0};
    faults_.push_back({at, key, std::move(problem), std::move(fix)});
  }

  const fs::path& folder_;
  const io::PlanFile& plan_;
  const std::vector<std::string>& manifests_;
  std::string manifest_;            ///< that is looked at
  const planner::Target* target_;   ///< nullptr: nobody knows it
  std::optional<std::string> why_;  ///< it cannot train the plan
  std::vector<Diagnostic> faults_;
};

}  // namespace

std::vector<Diagnostic> folder_faults(const fs::path& folder, const io::PlanFile& plan,
                                      const std::vector<std::string>& manifests) {
  return FolderCheck(folder, plan, manifests).run();
}

}  // namespace trnplan::launch
