// Files that create a cluster: input of `pcluster` and `aws sagemaker`.
//
// Values that only the owner knows (subnets, keys, roles, images) are written as SET-ME; everything else
// follows from the cluster of a plan. io/input/cluster_files.h reads the first two back. Instances are
// counted, several of which may be a node of the plan (topology::Instance::hosts). There are no such files
// for a machine that EC2 does not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "topology/instance.h"
#include "units/quantity.h"

namespace trnplan::io {

/// Placeholder for a person's input; launch refuses a file that still contains it.
inline constexpr std::string_view kSetMe = "SET-ME";

struct ClusterSpec {
  std::string name;  ///< of the plan: lower-case letters, digits and dashes, begins with a letter, at most 40
  topology::Cluster cluster;
  std::string note;                 ///< one line, put into every file
  std::int64_t storage_gib = 1200;  ///< of the shared file system, a size that FSx for Lustre has
  std::string storage_holds;        ///< the purpose of the storage, as a sentence
  bool compiles = true;             ///< a job compiles before the one that trains
  std::string os = "ubuntu2204";    ///< of ParallelCluster's images
};

/// The smallest file system of FSx for Lustre that holds so much: 1200 GiB, 2400 GiB or a multiple of it,
/// which are the sizes of SCRATCH_2, PERSISTENT_1 (SSD) and PERSISTENT_2 (Amazon FSx API, CreateFileSystem,
/// StorageCapacity).
std::int64_t fsx_gib(Bytes needed);

/// True if the user chose spot prices.
bool buys_spot(const topology::Instance& instance);

/// Name of one host: the EC2 instance type, which entries for another LNC share, else the catalogue's name.
std::string machine_type(const topology::Instance& instance);

/// "4 x trn1.32xlarge"; for nodes of several hosts "1 x trn2u-ultraserver (4 hosts of trn2u.48xlarge)".
std::string hosts_text(const topology::Cluster& cluster);

/// The region of the latest price of the instance that states one, else "us-east-1".
std::string region_of(const topology::Instance& instance);

/// A cluster configuration of AWS ParallelCluster 3: one queue that grows to the plan's hosts, EFA and a
/// placement group, an FSx for Lustre on /fsx. Keys: aws-neuron/aws-neuron-parallelcluster-samples@54075e9
/// examples/cluster-configs/trn1-16-nodes-pcluster.md.
std::string parallelcluster_yaml(const ClusterSpec& spec);

/// File next to the lifecycle scripts of hyperpod_json()'s cluster, in the root of their folder: the
/// controller's group, the workers' partition, and the file system. Keys:
/// awslabs/awsome-distributed-training@0edaf15 1.architectures/5.sagemaker-hyperpod, the validate-config.py
/// of which requires the file system.
std::string provisioning_json(const ClusterSpec& spec);

/// The same cluster on EKS: workers only, which are tested at the start and replaced after a failure. Keys:
/// as above, 1.architectures/7.sagemaker-hyperpod-eks.
std::string hyperpod_eks_json(const ClusterSpec& spec);

/// The input of `aws sagemaker create-cluster --cli-input-json`: a controller and the plan's workers. Keys:
/// awslabs/ai-on-sagemaker-hyperpod@b13e484 02-slurm-blueprints; the note is in a tag.
std::string hyperpod_json(const ClusterSpec& spec);

}  // namespace trnplan::io
