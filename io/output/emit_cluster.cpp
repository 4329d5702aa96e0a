#include "io/output/emit_cluster.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace trnplan::io {

using Json = nlohmann::ordered_json;

std::string machine_type(const topology::Instance& instance) {
  const std::size_t suffix = instance.name.find("-lnc");
  if (suffix != std::string::npos) return instance.name.substr(0, suffix);
  if (instance.name.find('.') != std::string::npos) return instance.name;
  return instance.name.substr(0, instance.name.find('-')) + ".48xlarge";  // "trn2u-ultraserver"
}

std::string region_of(const topology::Instance& instance) {
  const topology::Price* latest = nullptr;
  for (const topology::Price& p : instance.prices) {
    const bool region = p.region.find('-') != std::string::npos && p.region.find(' ') == std::string::npos;
    if (region && (latest == nullptr || p.date > latest->date)) latest = &p;
  }
  return latest == nullptr ? "us-east-1" : latest->region;
}

std::string parallelcluster_yaml(const ClusterSpec& s) {
  const topology::Instance& i = s.cluster.instance;
  return fmt::format(R"(# {note}
# Put in what is called {set}, then: pcluster create-cluster --cluster-configuration parallelcluster.yaml -n {name}
Region: {region}
Image:
  Os: ubuntu2204
HeadNode:
  InstanceType: c5.4xlarge
  Networking:
    SubnetId: {set}-public-subnet
  Ssh:
    KeyName: {set}-key
  LocalStorage:
    RootVolume:
      Size: 1024
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: compute1
      CapacityType: ONDEMAND
      ComputeSettings:
        LocalStorage:
          RootVolume:
            Size: 1024
          EphemeralVolume:
            MountDir: /local_storage
      ComputeResources:
        - Name: {resource}
          InstanceType: {type}
          MinCount: 0
          MaxCount: {nodes}
          Efa:
            Enabled: {efa}
      Networking:
        SubnetIds:
          - {set}-private-subnet
        PlacementGroup:
          Enabled: true
SharedStorage:
  - MountDir: /fsx
    Name: pclusterfsx
    StorageType: FsxLustre
    FsxLustreSettings:
      DeploymentType: SCRATCH_2
      StorageCapacity: 1200
)",
                     fmt::arg("note", s.note), fmt::arg("set", kSetMe), fmt::arg("name", s.name),
                     fmt::arg("region", region_of(i)), fmt::arg("resource", "trainium"),
                     fmt::arg("type", machine_type(i)), fmt::arg("nodes", s.cluster.nodes),
                     fmt::arg("efa", i.nics > 0));
}

namespace {

/// What a tag of AWS may hold: letters, digits, blanks and + - = . _ : / @, at most 256.
std::string tag_value(const std::string& text) {
  std::string value;
  for (const char c : text.substr(0, 256)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view(" +-=._:/@").find(c) != std::string_view::npos;
    value += plain ? c : ' ';
  }
  return value;
}

Json instance_group(const char* name, const std::string& type, int count) {
  const std::string set(kSetMe);
  return {{"InstanceGroupName", name},
          {"InstanceType", "ml." + type},
          {"InstanceCount", count},
          {"LifeCycleConfig", {{"SourceS3Uri", "s3://" + set + "/lifecycle"}, {"OnCreate", "on_create.sh"}}},
          {"ExecutionRole", "arn:aws:iam::" + set + ":role/" + set},
          {"ThreadsPerCore", 2}};
}

}  // namespace

std::string hyperpod_json(const ClusterSpec& s) {
  const std::string set(kSetMe);
  const Json cluster = {
      {"ClusterName", s.name},
      {"InstanceGroups",
       {instance_group("controller-machine", "m5.12xlarge", 1),
        instance_group("worker-group-1", machine_type(s.cluster.instance), s.cluster.nodes)}},
      {"VpcConfig", {{"SecurityGroupIds", {"sg-" + set}}, {"Subnets", {"subnet-" + set}}}},
      {"Tags", {{{"Key", "trnplan"}, {"Value", tag_value(s.note)}}}}};
  return cluster.dump(2) + "\n";
}

namespace {

/// A whole node: its chips, its EFA devices where it has any, the shared folder and the host's memory.
std::string resources(const topology::Instance& i, int indent) {
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  std::string amounts = fmt::format("{}    aws.amazon.com/neuron: {}\n", pad, i.chips);
  if (i.nics > 0) amounts += fmt::format("{}    vpc.amazonaws.com/efa: {}\n", pad, i.nics);
  return fmt::format(
      "{0}resources:\n{0}  requests:\n{1}{0}  limits:\n{1}"
      "{0}volumeMounts:\n{0}  - name: shared\n{0}    mountPath: /shared\n{0}  - name: memory\n{0}    "
      "mountPath: /dev/shm\n",
      pad, amounts);
}

}  // namespace

