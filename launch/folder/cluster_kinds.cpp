#include "launch/folder/cluster_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "io/output/emit_cluster.h"

namespace trnplan::launch {

namespace {

bool has_several_hosts(const topology::Instance& machine) {
  return machine.hosts > 1;
}

std::string rows_of(const ClusterKinds& kinds, const topology::Instance& machine, bool compiles) {
  std::vector<const char*> rows;
  const bool installs = compiles && machine.traits.accelerator == topology::Accelerator::neuron_core;
  if (kinds.parallelcluster) {
    rows.push_back(installs ? "| `parallelcluster.yaml`, `install_neuron.sh` | a Slurm cluster by AWS "
                              "ParallelCluster; put the script into the bucket that the file names |"
                            : "| `parallelcluster.yaml` | a Slurm cluster by AWS ParallelCluster |");
  }
  if (kinds.hyperpod) {
    rows.push_back(
        "| `hyperpod.json`, `provisioning_parameters.json` | a Slurm cluster by SageMaker HyperPod; put the "
        "second file next to its lifecycle scripts |");
  }
  if (kinds.hyperpod_eks) rows.push_back("| `hyperpod-eks.json` | SageMaker HyperPod on an EKS cluster |");
  return fmt::format("{}", fmt::join(rows, "\n"));
}

/// Settings that the files need before they create a cluster, one sentence per line; "" if there are none.
std::string cluster_notes_of(const ClusterKinds& kinds, const topology::Instance& machine) {
  std::string text;
  const bool any = kinds.parallelcluster || kinds.hyperpod_eks;
  if (any && machine.starts_in_blocks_alone()) {
    text += fmt::format(
        "There is no known on-demand price of {}: it is sold in Capacity Blocks. The files that make a "
        "cluster ask for a reservation.\n",
        io::machine_type(machine));
  }
  if (io::buys_spot(machine)) {
    text += "The plan is paid at spot prices. ";
    if (kinds.parallelcluster) text += "parallelcluster.yaml asks for spot nodes. ";
    if (kinds.hyperpod || kinds.hyperpod_eks || !kinds.kubernetes.empty())
      text += "The files of HyperPod and Kubernetes do not say how nodes are bought. ";
    text.back() = '\n';
  }
  if (!machine.ec2_type.empty() && machine.hyperpod_type.empty()) {
    text += fmt::format("There are no files for SageMaker HyperPod: its CreateCluster has no ml.{}.\n",
                        machine.ec2_type);
  }
  return text;
}

std::string kubernetes_row_of(const ClusterKinds& kinds, bool compiles) {
  if (kinds.kubernetes.empty()) return "";
  if (!compiles) {
    return "| `fsx-claim.yaml`, `eks-prepare.yaml`, `Dockerfile`, `FLAVOUR-train.yaml` | the volume of "
           "Kubernetes, a "
           "pod to fill it, the image and the jobs |";
  }
  return "| `fsx-claim.yaml`, `Dockerfile`, `FLAVOUR-compile.yaml`, `FLAVOUR-train.yaml`, `mpi_launch.sh` | "
         "the "
         "volume, the image and the jobs of Kubernetes; `trnplan launch --scheduler eks` applies them |";
}

std::string first_step_of(const ClusterKinds& kinds, const topology::Cluster& cluster) {
  if (!kinds.slurm && kinds.kubernetes.empty())
    return fmt::format("{}; the folder runs there without a scheduler.", io::hosts_text(cluster));
  if (!kinds.slurm && kinds.hyperpod_eks) {
    return "A cluster, if you have none: `hyperpod-eks.json`, for `aws sagemaker create-cluster "
           "--cli-input-json file://hyperpod-eks.json`.";
  }
  if (!kinds.slurm) return fmt::format("An EKS cluster with {}.", io::hosts_text(cluster));
  if (kinds.hyperpod && !kinds.hyperpod_eks) {
    return "A cluster, if you have none: `parallelcluster.yaml` or `hyperpod.json`. The first lines of "
           "`parallelcluster.yaml`\n"
           "   state its command; the other is for `aws sagemaker create-cluster --cli-input-json "
           "file://hyperpod.json`.";
  }
  if (kinds.hyperpod) {
    return "A cluster, if you have none: `parallelcluster.yaml` or `hyperpod.json` for Slurm, "
           "`hyperpod-eks.json` for Kubernetes. The first lines\n"
           "   of `parallelcluster.yaml` state its command; the other two are for `aws sagemaker "
           "create-cluster --cli-input-json file://FILE`.";
  }
  if (kinds.parallelcluster) {
    return "A cluster, if you have none: `parallelcluster.yaml` for Slurm, whose first lines state its "
           "command.";
  }
  return fmt::format(
      "A Slurm cluster with {}: this is not a machine of EC2, so the folder does not create a cluster and "
      "has no Kubernetes jobs.",
      io::hosts_text(cluster));
}

/// Section on nodes of several hosts. Only the driver knows which hosts form a node.
std::string hosts_section_of(const topology::Cluster& cluster) {
  const topology::Instance& i = cluster.instance;
  if (!has_several_hosts(i)) return "";
  return fmt::format(R"(## Hosts

1 {name} = {hosts} hosts. The plan counts nodes: {nodes} of {name}. Everything else counts hosts, as Slurm, Kubernetes and torchrun do: {all}{type},
each with {chips} chips and {cores} ranks.

The hosts must be those of whole nodes, and ranks follow the nodes. The folder cannot choose them: make a partition of whole nodes
only, as many as the plan has, name the hosts (`#SBATCH --nodelist`), or tell Slurm which hosts form a node (topology/block, blocks of {hosts}).
`node_run.sh` asks the driver which node a host belongs to, orders the ranks accordingly, informs the runtime
(NEURON_RT_ULTRASERVER_MODE and related variables), and stops before anything runs if a node is not whole.
)",
                     fmt::arg("name", i.name), fmt::arg("hosts", i.hosts), fmt::arg("nodes", cluster.nodes),
                     fmt::arg("all", cluster.hosts()),
                     fmt::arg("type", i.ec2_type.empty() ? "" : " of " + i.ec2_type),
                     fmt::arg("chips", i.host_chips()), fmt::arg("cores", i.host_cores()));
}

std::string checked_by(const ClusterKinds& kinds, bool hosts) {
  const char* who =
      !kinds.slurm           ? (kinds.has_launcher() ? "The launcher of `eks-mpijob-train.yaml` begins with"
                                                     : "No job begins with")
      : kinds.has_launcher() ? "`train.sbatch` and the launcher of `eks-mpijob-train.yaml` begin with"
                             : "`train.sbatch` begins with";
  if (hosts) {
    return fmt::format(
        "{} `health.sh`: nccom-test on every host alone. It names slow hosts, and the job then ends before "
        "it\n"
        "trains. It needs nccom-test (aws-neuronx-tools) and the program trnplan where the job sees them. "
        "Links between hosts are not measured.",
        who);
  }
  return fmt::format(
      "{} `health.sh`: nccom-test on every node alone, then on pairs, twice with\n"
      "other partners. It names nodes that are slow alone or in all of their pairs, and the job then ends "
      "before it trains. It needs nccom-test\n"
      "(aws-neuronx-tools) and the program trnplan where the job sees them, and ssh without a password "
      "between nodes for the pairs.",
      who);
}

}  // namespace

