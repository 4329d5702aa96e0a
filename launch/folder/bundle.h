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
///   to create a cluster of the plan's size
///   FLAVOUR-compile.yaml, FLAVOUR-train.yaml of every flavour of Kubernetes (io/output/emit_kubernetes.h),
///   fsx-claim.yaml, mpi_launch.sh
///   eks-prepare.yaml   a pod that fills their volume, for a target that compiles nothing ahead
///
/// A target that compiles nothing ahead has no compile.sbatch, FLAVOUR-compile.yaml or mpi_launch.sh, a health.sh
/// only on GPUs, and no flavour with a pod that starts the others. install_neuron.sh is only for Neuron devices.
/// launch/folder/cluster_kinds.h lists the cluster files of each kind of machine. If the job names one scheduler
/// (RunFiles::scheduler), the jobs and cluster files of the others are left out.
///
/// Every file except config.json and provisioning_parameters.json, whose keys are fixed, states the software that it
/// needs and how long that is supported. Job names and comments hold only plain letters of the model's name. Values
/// that a person supplies reach the scripts through the environment, always quoted. Throws std::invalid_argument
/// for an architecture or a strategy that the target cannot express, and for a machine whose hosts have no known
/// way to find each other.
std::vector<io::OutputFile> bundle(const models::Job& job, const planner::Plan& plan,
                                   const planner::Target& target);

/// All of them except plan.json, from which the others can be written anew. Of the plan it reads strategy, nodes,
/// instance, batch and the predicted step.
std::vector<io::OutputFile> bundle_beside_plan(const models::Job& job, const planner::Plan& plan,
                                               const planner::Target& target);

/// Cluster that a plan needs, as its files describe it. The shared file system holds the checkpoints that are
/// kept, one that is being written, and software, graphs and data.
io::ClusterSpec cluster_spec(const models::Job& job, const models::Strategy& strategy,
                             const std::string& note);

/// Names of all files that bundle() can write for a target, on any machine.
std::vector<std::string> bundle_names(const planner::Target& target);

}  // namespace trnplan::launch
