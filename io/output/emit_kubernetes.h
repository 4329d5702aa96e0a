// Manifests of Kubernetes: the jobs of a plan, and the claim of the volume that they share.
//
// Compile and train are separate jobs, each with one torchrun per host, so that no rendezvous is met twice:
// the operator names the run of a torchrun by its job, and a closed run cannot be joined again
// (pytorch/pytorch issue 82160). Values that only the owner knows (images, subnets) are written as SET-ME.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/output/emit_cluster.h"

namespace trnplan::io {

/// A kind of cluster that runs Kubernetes, and the writer of its jobs.
struct KubernetesFlavour {
  std::string_view name;  ///< "eks-mpijob"
  std::string_view fits;  ///< "a cluster that has ...", one line
  /// `folder` is the plan's folder as the pods see it: plain letters, digits, '/', '-', '_', '.'. `mode` is
  /// "compile" or "train".
  std::string (*job)(const ClusterSpec& spec, const std::string& folder, std::string_view mode);
  bool hyperpod = false;  ///< of SageMaker HyperPod alone
  bool launcher = false;  ///< a separate pod starts the others (mpi_launch.sh)
};

/// All flavours; the first is the default.
///
///   eks-mpijob      kubeflow.org/v2beta1 MPIJob: a launcher, one worker a host; if a node is several hosts,
///                   with the affinity that keeps them together. Form:
///                   aws-neuron/neuronx-nemo-megatron@f4743ce k8s/example_manifests/mpi_train_llama7b.yaml
///   eks-pytorchjob  kubeflow.org/v1 PyTorchJob of a master and hosts - 1 workers, without elasticPolicy: the
///                   operator gives each pod its rank and its master. kubeflow/trainer@3a3a1da
///                   pkg/controller.v1/pytorch
///   hyperpod-eks    kubeflow.org/v1 PyTorchJob of workers that meet at the first of them (c10d), with
///                   HyperPod's auto-resume. Annotations and node selector:
///                   aws-samples/awsome-distributed-training@7217859
///                   3.test_cases/pytorch/neuronx-distributed/llama3/kubernetes/llama3_train.yaml-template
/// Devices of a host, those of Neuron or GPUs: aws/sagemaker-hyperpod-recipes@bb4da66
/// launcher/accelerator_devices.py, launcher/efa.py.
[[nodiscard]] const std::vector<KubernetesFlavour>& kubernetes_flavours();

/// The flavour of that name; nullptr if there is none.
[[nodiscard]] const KubernetesFlavour* find_flavour(std::string_view name);

/// Names in the order of kubernetes_flavours().
[[nodiscard]] std::vector<std::string> flavour_names();

/// "eks-mpijob-train.yaml".
[[nodiscard]] std::string manifest_name(const KubernetesFlavour& flavour, std::string_view mode);

/// Path at which pods mount the shared volume.
inline constexpr std::string_view kSharedVolume = "/shared";

/// A pod that mounts that volume and waits, on any node: through it a person copies the plan's folder and
/// runs prepare.sh with the jobs' image.
[[nodiscard]] std::string eks_prepare_yaml(const ClusterSpec& spec);

/// The volume that both jobs mount: a StorageClass of the FSx CSI driver and a claim of spec.storage_gib.
/// Keys and values: aws-neuron/aws-neuron-eks-samples@cecff9e dp_bert_hf_pretrain.
[[nodiscard]] std::string fsx_claim_yaml(const ClusterSpec& spec);

/// Label of a job's pods with the name of the job, by which kubectl finds their logs.
inline constexpr std::string_view kJobLabel = "trnplan-job";

}  // namespace trnplan::io
