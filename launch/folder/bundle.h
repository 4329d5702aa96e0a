// A plan as a folder that runs.
#pragma once

#include <string>
#include <vector>

#include "io/output/atomic_write.h"
#include "io/output/emit_cluster.h"
#include "models/job/job.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

/// The files of `plan --out`, as texts; nothing is written:
///
///   the target's config files (nxdt.yaml), config.json, plan.json
///   settings.env, setup_env.sh, node_run.sh, compile.sbatch, train.sbatch, health.sh, submit.sh
///   README.md, prepare.sh, Dockerfile   environment, data, conversion of checkpoints
///   parallelcluster.yaml, install_neuron.sh, hyperpod.json, provisioning_parameters.json, hyperpod-eks.json
///   to make a cluster of the plan's size
///   FLAVOUR-compile.yaml, FLAVOUR-train.yaml of every flavour of Kubernetes (io/output/emit_kubernetes.h),
///   fsx-claim.yaml, mpi_launch.sh
///   eks-prepare.yaml   a pod through which their volume is filled, of a target that compiles nothing ahead
///
/// Of a target that compiles nothing ahead there is no compile.sbatch, FLAVOUR-compile.yaml or mpi_launch.sh, health.sh on GPUs alone, and no
/// flavour whose pods are started by a launcher; install_neuron.sh is for Neuron's devices alone.
///
/// Of a machine that EC2 does not have there is no file that makes a cluster and none of Kubernetes; of one whose node is several
/// hosts none of HyperPod, and of Kubernetes what keeps hosts together (launch/folder/cluster_kinds.h).
///
/// Where the job names one scheduler (RunFiles::scheduler) the jobs and cluster files of the others are left out.
///
/// Every file but config.json and provisioning_parameters.json, whose keys are fixed, says which software it needs and how long that is supported. Job names and
/// comments hold only plain letters of the model's name; values that a person supplies reach the scripts
/// through the environment, always quoted. Throws std::invalid_argument for an architecture or a strategy the
/// target cannot express, and for a machine whose hosts are not known to find each other.
std::vector<io::OutputFile> bundle(const models::Job& job, const planner::Plan& plan,
                                   const planner::Target& target);

/// Those but plan.json, which all the others can be written anew from: of the plan strategy, nodes, instance, batch and the
/// predicted step are read.
std::vector<io::OutputFile> bundle_beside_plan(const models::Job& job, const planner::Plan& plan,
                                               const planner::Target& target);

/// The cluster that a plan needs, as its files describe it; the shared file system holds the checkpoints that
/// are kept, another that is being written, and what else lies there.
io::ClusterSpec cluster_spec(const models::Job& job, const models::Strategy& strategy,
                             const std::string& note);

/// Their names, and those of files that machines of one kind alone have.
std::vector<std::string> bundle_names(const planner::Target& target);

}  // namespace trnplan::launch
