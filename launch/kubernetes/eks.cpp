#include "launch/kubernetes/eks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "io/input/plan_file.h"
#include "io/output/emit_kubernetes.h"
#include "launch/folder/again.h"
#include "launch/folder/cluster_kinds.h"
#include "targets/registry.h"
#include "text/document.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

/// kubectl waits for a single state, so it is asked repeatedly: a failed job never succeeds.
constexpr const char* kPiece = "--timeout=60s";

std::string file_of(const Order& order, std::string_view mode) {
  const io::KubernetesFlavour* flavour = io::find_flavour(order.flavour);
  return flavour == nullptr ? "" : manifest_name(*flavour, mode);
}

std::vector<std::string> apply_command(const Order& order, std::string_view mode) {
  return {"kubectl", "apply", "-f", (order.folder / file_of(order, mode)).string(), "-o", "name"};
}

std::vector<std::string> wait_command(const std::string& id, const char* timeout) {
  return {"kubectl", "wait", "--for=condition=Succeeded", timeout, id};
}

/// Names of the volumes that are claims: those outlive the pods.
void read_claims(const Node& node, std::vector<std::string>& names) {
  const Node* name = node.find("name");
  if (node.find("persistentVolumeClaim") != nullptr && name != nullptr) names.push_back(name->scalar);
  for (const Node& item : node.items) read_claims(item, names);
  for (const Node::Entry& e : node.entries) read_claims(e.value, names);
}

/// Mount points of the claims, and the folder passed to the scripts: bash SCRIPT FOLDER MODE.
void read_pods(const Node& node, const std::vector<std::string>& claimed, Pods& pods) {
  const Node *name = node.find("name"), *mount = node.find("mountPath"), *command = node.find("command");
  if (name != nullptr && mount != nullptr &&
      std::find(claimed.begin(), claimed.end(), name->scalar) != claimed.end() &&
      std::find(pods.mounts.begin(), pods.mounts.end(), mount->scalar) == pods.mounts.end())
    pods.mounts.push_back(mount->scalar);
  if (command != nullptr && command->items.size() == 4 && command->items[1].scalar.ends_with(".sh"))
    pods.folder = command->items[2].scalar;
  for (const Node& item : node.items) read_pods(item, claimed, pods);
  for (const Node::Entry& e : node.entries) read_pods(e.value, claimed, pods);
}

/// Name in "mpijob.kubeflow.org/name".
std::string name_of(const std::string& id) {
  return id.substr(id.rfind('/') + 1);
}

class Eks : public Scheduler {
 public:
  std::string_view name() const override { return "eks"; }
  bool is_job_id(const std::string&) const override { return true; }

  bool runs_on(const topology::Instance& machine, const planner::Target& target) const override {
    return !cluster_kinds(machine, target, models::SubmitBy::eks).kubernetes.empty();
  }

  std::optional<Pods> pods(const Order& order) const override {
    Pods pods;
    const fs::path path = order.folder / file_of(order, "train");
    if (!fs::is_regular_file(path)) return pods;
    try {
      std::vector<std::string> claimed;
      const Node root = read_document(path);
      read_claims(root, claimed);
      read_pods(root, claimed, pods);
    } catch (const InputError&) {
      return Pods{};  // the folder's check reports it
    }
    return pods;
  }

  std::vector<std::string> needs(const Order& order) const override {
    std::vector<std::string> files;
    for (const std::string& mode : modes_of(order.held)) {
      if (std::string file = file_of(order, mode); !file.empty()) files.push_back(std::move(file));
    }
    return files;
  }

  std::vector<std::string> manifests(const Order& order) const override {
    std::vector<std::string> files = needs(order);
    std::erase_if(files, [&](const std::string& file) { return !fs::is_regular_file(order.folder / file); });
    return files;
  }

  std::optional<Diagnostic> refusal(const Order& order, const io::PlanFile& plan) const override {
    const planner::Target* target = targets::find(plan.target);
    if (target == nullptr) return std::nullopt;
    const topology::Instance& machine = plan.job.cluster.instance;
    const std::string why = no_jobs_of(order.flavour, machine, *target);
    if (why.empty()) return std::nullopt;
    std::string others;
    for (const io::KubernetesFlavour& f : cluster_kinds(machine, *target).kubernetes)
      others += (others.empty() ? "use --cluster-flavour " : " or ") + std::string(f.name);
    return Diagnostic{{(order.folder / io::kPlanFile).string(), 0, 0},
                      "strategy.instance",
                      why,
                      others.empty() ? "submit the folder to Slurm: leave --scheduler out" : others};
  }

