// Shell scripts of a plan's folder, as texts.
//
// They contain no text of a person: names are reduced to plain letters, values that a person supplies come from
// settings.env, and every expansion is quoted.
#pragma once

#include <string>
#include <string_view>

#include "models/job/job.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

/// Number of hosts from which graphs are looked up on a volume of each node instead of the shared file system,
/// where runs of 128 nodes are reported to have stalled. Assumed: no published run shows where that begins; with
/// fewer hosts, one shared folder is simpler.
inline constexpr int kLocalCacheNodes = 64;

/// Port at which processes of a measurement meet: aws-neuron/neuronx-distributed-training@9169aa0
/// examples/train_setup.sh.
inline constexpr int kMasterPort = 41000;

struct ScriptContext {
  const models::Job& job;
  const planner::Plan& plan;
  const planner::Target& target;
};

/// Name of at most 40 letters, digits, '.', '_' and '-' that does not begin with '-' or '.'; never empty.
std::string plain_name(const std::string& name);
/// True for an absolute path without characters that are special to a shell or to Hydra.
bool plain_path(std::string_view text);
/// Name for Kubernetes and SageMaker: at most 40 lower-case letters, digits and '-', beginning with a letter.
std::string dns_name(const std::string& name);

/// Name of the folder's cluster and jobs: "trnplan-llama3-8b".
std::string cluster_name(const models::Job& job);
/// Path of the folder of such a cluster in pods, on the volume that they mount.
std::string pod_folder(const std::string& cluster);

/// Values that a person fills in once, as lines NAME=VALUE (launch/folder/folder_settings.h).
std::string settings_env(const ScriptContext& c);
/// Sets those values for every script. A variable of the environment takes precedence.
std::string setup_env_sh(const ScriptContext& c);
/// Mark of a folder of results: the same for the same training, wherever the plan's folder is. One line without
/// quotes; identity='...' in node_run.sh.
std::string run_identity(const ScriptContext& c);
inline constexpr const char* kRunMark = "trnplan-run";  ///< file that holds the mark
/// prepare.sh environment|data|from-hf|to-hf: the commands of Target::preparation(), in the environment of
/// settings.env.
std::string prepare_sh(const ScriptContext& c);
/// Page on the files of the folder, the order of their use, and who checks nodes if no job does.
std::string readme_md(const ScriptContext& c);
/// Installs Neuron's driver and runtime on the nodes of a ParallelCluster. Packages:
/// aws-neuron/aws-neuron-parallelcluster-samples @54075e9 install_neuron.sh; versions: those of the release that the
/// target pins (catalog/neuron-releases.json).
std::string install_neuron_sh(const ScriptContext& c);
/// Image with the software that prepare.sh installs.
std::string dockerfile(const ScriptContext& c);
/// node_run.sh FOLDER compile|train...: the work of a host, in a task of its own. If a node has several hosts, they
/// meet in the folder and take the places that the driver states (templates/join_hosts.sh.in). Restates
/// examples/train.sh and train_setup.sh of NxDT for Slurm, MPI and torchrun's own rendezvous. All jobs of a folder
/// share one log folder, so a new job id resumes where the last one stopped. Compiling fails unless the log says
/// "Total failed compilations: 0". A PyTorchJob with a Master states the rank and master of each pod in
/// PET_NODE_RANK and PET_MASTER_ADDR, one with an elasticPolicy the meeting place in PET_RDZV_*
/// (kubeflow/trainer@3a3a1da pkg/controller.v1/pytorch).
std::string node_run_sh(const ScriptContext& c);
/// mpi_launch.sh FOLDER compile|train: the launcher of the MPIJob of that mode.
std::string mpi_launch_sh(const ScriptContext& c);
/// Jobs of Slurm. --auto-resume=1 is HyperPod's srun option (aws-samples/awsome-distributed-training@7217859
/// 3.test_cases/pytorch/neuronx-distributed/llama3/slurm/README.md).
std::string compile_sbatch(const ScriptContext& c);
std::string train_sbatch(const ScriptContext& c);
/// health.sh FOLDER: nccom-test on every host alone and, if a node is one host, on pairs, before training. Exit
/// code 3 if trnplan names a slow node.
/// Commands: aws-neuron/aws-neuron-sdk@81ce03ae tools/neuron-sys-tools/nccom-test.rst.
std::string health_sh(const ScriptContext& c);
/// True if the folder has a health.sh: for a target that compiles ahead, and for GPUs if Slurm starts the jobs.
bool has_health(const ScriptContext& c);
/// Checks, compiles, and trains if that succeeded: `trnplan launch` for a machine without trnplan.
std::string submit_sh(const ScriptContext& c);

}  // namespace trnplan::launch
