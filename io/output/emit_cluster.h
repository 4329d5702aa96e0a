// Files that make a cluster: what `pcluster`, `aws sagemaker` and `kubectl` read.
//
// Whatever only its owner knows (subnets, keys, roles, images) is written as SET-ME; everything else follows
// from the cluster of a plan. io/input/cluster_files.h reads the first two back.
#pragma once

#include <string>
#include <string_view>

#include "topology/instance.h"

namespace trnplan::io {

/// What a person must put in by hand; launch refuses a file that still holds it.
inline constexpr std::string_view kSetMe = "SET-ME";

struct ClusterSpec {
  std::string name;  ///< of the plan: lower-case letters, digits and dashes, begins with a letter, at most 40
  topology::Cluster cluster;
  std::string note;  ///< one line, put into every file
};

/// The instance type as AWS calls it: a catalogue entry for another LNC is the same machine.
std::string machine_type(const topology::Instance& instance);

/// The region of the latest price of the instance that states one, else "us-east-1".
std::string region_of(const topology::Instance& instance);

/// A cluster configuration of AWS ParallelCluster 3: one queue that grows to the plan's nodes, EFA and a
/// placement group, an FSx for Lustre on /fsx. Keys: aws-neuron/aws-neuron-parallelcluster-samples@54075e9
/// examples/cluster-configs/trn1-16-nodes-pcluster.md.
std::string parallelcluster_yaml(const ClusterSpec& spec);

/// The input of `aws sagemaker create-cluster --cli-input-json`: a controller and the plan's workers.
/// Keys: awslabs/ai-on-sagemaker-hyperpod@b13e484 02-slurm-blueprints; the note stands in a tag.
std::string hyperpod_json(const ClusterSpec& spec);

/// A Kubeflow MPIJob (kubeflow.org/v2beta1) whose launcher compiles and then trains, one worker a node.
/// Form: aws-neuron/neuronx-nemo-megatron@f4743ce k8s/example_manifests/mpi_train_llama7b.yaml; resources per
/// node: aws/sagemaker-hyperpod-recipes@bb4da66 launcher/accelerator_devices.py, launcher/efa.py.
/// `folder` is where the pods see the plan's folder: plain letters, digits, '/', '-', '_', '.'.
std::string mpijob_yaml(const ClusterSpec& spec, const std::string& folder);

/// A Kubeflow PyTorchJob (kubeflow.org/v1) for HyperPod on EKS with auto-resume, and the etcd its ranks meet
/// at, as one list. Form: aws-samples/awsome-distributed-training@7217859
/// 3.test_cases/pytorch/neuronx-distributed/llama3/kubernetes/llama3_train.yaml-template.
std::string pytorchjob_yaml(const ClusterSpec& spec, const std::string& folder);

}  // namespace trnplan::io