bool ClusterKinds::has_launcher() const {
  return std::any_of(kubernetes.begin(), kubernetes.end(),
                     [](const io::KubernetesFlavour& f) { return f.launcher; });
}

std::string no_jobs_of(std::string_view flavour, const topology::Instance& machine,
                       const planner::Target& target) {
  if (machine.ec2_type.empty()) {
    return machine.name + " is not a machine of EC2, and Kubernetes jobs are written for EKS";
  }
  if (machine.kubernetes_resource.empty())
    return "the Kubernetes name of the devices of " + machine.name + " is not known (kubernetes_resource)";
  const io::KubernetesFlavour* one = io::find_flavour(flavour);
  if (one != nullptr && one->hyperpod && machine.hyperpod_type.empty() && !has_several_hosts(machine))
    return "SageMaker HyperPod has no ml." + machine.ec2_type;
  if (one != nullptr && one->launcher && !target.compiles_ahead()) {
    const std::string none = std::string(target.name()) + " is started by no launcher";
    if (!has_several_hosts(machine)) return none;
    return fmt::format("a {} is {} hosts, which a launcher must keep together, and {}", machine.name,
                       machine.hosts, none);
  }
  if (one == nullptr || one->launcher || !has_several_hosts(machine)) return "";
  return fmt::format("a {} is {} hosts, and jobs of {} do not keep them together", machine.name,
                     machine.hosts, flavour);
}

std::string no_folder_for(const topology::Instance& machine) {
  const bool known =
      machine.ultraserver_mode > 0 && machine.traits.accelerator == topology::Accelerator::neuron_core;
  if (!has_several_hosts(machine) || known) return "";
  return fmt::format("a {} is {} hosts, and how they find each other is not known (ultraserver_mode)",
                     machine.name, machine.hosts);
}

ClusterKinds cluster_kinds(const topology::Instance& machine, const planner::Target& target,
                           const std::optional<models::SubmitBy>& scheduler) {
  const models::SubmitBy any = scheduler.value_or(models::SubmitBy::slurm);
  const bool eks = !scheduler || any == models::SubmitBy::eks;
  ClusterKinds kinds;
  kinds.slurm = any == models::SubmitBy::slurm;
  kinds.parallelcluster = kinds.slurm && !machine.ec2_type.empty();
  const bool hyperpod = !machine.hyperpod_type.empty() && !has_several_hosts(machine);
  kinds.hyperpod = kinds.slurm && hyperpod;
  kinds.hyperpod_eks = eks && hyperpod;
  if (!eks) return kinds;
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    if (no_jobs_of(flavour.name, machine, target).empty()) kinds.kubernetes.push_back(flavour);
  }
  return kinds;
}

ClusterWords cluster_words(const topology::Cluster& cluster, const planner::Target& target,
                           const ClusterKinds& kinds) {
  const bool compiles = target.compiles_ahead();
  ClusterWords words;
  words.rows = rows_of(kinds, cluster.instance, compiles);
  words.kubernetes_row = kubernetes_row_of(kinds, compiles);
  words.first_step = first_step_of(kinds, cluster);
  words.hosts = cluster_notes_of(kinds, cluster.instance) + hosts_section_of(cluster);
  if (!kinds.kubernetes.empty())
    words.pods_place = kinds.slurm ? ", on the volume of the pods as below for Kubernetes"
                                   : " on the volume of the pods, as below";
  if (kinds.hyperpod_eks) {
    words.hyperpod_tests =
        ": HyperPod tests its nodes when they start (`OnStartDeepHealthChecks` of\n`hyperpod-eks.json`)";
  }
  words.checked = checked_by(kinds, has_several_hosts(cluster.instance));
  return words;
}

}  // namespace trnplan::launch
