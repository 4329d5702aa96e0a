#include "io/output/emit_kubernetes.h"

#include <fmt/format.h>

#include <algorithm>

namespace trnplan::io {

namespace {

bool trains(std::string_view mode) {
  return mode == "train";
}

std::string job_name(const ClusterSpec& s, std::string_view mode) {
  return fmt::format("{}-{}", s.name, mode);
}

std::string head(const ClusterSpec& s, const std::string& folder, std::string_view flavour,
                 std::string_view mode) {
  const KubernetesFlavour* fits = find_flavour(flavour);
  return fmt::format(
      "# {}\n# Fits {}.\n# Apply fsx-claim.yaml, copy the plan's folder to {} on its volume, put in what is "
      "called {}. Then\n# trnplan launch DIR --scheduler eks --cluster-flavour {} {}; by hand: kubectl apply "
      "-f {}\n",
      s.note, fits->fits, folder, kSetMe, flavour,
      s.compiles ? "compiles, waits and trains" : "starts the training", manifest_name(*fits, mode));
}

/// Resources of a whole host: its chips, its EFA devices if any, the shared folder and the host's memory.
std::string resources(const topology::Instance& i, int indent) {
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  std::string amounts = fmt::format("{}    {}: {}\n", pad, i.kubernetes_resource, i.host_chips());
  if (i.nics > 0) amounts += fmt::format("{}    vpc.amazonaws.com/efa: {}\n", pad, i.host_network_devices());
  return fmt::format(
      "{0}resources:\n{0}  requests:\n{1}{0}  limits:\n{1}"
      "{0}volumeMounts:\n{0}  - name: shared\n{0}    mountPath: /shared\n{0}  - name: memory\n{0}    "
      "mountPath: /dev/shm\n",
      pad, amounts);
}

constexpr const char* kVolumes = R"(          volumes:
            - name: shared
              persistentVolumeClaim:
                claimName: fsx-claim
)";

constexpr const char* kMemory = R"(            - name: memory
              emptyDir:
                medium: Memory
)";

constexpr const char* kHostMemory = R"(            - name: memory
              hostPath:
                path: /dev/shm
)";

// The launcher compiles once; in training it starts again after a failure, from the last checkpoint.
constexpr const char* kMpiJob = R"(apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: {name}
spec:
  slotsPerWorker: 1
  runPolicy:
    cleanPodPolicy: Running
{once}  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: {restart}
      template:
        metadata:
          labels:
            {label}: {name}
        spec:
          containers:
            - name: launcher
              image: {set}-image-with-software
              env:
                - name: POD_UID
                  valueFrom:
                    fieldRef:
                      fieldPath: metadata.uid
              command: ["bash", "{folder}/mpi_launch.sh", "{folder}", "{mode}"]
              volumeMounts:
                - name: shared
                  mountPath: /shared
{volumes}    Worker:
      replicas: {nodes}
      template:
        spec:
          nodeSelector:
            node.kubernetes.io/instance-type: {type}
{together}          containers:
            - name: worker
              image: {set}-image-with-software
{resources}{volumes}{memory})";

constexpr const char* kAlone = R"(          affinity:
            podAntiAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                - labelSelector:
                    matchExpressions:
                      - key: training.kubeflow.org/job-name
                        operator: NotIn
                        values:
                          - {job}
                    matchLabels:
                      training.kubeflow.org/job-role: worker
                  topologyKey: {place}
            podAffinity:
)";

constexpr const char* kOnOne = R"(              requiredDuringSchedulingIgnoredDuringExecution:
                - labelSelector:
                    matchLabels:
                      training.kubeflow.org/job-role: worker
                      training.kubeflow.org/job-name: {job}
                  topologyKey: {place}
)";

constexpr const char* kOnFew = R"(              preferredDuringSchedulingIgnoredDuringExecution:
                - weight: 100
                  podAffinityTerm:
                    labelSelector:
                      matchLabels:
                        training.kubeflow.org/job-role: worker
                        training.kubeflow.org/job-name: {job}
                    topologyKey: {place}
)";

