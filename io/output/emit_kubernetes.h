// Manifests of Kubernetes: the jobs of a plan, and the claim of the volume that they share.
//
// Compile and train are jobs of their own, each with one torchrun per host, so that no rendezvous is met
// twice: the operator names the run of a torchrun by its job, and a run that was closed cannot be joined
// again (pytorch/pytorch issue 82160). Whatever only its owner knows (images, subnets) is written as SET-ME.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/output/emit_cluster.h"

namespace trnplan::io {

/// A kind of cluster that runs Kubernetes, and how jobs are written for it.
struct KubernetesFlavour {
  std::string_view name;  ///< "eks-mpijob"
  std::string_view fits;  ///< "a cluster that has ...", one line
  /// `folder` is where the pods see the plan's folder: plain letters, digits, '/', '-', '_', '.'. `mode` is
  /// "compile" or "train".
  std::string (*job)(const ClusterSpec& spec, const std::string& folder, std::string_view mode);
  bool hyperpod = false;  ///< of SageMaker HyperPod alone
  bool launcher = false;  ///< a pod of its own starts the others (mpi_launch.sh)
};

/// The first is the one where nothing is said.
///
///   eks-mpijob      kubeflow.org/v2beta1 MPIJob: a launcher, one worker a host; where a node is several hosts, with the
///                   affinity that keeps them together. Form:
///                   aws-neuron/neuronx-nemo-megatron@f4743ce k8s/example_manifests/mpi_train_llama7b.yaml
///   eks-pytorchjob  kubeflow.org/v1 PyTorchJob of a master and hosts - 1 workers, without elasticPolicy: the
///                   operator tells each pod its rank and its master. kubeflow/trainer@3a3a1da
///                   pkg/controller.v1/pytorch
///   hyperpod-eks    kubeflow.org/v1 PyTorchJob of workers that meet at the first of them (c10d), with
///                   HyperPod's auto-resume. Annotations and node selector:
///                   aws-samples/awsome-distributed-training@7217859
///                   3.test_cases/pytorch/neuronx-distributed/llama3/kubernetes/llama3_train.yaml-template
/// Devices of a host, those of Neuron or GPUs: aws/sagemaker-hyperpod-recipes@bb4da66 launcher/accelerator_devices.py,
/// launcher/efa.py.
[[nodiscard]] const std::vector<KubernetesFlavour>& kubernetes_flavours();

/// nullptr where there is none of that name.
[[nodiscard]] const KubernetesFlavour* find_flavour(std::string_view name);

/// In the order of kubernetes_flavours().
[[nodiscard]] std::vector<std::string> flavour_names();

/// "eks-mpijob-train.yaml".
[[nodiscard]] std::string manifest_name(const KubernetesFlavour& flavour, std::string_view mode);

/// Where pods mount the volume that they share.
inline constexpr std::string_view kSharedVolume = "/shared";

/// A pod that mounts that volume and waits, on any node: through it a person copies the plan's folder and runs prepare.sh
/// with the jobs' image.
[[nodiscard]] std::string eks_prepare_yaml(const ClusterSpec& spec);

/// What both jobs mount: a StorageClass of the FSx CSI driver and a claim of spec.storage_gib. Keys and
/// values: aws-neuron/aws-neuron-eks-samples@cecff9e dp_bert_hf_pretrain.
[[nodiscard]] std::string fsx_claim_yaml(const ClusterSpec& spec);

/// The label that pods of a job have, with the name of the job: by it kubectl finds their logs.
inline constexpr std::string_view kJobLabel = "trnplan-job";

}  // namespace trnplan::io
