// Which clusters a plan's folder has files for, and what its README.md says of them.
//
//   a machine of EC2                     AWS ParallelCluster, SageMaker HyperPod, every flavour of Kubernetes
//   of EC2, whose node is several hosts  AWS ParallelCluster, and the flavour of Kubernetes that keeps the hosts of a node
//                                        together. No source has such a machine as an instance group of HyperPod
//   of EC2 that HyperPod has not         all but those of HyperPod (topology::Instance::hyperpod_type)
//   no machine of EC2                    none: the scripts of Slurm run on any cluster that has it
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/output/emit_kubernetes.h"
#include "models/job/learning.h"
#include "planner/plan/target.h"
#include "topology/instance.h"

namespace trnplan::launch {

struct ClusterKinds {
  bool slurm = true;  ///< its jobs
  bool parallelcluster = false;
  bool hyperpod = false;      ///< by Slurm
  bool hyperpod_eks = false;  ///< on EKS
  std::vector<io::KubernetesFlavour> kubernetes;

  /// One of them has a pod that starts the others.
  bool has_launcher() const;
};

/// Of a run that one scheduler submits the files of that one alone.
[[nodiscard]] ClusterKinds cluster_kinds(const topology::Instance& machine, const planner::Target& target,
                                         const std::optional<models::SubmitBy>& scheduler = std::nullopt);

/// Why a folder has no jobs of that flavour, as a clause; "" where it has them.
[[nodiscard]] std::string no_jobs_of(std::string_view flavour, const topology::Instance& machine,
                                     const planner::Target& target);

/// Why no folder can be written for a machine: how the hosts of its nodes find each other is not known; "" where it can.
[[nodiscard]] std::string no_folder_for(const topology::Instance& machine);

/// Lines of README.md; "" or without their ends.
struct ClusterWords {
  std::string rows;            ///< of the table of files: what makes a cluster
  std::string kubernetes_row;  ///< the jobs of Kubernetes
  std::string first_step;      ///< how to get a cluster, of a target that compiles nothing ahead
  std::string hosts;           ///< a section: what a node of several hosts asks for
  std::string pods_place;      ///< where else the folder has to lie
  std::string hyperpod_tests;  ///< who tests nodes
  std::string checked;         ///< a paragraph: what health.sh measures
};
[[nodiscard]] ClusterWords cluster_words(const topology::Cluster& cluster, const planner::Target& target,
                                         const ClusterKinds& kinds);

}  // namespace trnplan::launch