/// Affinity that keeps the pods of a job on the hosts of the same nodes, and other jobs away; "" if a node is
/// one host. It is required for a single node. For several nodes, which one rule cannot keep apart, it is
/// preferred, and node_run.sh checks that they are whole. aws-neuron/aws-neuron-sdk@3afa0fdf
/// deploy/eks/ultraserver.rst.
std::string together(const ClusterSpec& s, const std::string& job) {
  const int hosts = s.cluster.instance.hosts;
  if (hosts == 1) return "";
  const std::string place = fmt::format("neuron.amazonaws.com/ultraserver-server-id-{}", hosts);
  const std::string near = s.cluster.nodes == 1 ? kOnOne : kOnFew;
  return fmt::format(fmt::runtime(kAlone + near), fmt::arg("job", job), fmt::arg("place", place));
}

std::string mpijob(const ClusterSpec& s, const std::string& folder, std::string_view mode) {
  return head(s, folder, "eks-mpijob", mode) +
         fmt::format(fmt::runtime(kMpiJob), fmt::arg("name", job_name(s, mode)),
                     fmt::arg("once", trains(mode) ? "" : "    backoffLimit: 0\n"),
                     fmt::arg("restart", trains(mode) ? "OnFailure" : "Never"), fmt::arg("label", kJobLabel),
                     fmt::arg("set", kSetMe), fmt::arg("folder", folder), fmt::arg("mode", mode),
                     fmt::arg("nodes", s.cluster.hosts()), fmt::arg("type", machine_type(s.cluster.instance)),
                     fmt::arg("together", together(s, job_name(s, mode))),
                     fmt::arg("resources", resources(s.cluster.instance, 14)), fmt::arg("volumes", kVolumes),
                     fmt::arg("memory", kMemory));
}

struct PyTorchPods {
  std::string role;  ///< the operator's: "Master" or "Worker"
  int replicas;
  std::string selector;  ///< lines of the node selector
  std::string_view memory;
};

std::string pytorch_pods(const PyTorchPods& pods, const ClusterSpec& s, const std::string& folder,
                         std::string_view mode) {
  return fmt::format(
      R"(    {role}:
      replicas: {replicas}
      restartPolicy: {restart}
      template:
        metadata:
          labels:
            {label}: {name}
        spec:
          nodeSelector:
{selector}          containers:
            - name: pytorch
              image: {set}-image-with-software
              command: ["bash", "{folder}/node_run.sh", "{folder}", "{mode}"]
{resources}{volumes}{memory})",
      fmt::arg("role", pods.role), fmt::arg("replicas", pods.replicas),
      fmt::arg("restart", trains(mode) ? "OnFailure" : "Never"), fmt::arg("label", kJobLabel),
      fmt::arg("name", job_name(s, mode)), fmt::arg("selector", pods.selector), fmt::arg("set", kSetMe),
      fmt::arg("folder", folder), fmt::arg("mode", mode),
      fmt::arg("resources", resources(s.cluster.instance, 14)), fmt::arg("volumes", kVolumes),
      fmt::arg("memory", pods.memory));
}

constexpr const char* kPyTorchHead = R"(apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: {}
)";

std::string pytorchjob(const ClusterSpec& s, const std::string& folder, std::string_view mode) {
  const std::string selector =
      fmt::format("            node.kubernetes.io/instance-type: {}\n", machine_type(s.cluster.instance));
  std::string text = head(s, folder, "eks-pytorchjob", mode) +
                     fmt::format(fmt::runtime(kPyTorchHead), job_name(s, mode)) +
                     "spec:\n  runPolicy:\n    cleanPodPolicy: None\n  pytorchReplicaSpecs:\n" +
                     pytorch_pods({"Master", 1, selector, kMemory}, s, folder, mode);
  if (s.cluster.hosts() > 1)
    text += pytorch_pods({"Worker", s.cluster.hosts() - 1, selector, kMemory}, s, folder, mode);
  return text;
}

constexpr const char* kHyperPodSpec = R"(  annotations:
    sagemaker.amazonaws.com/enable-job-auto-resume: "true"
    sagemaker.amazonaws.com/job-max-retry-count: "2"
spec:
  elasticPolicy:
    rdzvBackend: c10d
    rdzvId: {name}
    minReplicas: {nodes}
    maxReplicas: {nodes}
    maxRestarts: {restarts}
  runPolicy:
    cleanPodPolicy: None
  pytorchReplicaSpecs:
)";

