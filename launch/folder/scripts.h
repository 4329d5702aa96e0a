// The shell scripts of a plan's folder. Texts only.
//
// No text of a person stands in them: names are cut down to plain letters, values a person supplies come from
// settings.env, and every expansion is quoted.
#pragma once

#include <string>
#include <string_view>

#include "models/job/job.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

/// From so many hosts on, graphs are looked up on a volume of each node, not through the shared file system,
/// on whose look-ups runs of 128 nodes are said to have stalled. Assumed: no published run tells where it
/// begins to hurt; below, one shared folder is simpler.
inline constexpr int kLocalCacheNodes = 64;

/// Port at which processes of a measurement meet: aws-neuron/neuronx-distributed-training@9169aa0
/// examples/train_setup.sh.
inline constexpr int kMasterPort = 41000;

struct ScriptContext {
  const models::Job& job;
  const planner::Plan& plan;
  const planner::Target& target;
};

/// Letters, digits, '.', '_' and '-', not beginning with '-' or '.', at most 40; never empty.
std::string plain_name(const std::string& name);
/// An absolute path of characters that neither a shell nor Hydra takes for its own.
bool plain_path(std::string_view text);
/// For Kubernetes and SageMaker: lower-case letters, digits and '-', begins with a letter, at most 40.
std::string dns_name(const std::string& name);

/// What the folder's cluster and jobs are called: "trnplan-llama3-8b".
std::string cluster_name(const models::Job& job);
/// Where pods see the folder of such a cluster, on the volume that they mount.
std::string pod_folder(const std::string& cluster);

/// The values that a person fills in once, as lines NAME=VALUE (launch/folder/folder_settings.h).
std::string settings_env(const ScriptContext& c);
/// Sets them for every script; a variable of the environment goes first.
std::string setup_env_sh(const ScriptContext& c);
/// What a folder of results is marked with: the same for the same training, wherever the plan's folder lies. One line
/// without quotes; node_run.sh has it as identity='...'.
std::string run_identity(const ScriptContext& c);
inline constexpr const char* kRunMark = "trnplan-run";  ///< the name of the mark
/// environment|data|from-hf|to-hf: what Target::preparation() says, in the environment of settings.env.
std::string prepare_sh(const ScriptContext& c);
/// What the files of the folder are for, in which order they are used, and what checks nodes where no job does.
std::string readme_md(const ScriptContext& c);
/// Neuron's driver and runtime for the nodes of a ParallelCluster. Packages: aws-neuron/aws-neuron-parallelcluster-samples
/// @54075e9 install_neuron.sh; versions: those of the release that the target pins (catalog/neuron-releases.json).
std::string install_neuron_sh(const ScriptContext& c);
/// An image with what prepare.sh installs.
std::string dockerfile(const ScriptContext& c);
/// FOLDER compile|train...: what a host does, in a task of its own. Where a node is several hosts, they meet in the folder and
/// take the places that the driver tells (templates/join_hosts.sh.in). Restates examples/train.sh and
/// train_setup.sh of NxDT for Slurm, MPI and torchrun's own rendezvous. All jobs of a folder share one log
/// folder, so a new job id resumes where the last one stopped. Compiling fails unless the log says "Total
/// failed compilations: 0". A PyTorchJob with a Master tells each pod its rank and master in PET_NODE_RANK and
/// PET_MASTER_ADDR, one with an elasticPolicy where to meet in PET_RDZV_* (kubeflow/trainer@3a3a1da
/// pkg/controller.v1/pytorch).
std::string node_run_sh(const ScriptContext& c);
/// FOLDER compile|train: the launcher of the MPIJob of that mode.
std::string mpi_launch_sh(const ScriptContext& c);
/// --auto-resume=1 is HyperPod's srun option (aws-samples/awsome-distributed-training@7217859
/// 3.test_cases/pytorch/neuronx-distributed/llama3/slurm/README.md).
std::string compile_sbatch(const ScriptContext& c);
std::string train_sbatch(const ScriptContext& c);
/// FOLDER: nccom-test on every host alone and, where a node is one host, on pairs, before training; exit code 3 when trnplan names a slow node.
/// Commands: aws-neuron/aws-neuron-sdk@81ce03ae tools/neuron-sys-tools/nccom-test.rst.
std::string health_sh(const ScriptContext& c);
/// A folder has one: of a target that compiles ahead, and where Slurm starts what runs on GPUs.
bool has_health(const ScriptContext& c);
/// What `trnplan launch` does, for a machine without trnplan: checks, compiles, and trains when that went
/// well.
std::string submit_sh(const ScriptContext& c);

}  // namespace trnplan::launch