std::string mpijob_yaml(const ClusterSpec& s, const std::string& folder) {
  return fmt::format(R"(# {note}
# Put in what is called {set}, copy the plan's folder to {folder} on the volume, then: kubectl apply -f mpijob.yaml
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: {name}
spec:
  slotsPerWorker: 1
  runPolicy:
    cleanPodPolicy: Running
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          restartPolicy: OnFailure
          containers:
            - name: launcher
              image: {set}-image-with-nxdt
              env:
                - name: POD_UID
                  valueFrom:
                    fieldRef:
                      fieldPath: metadata.uid
              command: ["bash", "{folder}/mpi_launch.sh", "{folder}"]
              volumeMounts:
                - name: shared
                  mountPath: /shared
          volumes:
            - name: shared
              persistentVolumeClaim:
                claimName: fsx-claim
    Worker:
      replicas: {nodes}
      template:
        spec:
          nodeSelector:
            node.kubernetes.io/instance-type: {type}
          containers:
            - name: worker
              image: {set}-image-with-nxdt
{resources}          volumes:
            - name: shared
              persistentVolumeClaim:
                claimName: fsx-claim
            - name: memory
              emptyDir:
                medium: Memory
)",
                     fmt::arg("note", s.note), fmt::arg("set", kSetMe), fmt::arg("name", s.name),
                     fmt::arg("folder", folder), fmt::arg("nodes", s.cluster.nodes),
                     fmt::arg("type", machine_type(s.cluster.instance)),
                     fmt::arg("resources", resources(s.cluster.instance, 14)));
}

namespace {

constexpr const char* kEtcd = R"(  - apiVersion: v1
    kind: Service
    metadata:
      name: {name}-etcd
    spec:
      selector:
        app: {name}-etcd
      ports:
        - name: etcd-client-port
          port: 2379
          protocol: TCP
          targetPort: 2379
  - apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: {name}-etcd
    spec:
      replicas: 1
      selector:
        matchLabels:
          app: {name}-etcd
      template:
        metadata:
          labels:
            app: {name}-etcd
        spec:
          containers:
            - name: etcd
              image: quay.io/coreos/etcd:v3.5.19
              command: ["/usr/local/bin/etcd"]
              args: ["--data-dir", "/var/lib/etcd", "--enable-v2", "--listen-client-urls", "http://0.0.0.0:2379",
                     "--advertise-client-urls", "http://0.0.0.0:2379"]
              ports:
                - containerPort: 2379
)";

constexpr const char* kPyTorchJob = R"(  - apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata:
      name: {name}
      annotations:
        sagemaker.amazonaws.com/enable-job-auto-resume: "true"
        sagemaker.amazonaws.com/job-max-retry-count: "2"
    spec:
      elasticPolicy:
        rdzvBackend: etcd
        rdzvHost: {name}-etcd
        rdzvPort: 2379
        minReplicas: {nodes}
        maxReplicas: {nodes}
        maxRestarts: 100
      runPolicy:
        cleanPodPolicy: None
      pytorchReplicaSpecs:
        Worker:
          replicas: {nodes}
          restartPolicy: OnFailure
          template:
            spec:
              nodeSelector:
                node.kubernetes.io/instance-type: ml.{type}
                sagemaker.amazonaws.com/node-health-status: Schedulable
              containers:
                - name: pytorch
                  image: {set}-image-with-nxdt
                  command: ["bash", "{folder}/node_run.sh", "{folder}", "compile", "train"]
{resources}              volumes:
                - name: shared
                  persistentVolumeClaim:
                    claimName: fsx-claim
                - name: memory
                  hostPath:
                    path: /dev/shm
)";

}  // namespace

std::string pytorchjob_yaml(const ClusterSpec& s, const std::string& folder) {
  const std::string head = fmt::format(
      "# {}\n# Put in what is called {}, copy the plan's folder to {} on the volume, then: kubectl apply -f "
      "pytorchjob.yaml\napiVersion: v1\nkind: List\nitems:\n",
      s.note, kSetMe, folder);
  return head + fmt::format(fmt::runtime(kEtcd), fmt::arg("name", s.name)) +
         fmt::format(fmt::runtime(kPyTorchJob), fmt::arg("name", s.name), fmt::arg("nodes", s.cluster.nodes),
                     fmt::arg("type", machine_type(s.cluster.instance)), fmt::arg("set", kSetMe),
                     fmt::arg("folder", folder), fmt::arg("resources", resources(s.cluster.instance, 18)));
}

}  // namespace trnplan::io
