// Files that make a cluster: what `pcluster` and `aws sagemaker` read.
//
// Whatever only its owner knows (subnets, keys, roles, images) is written as SET-ME; everything else follows
// from the cluster of a plan. io/input/cluster_files.h reads the first two back. Instances are counted, of which a node of
// the plan may be several (topology::Instance::hosts); of a machine that EC2 does not have there are no such files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "topology/instance.h"
#include "units/quantity.h"

namespace trnplan::io {

/// What a person must put in by hand; launch refuses a file that still holds it.
inline constexpr std::string_view kSetMe = "SET-ME";

struct ClusterSpec {
  std::string name;  ///< of the plan: lower-case letters, digits and dashes, begins with a letter, at most 40
  topology::Cluster cluster;
  std::string note;                 ///< one line, put into every file
  std::int64_t storage_gib = 1200;  ///< of the shared file system, a size that FSx for Lustre has
  std::string storage_holds;        ///< a sentence: what that is for
  bool compiles = true;             ///< a job compiles before the one that trains
  std::string os = "ubuntu2204";    ///< of ParallelCluster's images
};

/// The smallest file system of FSx for Lustre that holds so much: 1200 GiB, 2400 GiB or a multiple of it, which
/// is what SCRATCH_2, PERSISTENT_1 (SSD) and PERSISTENT_2 come in (Amazon FSx API, CreateFileSystem,
/// StorageCapacity).
std::int64_t fsx_gib(Bytes needed);

/// What one host is called: the EC2 instance type, which entries for another LNC share, else the catalogue's name.
std::string machine_type(const topology::Instance& instance);

/// "4 x trn1.32xlarge"; of nodes that are several hosts "1 x trn2u-ultraserver (4 hosts of trn2u.48xlarge)".
std::string hosts_text(const topology::Cluster& cluster);

/// The region of the latest price of the instance that states one, else "us-east-1".
std::string region_of(const topology::Instance& instance);

/// A cluster configuration of AWS ParallelCluster 3: one queue that grows to the plan's hosts, EFA and a
/// placement group, an FSx for Lustre on /fsx. Keys: aws-neuron/aws-neuron-parallelcluster-samples@54075e9
/// examples/cluster-configs/trn1-16-nodes-pcluster.md.
std::string parallelcluster_yaml(const ClusterSpec& spec);

/// Beside the lifecycle scripts of hyperpod_json()'s cluster, in the root of their folder: which group is the
/// controller, which partition the workers are, and the file system. Keys: awslabs/awsome-distributed-training@0edaf15
/// 1.architectures/5.sagemaker-hyperpod, whose validate-config.py asks for the file system.
std::string provisioning_json(const ClusterSpec& spec);

/// The same cluster on EKS: workers only, which are tested when they start and replaced when they fail. Keys: as above,
/// 1.architectures/7.sagemaker-hyperpod-eks.
std::string hyperpod_eks_json(const ClusterSpec& spec);

/// The input of `aws sagemaker create-cluster --cli-input-json`: a controller and the plan's workers.
/// Keys: awslabs/ai-on-sagemaker-hyperpod@b13e484 02-slurm-blueprints; the note stands in a tag.
std::string hyperpod_json(const ClusterSpec& spec);

}  // namespace trnplan::io
