// Kinds of clusters that a plan's folder has files for, and the words of its README.md on them.
//
//   machine                              files for
//   of EC2                               AWS ParallelCluster, SageMaker HyperPod, all flavours of Kubernetes
//   of EC2, with nodes of several hosts  AWS ParallelCluster, and the flavour of Kubernetes that keeps the
//                                        hosts of a node together. No source has such a machine as an
//                                        instance group of HyperPod
//   of EC2, not offered by HyperPod      all but those of HyperPod (topology::Instance::hyperpod_type)
//   not of EC2                           none: the scripts of Slurm run on any cluster with Slurm
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
  bool slurm = true;  ///< has jobs of Slurm
  bool parallelcluster = false;
  bool hyperpod = false;      ///< with Slurm
  bool hyperpod_eks = false;  ///< with EKS
  std::vector<io::KubernetesFlavour> kubernetes;

  /// True if one of them has a pod that starts the others.
  bool has_launcher() const;
};

/// Kinds for a machine and a target. A run that is submitted by one scheduler has only the files of that one.
[[nodiscard]] ClusterKinds cluster_kinds(const topology::Instance& machine, const planner::Target& target,
                                         const std::optional<models::SubmitBy>& scheduler = std::nullopt);

/// Reason why a folder has no jobs of that flavour, as a clause; "" if it has.
[[nodiscard]] std::string no_jobs_of(std::string_view flavour, const topology::Instance& machine,
                                     const planner::Target& target);

/// Reason why no folder can be written for a machine: it is unknown how the hosts of its nodes find each
/// other. "" if one can.
[[nodiscard]] std::string no_folder_for(const topology::Instance& machine);

/// Lines of README.md; each is "" or lacks its line end.
struct ClusterWords {
  std::string rows;            ///< of the table of files: those that create a cluster
  std::string kubernetes_row;  ///< the jobs of Kubernetes
  std::string first_step;      ///< how to get a cluster, for a target that compiles nothing ahead
  std::string hosts;           ///< a section: settings that a node of several hosts needs
  std::string pods_place;      ///< other places where the folder has to lie
  std::string hyperpod_tests;  ///< who tests the nodes
  std::string checked;         ///< a paragraph: measurements of health.sh
};
[[nodiscard]] ClusterWords cluster_words(const topology::Cluster& cluster, const planner::Target& target,
                                         const ClusterKinds& kinds);

}  // namespace trnplan::launch