  void check(const CheckedFolder& checked) const override {
    if (io::find_flavour(checked.order.flavour) == nullptr) {
      checked.fault("command line", "--cluster-flavour", in_quotes(checked.order.flavour) + " is not known",
                    fmt::format("write one of {}", fmt::join(io::flavour_names(), ", ")));
      return;
    }
    for (const std::string& mode : modes_of(checked.order.held))
      check_file(checked, file_of(checked.order, mode));
    if (const ProcessResult kubectl = checked.runner({"kubectl", "version", "--client"}, kQuery);
        !kubectl.ok()) {
      checked.fault("command line", "--scheduler", "there is no kubectl here: " + printable(kubectl.error),
                    "install kubectl and point it at the cluster");
    }
  }

  std::vector<std::vector<std::string>> commands(const Order& order) const override {
    const std::string trains = file_of(order, "train");
    if (!trains.empty() && !fs::exists(order.folder / trains)) return {};  // its machine gets no such jobs
    if (modes_of(order.held).size() == 1) return {apply_command(order, "train")};
    return {apply_command(order, "compile"), wait_command("COMPILE_JOB_ID", "--timeout=24h"),
            apply_command(order, "train")};
  }

  std::string waits_for() const override {
    return "Training is submitted once the graphs are compiled; launch waits for that. If it is interrupted, "
           "run it again.";
  }

  std::vector<std::string> prints_log(const std::string& id) const override {
    return {"kubectl",
            "logs",
            "--follow",
            "--prefix",
            "--tail=-1",
            "--max-log-requests=1024",
            "--selector=" + std::string(io::kJobLabel) + "=" + name_of(id)};
  }

  SubmitResult submit(const Order& order, const std::optional<Submission>& before, int,
                      const Runner& runner) const override {
    SubmitResult result;
    if (before) result.submission = *before;
    result.submission.scheduler = name();
    if (modes_of(order.held).size() > 1) {
      if (result.submission.find("compile") == nullptr) apply(order, "compile", result.submission, runner);
      wait_for(result.submission.find("compile")->id, order, runner);
    }
    apply(order, "train", result.submission, runner);
    return result;
  }

 private:
  static void check_file(const CheckedFolder& checked, const std::string& file) {
    const fs::path path = checked.order.folder / file;
    if (!fs::is_regular_file(path)) {
      return checked.fault(path.string(), "", "is missing", plan_again());
    }
    const std::string text = read_text(path);
    std::size_t line = 1, at = 0;
    for (std::size_t end; at < text.size(); at = end + 1, ++line) {
      end = std::min(text.find('\n', at), text.size());
      const std::string_view row = std::string_view(text).substr(at, end - at);
      const std::size_t column = row.find(io::kSetMe);
      if (row.starts_with('#') || column == std::string_view::npos) continue;
      checked.faults.push_back({{path.string(), static_cast<int>(line), static_cast<int>(column) + 1},
                                "",
                                "still holds " + std::string(io::kSetMe),
                                "write the image that holds the software"});
    }
  }

  /// Applies the manifest of a mode and records the result.
  static void apply(const Order& order, const char* mode, Submission& submission, const Runner& runner) {
    order.held.need_unchanged();
    const ProcessResult ran = runner(apply_command(order, mode), {});
    if (!ran.ok()) throw SchedulerRefused("kubectl: " + ran.error);
    std::string last;  // of several objects the job is the last
    for (std::size_t at = 0; at < ran.output.size();) {
      const std::size_t end = std::min(ran.output.find('\n', at), ran.output.size());
      if (end > at) last = ran.output.substr(at, end - at);
      at = end + 1;
    }
    if (!is_plain_id(last)) throw SchedulerRefused("kubectl: no name in \"" + ran.output + "\"");
    submission.jobs.push_back({mode, last});
    keep(order.folder, submission);
  }

  /// Waits until the job has succeeded. A failed job is forgotten, so that the next launch compiles again.
  static void wait_for(const std::string& id, const Order& order, const Runner& runner) {
    while (!runner(wait_command(id, kPiece), kQuery).ok()) {
      const ProcessResult state = runner(
          {"kubectl", "get", id, "-o", "jsonpath={.status.conditions[?(@.status==\"True\")].type}"}, kQuery);
      if (!state.ok()) throw SchedulerRefused("kubectl: " + printable(state.error));
      if (state.output.find("Failed") != std::string::npos) {
        forget(order.folder);
        throw SchedulerRefused("compiling failed: " + id +
                               ". See kubectl logs --selector=" + std::string(io::kJobLabel) + "=" +
                               name_of(id) + ", then kubectl delete " + id + " and launch again");
      }
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
};

}  // namespace

const Scheduler& eks() {
  static const Eks scheduler;
  return scheduler;
}

}  // namespace trnplan::launch