/// Restarts of training, as in the sample. None for compiling, which would give the same failure again.
constexpr int kTrainRestarts = 100;

std::string hyperpod_job(const ClusterSpec& s, const std::string& folder, std::string_view mode) {
  const std::string selector = fmt::format(
      "            node.kubernetes.io/instance-type: {}\n"
      "            sagemaker.amazonaws.com/node-health-status: Schedulable\n",
      s.cluster.instance.hyperpod_type);
  return head(s, folder, "hyperpod-eks", mode) + fmt::format(fmt::runtime(kPyTorchHead), job_name(s, mode)) +
         fmt::format(fmt::runtime(kHyperPodSpec), fmt::arg("name", job_name(s, mode)),
                     fmt::arg("nodes", s.cluster.hosts()),
                     fmt::arg("restarts", trains(mode) ? kTrainRestarts : 0)) +
         pytorch_pods({"Worker", s.cluster.hosts(), selector, kHostMemory}, s, folder, mode);
}

}  // namespace

const std::vector<KubernetesFlavour>& kubernetes_flavours() {
  static const std::vector<KubernetesFlavour> all = {
      {"eks-mpijob", "an EKS cluster with Kubeflow's MPI operator (MPIJob v2beta1)", mpijob, false, true},
      {"eks-pytorchjob", "an EKS cluster with Kubeflow's training operator (PyTorchJob v1)", pytorchjob},
      {"hyperpod-eks", "SageMaker HyperPod on EKS with Kubeflow's training operator (PyTorchJob v1)",
       hyperpod_job, true}};
  return all;
}

const KubernetesFlavour* find_flavour(std::string_view name) {
  const std::vector<KubernetesFlavour>& all = kubernetes_flavours();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const KubernetesFlavour& f) { return f.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> flavour_names() {
  std::vector<std::string> names;
  for (const KubernetesFlavour& f : kubernetes_flavours()) names.emplace_back(f.name);
  return names;
}

std::string manifest_name(const KubernetesFlavour& flavour, std::string_view mode) {
  return fmt::format("{}-{}.yaml", flavour.name, mode);
}

std::string eks_prepare_yaml(const ClusterSpec& s) {
  return fmt::format(R"(# {note}
# A pod that mounts the volume of the jobs, to copy the plan's folder there and to run prepare.sh with the jobs' image:
# README.md has the commands. Put in the image, then: kubectl apply -f eks-prepare.yaml
apiVersion: v1
kind: Pod
metadata:
  name: {name}-prepare
spec:
  restartPolicy: Never
  containers:
    - name: prepare
      image: {set}-image-with-software
      command: ["sleep", "infinity"]
      volumeMounts:
        - name: shared
          mountPath: {mount}
  volumes:
    - name: shared
      persistentVolumeClaim:
        claimName: fsx-claim
)",
                     fmt::arg("note", s.note), fmt::arg("name", s.name), fmt::arg("set", kSetMe),
                     fmt::arg("mount", kSharedVolume));
}

std::string fsx_claim_yaml(const ClusterSpec& s) {
  return fmt::format(R"(# {note}
# {holds}
# The volume of the plan's jobs. Put in what is called {set}, then: kubectl apply -f fsx-claim.yaml
# Needs the FSx for Lustre CSI driver. A claim of this name on a volume that is there already will do as well.
apiVersion: v1
kind: List
items:
  - apiVersion: storage.k8s.io/v1
    kind: StorageClass
    metadata:
      name: fsx-sc
    provisioner: fsx.csi.aws.com
    parameters:
      subnetId: subnet-{set}
      securityGroupIds: sg-{set}
      deploymentType: PERSISTENT_1
      perUnitStorageThroughput: "200"
    mountOptions:
      - flock
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata:
      name: fsx-claim
    spec:
      accessModes:
        - ReadWriteMany
      storageClassName: fsx-sc
      resources:
        requests:
          storage: {size}Gi
)",
                     fmt::arg("note", s.note), fmt::arg("holds", s.storage_holds), fmt::arg("set", kSetMe),
                     fmt::arg("size", s.storage_gib));
}

}  // namespace trnplan::io
