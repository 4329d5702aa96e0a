#include <map>

#include <fmt/format.h>

#include "io/output/emit_cluster.h"
#include "io/output/emit_kubernetes.h"
#include "launch/folder/checkpoints.h"
#include "launch/folder/cluster_kinds.h"
#include "launch/folder/script_parts.h"
#include "launch/folder/templates.h"
#include "models/framework/strategy_words.h"

namespace trnplan::launch {

namespace {

/// Network between nodes, for a person who looks for it.
std::string network_note(const ScriptContext& c) {
  const topology::Instance& i = c.job.cluster.instance;
  if (hosts_of_plan(c) == 1) return "The plan is for one node.";
  if (i.nics == 0)
    return "The catalogue does not know this machine's network: set what NCCL needs in the environment.";
  if (i.traits.accelerator == topology::Accelerator::gpu && i.ec2_type.empty()) {
    return "NCCL uses the InfiniBand or RoCE devices that it finds. If it uses the wrong ones, name the "
           "right ones in NCCL_IB_HCA, and the interface of\n"
           "the cluster in NCCL_SOCKET_IFNAME; a fabric of another kind needs its own plugin.";
  }
  if (i.traits.accelerator == topology::Accelerator::gpu) {
    return "NCCL uses EFA through the aws-ofi-nccl plugin, which the image or the machine's AMI must hold; "
           "it chooses buffers and\n"
           "protocols by itself. `node_run.sh` sets FI_PROVIDER. If a node has several interfaces, name that "
           "of the cluster in\n"
           "NCCL_SOCKET_IFNAME.";
  }
  return "Neuron's collectives use EFA: `node_run.sh` sets FI_PROVIDER. The security group must allow all "
         "traffic within itself.";
}

constexpr const char* kChecked =
    "`train.sbatch` begins with `health.sh`: `dcgmi diag -r 2` and `all_reduce_perf` of nccl-tests on the "
    "GPUs of every node alone. It names\n"
    "nodes that fail or are slower than the fastest by more than TRNPLAN_SLOW, and the job then ends before "
    "it trains. Programs that are not on\n"
    "PATH are skipped, and links between nodes are not measured; Kubernetes jobs are not checked. `bash "
    "health.sh FOLDER alone` tests one node.";
/// A paragraph of its own; "" if there is none.
std::string behind_empty_line(const std::string& text) {
  return text.empty() ? "" : "\n" + text;
}

/// Values of settings.env that have to be filled in, one table row each.
std::string value_rows(const ScriptContext& c) {
  const planner::Preparation p = c.target.preparation(c.job, c.plan.strategy);
  std::string text = "| value | what it is |\n| --- | --- |\n";
  const auto row = [&](std::string_view name, std::string_view meaning) {
    text += fmt::format("| `{}` | {} |\n", name, meaning);
  };
  row("TRNPLAN_VENV",
      "Where prepare.sh environment puts the Python environment: a folder that every node sees.");
  row("TRNPLAN_CODE", "Where prepare.sh environment puts the clone of " +
                          c.target.code_for(c.job, c.plan.strategy).clone + ", likewise.");
  for (const planner::PersonValue& v : p.values) row(v.name, kForPreparing + v.meaning);
  for (const planner::PersonValue& v : c.target.asked_for(c.job)) row(v.name, v.meaning);
  if (c.target.reads_data(c.job)) row("TRNPLAN_DATA", data_meaning(p));
  text.pop_back();
  return text;
}

/// Steps of prepare.sh before every run, each after `start`.
std::string prepare_steps(const ScriptContext& c, const std::string& start, bool environment) {
  const planner::Preparation p = c.target.preparation(c.job, c.plan.strategy);
  std::string text;
  if (environment) text += start + " environment\n";
  if (!p.tokenizer.empty()) text += start + " tokenizer   # it prints TRNPLAN_TOKENIZER, for settings.env\n";
  if (!p.data.empty()) text += start + " data\n";
  return text;
}

std::string slurm_steps(const ScriptContext& c) {
  return prepare_steps(c, "       srun --nodes=1 bash prepare.sh", true) +
         "       trnplan launch . --dry-run   # says what is still missing\n"
         "       trnplan launch .";
}

std::string local_steps(const ScriptContext& c) {
  return prepare_steps(c, "       bash prepare.sh", true) +
         "       trnplan launch . --scheduler local --dry-run   # says what is still missing\n"
         "       trnplan launch . --scheduler local";
}

/// Table row for Slurm's jobs.
std::string slurm_row(const ScriptContext& c) {
  return c.target.compiles_ahead() ? "| `compile.sbatch`, `train.sbatch`, `submit.sh` | Slurm jobs; `trnplan "
                                     "launch` or `bash submit.sh` submits them |"
                                   : "| `train.sbatch`, `submit.sh` | the Slurm job; `trnplan launch` or "
                                     "`bash submit.sh` submits it |";
}

std::string kubernetes_steps(const ScriptContext& c) {
  const std::string name = cluster_name(c.job), folder = pod_folder(name), pod = name + "-prepare";
  std::string exported;  // a secret is not copied with the folder
  for (const planner::PersonValue& v : c.target.preparation(c.job, c.plan.strategy).values) {
    if (!v.is_path) exported += fmt::format("{0}=\"${0}\" ", v.name);
  }
  if (!exported.empty()) exported.insert(0, "env ");
  return fmt::format(
             "       docker build -t IMAGE . && docker push IMAGE\n"
             "       kubectl apply -f fsx-claim.yaml -f eks-prepare.yaml\n"
             "       kubectl wait --for=condition=Ready --timeout=30m pod/{0}\n"
             "       tar cf - . | kubectl exec -i {0} -- sh -c 'mkdir -p {1} && tar xf - -C {1}'\n",
             pod, folder) +
         prepare_steps(
             c, fmt::format("       kubectl exec {} -- {}bash {}/prepare.sh", pod, exported, folder), false) +
         fmt::format(
             "       trnplan launch . --scheduler eks --cluster-flavour eks-pytorchjob --dry-run   # says "
             "what is still missing\n"
             "       trnplan launch . --scheduler eks --cluster-flavour eks-pytorchjob\n"
             "       kubectl delete pod {}   # once nothing more has to be copied",
             pod);
}

/// Part of README.md that only some folders have.
std::string part(std::string_view name, bool has, const std::map<std::string_view, std::string>& values) {
  return has ? filled(name, values) : "";
}

}  // namespace

std::string readme_md(const ScriptContext& c) {
  std::string configs = "`config.json`";
  for (const std::string& name : c.target.config_names()) configs += ", `" + name + "`";
  const topology::Cluster cluster{machine_of(c), c.plan.nodes};
  const ClusterKinds kinds = cluster_kinds(cluster.instance, c.target, c.job.run.scheduler);
  const ClusterWords words = cluster_words(cluster, c.target, kinds);
  const bool pods = !kinds.kubernetes.empty(), alone = !kinds.slurm && !pods;
  const bool own_stack = cluster.instance.traits.accelerator == topology::Accelerator::neuron_core;
  std::map<std::string_view, std::string> values = {
      {"network", network_note(c)},
      {"checkpoints", behind_empty_line(checkpoint_note(c.job, c.plan.strategy, c.target))},
      {"values", value_rows(c)},
      {"slurm", slurm_steps(c)},
      {"local", local_steps(c)},
      {"slurm_row", kinds.slurm ? slurm_row(c) : ""},
      {"place", (kinds.slurm ? ": on the shared file system for Slurm"
                 : pods      ? ":"
                             : "") +
                    words.pods_place},
      {"number", kinds.slurm ? "5. Kubernetes instead" : "4. Kubernetes"},
      {"kubernetes", kubernetes_steps(c)},
      {"mount", std::string(io::kSharedVolume)},
      {"pods", pod_folder(cluster_name(c.job))},
      {"names", mode_names(prepare_modes(c.target.preparation(c.job, c.plan.strategy)))},
      {"install_row", own_stack && kinds.parallelcluster
                          ? "| `install_neuron.sh` | Neuron's driver and runtime on nodes of a "
                            "ParallelCluster; put the script into the bucket that the file names |"
                          : ""},
      {"cluster_rows", words.rows},
      {"kubernetes_row", words.kubernetes_row},
      {"cluster_step", words.first_step},
      {"health_row",
       has_health(c) ? "| `health.sh` | looks for broken and slow nodes before training |" : ""},
      {"hosts", words.hosts},
      {"checked", c.target.compiles_ahead() ? words.checked
                  : has_health(c)           ? kChecked
                                  : "Nodes are not measured before training" + words.hyperpod_tests + "."},
      {"title", fmt::format("{} on {}: {}", plain_name(c.job.architecture.name), io::hosts_text(cluster),
                            models::strategy_words(c.plan.strategy))},
      {"support", c.target.support_on(cluster.instance.traits)},
      {"set", std::string(io::kSetMe)},
      {"configs", configs}};
  values["pods_section"] = part("README_pods.md", pods, values);
  std::string unchecked = part("README_unchecked.md", kinds.hyperpod_eks, values);
  if (!unchecked.empty()) unchecked.pop_back();  // the surrounding line has its own end
  values["unchecked"] = behind_empty_line(unchecked);
  std::string step =
      part("eager_README_slurm.md", kinds.slurm, values) + part("eager_README_local.md", alone, values);
  if (!step.empty()) step.pop_back();  // as above
  values["slurm_step"] = std::move(step);
  values["kubernetes_step"] = part("eager_README_kubernetes.md", pods, values);
  return filled(form_of(c, "README.md", "eager_README.md"), values);
}

}  // namespace trnplan::launch
