// Files that describe an existing cluster: the number and the type of its Trainium nodes.
//
//   HyperPod         input of `aws sagemaker create-cluster --cli-input-json`: InstanceGroups[] with
//                    InstanceGroupName, InstanceType ("ml.trn1.32xlarge") and InstanceCount
//   ParallelCluster  input of `pcluster create-cluster --cluster-configuration`: Scheduling.SlurmQueues[]
//                    with Name and ComputeResources[] {Name, InstanceType or Instances[].InstanceType,
//                    MinCount, MaxCount, Efa.Enabled}
//   sinfo            output of `sinfo -N -o "%N %t %f %P"`
// Only the keys above are read; AWS adds others, so those are no fault. Groups of other hardware (controller,
// login nodes) are ignored. Two or more groups of Trainium nodes are a fault that lists them, unless `group`
// names one. Sources: awslabs/ai-on-sagemaker-hyperpod@b13e484,
// aws-neuron/aws-neuron-parallelcluster-samples@54075e9 examples/cluster-configs/trn1-16-nodes-pcluster.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "text/document.h"

namespace trnplan::io {

struct ClusterReading {
  std::string instance;  ///< a name of the catalogue; empty if a sinfo file names no known type
  int nodes = 0;         ///< of the catalogue, at least 1; without an instance hosts
  /// Number that the file counts: several hosts make a node of some machines (topology::Instance::hosts).
  int hosts = 0;
  /// Kind of the nodes in a sinfo file if that is not a name of the catalogue.
  std::string unknown;
  std::string group;  ///< instance group, queue or partition
  std::vector<std::string> notes;
};

/// Reads a HyperPod file. All three readers throw InputError with every fault of the file: keys missing or of
/// the wrong kind, an unknown Trainium type, no Trainium group or several, a missing `group`, no node, fewer
/// hosts than a node has, more than kMostNodes. Cost: linear in the file, which is limited in size and depth
/// (text/document.h).
ClusterReading read_hyperpod(const std::filesystem::path& path, const Catalog& catalog,
                             const std::string& group = "", const Files& files = disk());

/// Reads a ParallelCluster file. Counts MaxCount, to which the queue can grow, and says so if MinCount is
/// less. `group` names a queue, a compute resource, or QUEUE/RESOURCE. A queue with resources of one type is
/// one group.
ClusterReading read_parallelcluster(const std::filesystem::path& path, const Catalog& catalog,
                                    const std::string& group = "", const Files& files = disk());

/// Reads the output of sinfo. Columns are found by their titles, in any order: NODELIST or HOSTNAMES and
/// STATE are needed; PARTITION distinguishes groups, AVAIL_FEATURES (ACTIVE_FEATURES) names instance types if
/// the scheduler knows them, GRES says that nodes have GPUs. Node lists such as ip-10-1-65-[134,171] are
/// expanded, so the plain output of sinfo will do as well. Nodes that are down, drained, failed or do not
/// answer are not counted, and listed in a note; those that are powered down until they are needed count.
/// Words of the states: SchedMD/slurm doc/man/man1/sinfo.1.
ClusterReading read_sinfo(const std::filesystem::path& path, const Catalog& catalog,
                          const std::string& group = "", const Files& files = disk());

/// The flavour of Kubernetes (io/output/emit_kubernetes.h) of a HyperPod file, by its Orchestrator.Eks.
/// Throws InputError for a file that has none. Keys: awslabs/awsome-distributed-training@0edaf15
/// 1.architectures/7.sagemaker-hyperpod-eks.
[[nodiscard]] std::string kubernetes_flavour_of(const std::filesystem::path& path,
                                                const Files& files = disk());

}  // namespace trnplan::io
