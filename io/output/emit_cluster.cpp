#include "io/output/emit_cluster.h"

#include <fmt/format.h>

#include <cmath>

#include "io/format/json_tree.h"
#include "planner/cost/prices.h"

namespace trnplan::io {

std::string machine_type(const topology::Instance& instance) {
  return instance.ec2_type.empty() ? instance.name : instance.ec2_type;
}

std::string hosts_text(const topology::Cluster& c) {
  const topology::Instance& i = c.instance;
  if (i.hosts == 1) return fmt::format("{} x {}", c.nodes, machine_type(i));
  return fmt::format("{} x {} ({} hosts{})", c.nodes, i.name, c.hosts(),
                     i.ec2_type.empty() ? "" : " of " + i.ec2_type);
}

std::string region_of(const topology::Instance& instance) {
  const topology::Price* latest = nullptr;
  const auto is_region = [](const topology::Price& p) {
    return p.region.find('-') != std::string::npos && p.region.find(' ') == std::string::npos;
  };
  if (instance.chosen && is_region(*instance.chosen)) return instance.chosen->region;
  for (const topology::Price& p : instance.prices)
    if (is_region(p) && (latest == nullptr || p.date > latest->date)) latest = &p;
  return latest == nullptr ? "us-east-1" : latest->region;
}

std::int64_t fsx_gib(Bytes needed) {
  constexpr std::int64_t kSmallest = 1200, kStep = 2400;
  const auto gib = static_cast<std::int64_t>(std::ceil(in_gibibytes(needed)));
  return gib <= kSmallest ? kSmallest : (gib + kStep - 1) / kStep * kStep;
}

bool buys_spot(const topology::Instance& instance) {
  return instance.chosen && instance.chosen->kind == planner::to_string(planner::Pricing::spot);
}

namespace {

/// True if its nodes are reserved as a block.
bool buys_block(const topology::Instance& i) {
  return i.chosen && !i.chosen->is_stated()
             ? i.chosen->kind == planner::to_string(planner::Pricing::capacity_block)
             : i.starts_in_blocks_alone();
}

/// Action of a section of nodes at the start of a node: install_neuron.sh, from a bucket.
std::string install(int indent) {
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  return fmt::format(
      "{0}CustomActions:\n{0}  OnNodeConfigured:\n{0}    Script: s3://{1}-bucket/install_neuron.sh\n"
      "{0}    Args: [{1}-neuron-repository, {1}-neuron-key]\n"
      "{0}Iam:\n{0}  S3Access:\n{0}    - BucketName: {1}-bucket\n{0}      EnableWriteAccess: false\n",
      pad, kSetMe);
}

/// A comment line for a node of the plan that is several instances.
std::string whole_nodes(const ClusterSpec& s) {
  if (s.cluster.instance.hosts == 1) return "";
  return fmt::format(
      "# MaxCount counts hosts: {}. The hosts of a node must be placed together: reserve them as one.\n",
      hosts_text(s.cluster));
}

/// Capacity of a queue. A block needs its reservation, equal least and largest numbers of nodes, and no
/// placement group: aws/aws-parallelcluster@451cc532 cli/src/pcluster/validators (cluster_validators.py,
/// ec2_validators.py).
std::string capacity(const topology::Instance& i) {
  if (!buys_block(i)) return fmt::format("      CapacityType: {}\n", buys_spot(i) ? "SPOT" : "ONDEMAND");
  return fmt::format(
      "      CapacityType: CAPACITY_BLOCK\n"
      "      CapacityReservationTarget:\n"
      "        CapacityReservationId: {}-capacity-reservation\n",
      kSetMe);
}

}  // namespace

/// A cluster configuration. Neuron's driver is installed: images of ParallelCluster hold NVIDIA's driver and
/// EFA.
std::string parallelcluster_yaml(const ClusterSpec& s) {
  const topology::Instance& i = s.cluster.instance;
  const bool neuron = i.traits.accelerator == topology::Accelerator::neuron_core;
  const bool block = buys_block(i);
  return fmt::format(
      R"(# {note}
# {holds}
{whole}# Put in what is called {set}{copy}, then:
# pcluster create-cluster --cluster-configuration parallelcluster.yaml -n {name}
Region: {region}
Image:
  Os: {os}
HeadNode:
  InstanceType: c5.4xlarge
  Networking:
    SubnetId: {set}-public-subnet
  Ssh:
    KeyName: {set}-key
  LocalStorage:
    RootVolume:
      Size: 1024
{head_install}Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: compute1
{capacity}      ComputeSettings:
        LocalStorage:
          RootVolume:
            Size: 1024
          EphemeralVolume:
            MountDir: /local_storage
      ComputeResources:
        - Name: {resource}
          InstanceType: {type}
          MinCount: {least}
          MaxCount: {nodes}
          Efa:
            Enabled: {efa}
      Networking:
        SubnetIds:
          - {set}-private-subnet
{placement}{queue_install}SharedStorage:
  - MountDir: /fsx
    Name: pclusterfsx
    StorageType: FsxLustre
    FsxLustreSettings:
      DeploymentType: SCRATCH_2
      StorageCapacity: {storage}
)",
      fmt::arg("note", s.note), fmt::arg("holds", s.storage_holds), fmt::arg("set", kSetMe),
      fmt::arg("os", s.os), fmt::arg("whole", whole_nodes(s)), fmt::arg("name", s.name),
      fmt::arg("region", region_of(i)), fmt::arg("resource", neuron ? "trainium" : "gpu"),
      fmt::arg("type", machine_type(i)), fmt::arg("nodes", s.cluster.hosts()),
      fmt::arg("capacity", capacity(i)), fmt::arg("least", block ? s.cluster.hosts() : 0),
      fmt::arg("placement", block ? "" : "        PlacementGroup:\n          Enabled: true\n"),
      fmt::arg("efa", i.nics > 0), fmt::arg("storage", s.storage_gib),
      fmt::arg("head_install", neuron ? install(2) : ""), fmt::arg("queue_install", neuron ? install(6) : ""),
      fmt::arg("copy", neuron ? ", copy install_neuron.sh into the bucket" : ""));
}

namespace {

/// Text for a tag of AWS: letters, digits, blanks and + - = . _ : / @, at most 256.
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
          {"InstanceType", type},
          {"InstanceCount", count},
          {"LifeCycleConfig",
           {{"SourceS3Uri", "s3://sagemaker-" + set + "/lifecycle"}, {"OnCreate", "on_create.sh"}}},
          {"ExecutionRole", "arn:aws:iam::" + set + ":role/" + set},
          {"ThreadsPerCore", 2}};
}

constexpr const char* kController = "controller-machine";
constexpr const char* kWorkers = "worker-group-1";

/// Workers; with the training plan that reserves them, for a machine that is sold in blocks alone.
Json worker_group(const topology::Cluster& cluster) {
  Json group = instance_group(kWorkers, cluster.instance.hyperpod_type, cluster.hosts());
  const std::string set(kSetMe);
  if (buys_block(cluster.instance))
    group["TrainingPlanArn"] = "arn:aws:sagemaker:" + set + ":training-plan/" + set;
  return group;
}

Json network() {
  const std::string set(kSetMe);
  return {{"SecurityGroupIds", {"sg-" + set}}, {"Subnets", {"subnet-" + set}}};
}

Json tags(const ClusterSpec& s) {
  const Json tag = {{"Key", "trnplan"}, {"Value", tag_value(s.note)}};
  return Json::array({tag});
}

}  // namespace

std::string provisioning_json(const ClusterSpec& s) {
  const bool neuron = s.cluster.instance.traits.accelerator == topology::Accelerator::neuron_core;
  const std::string set(kSetMe);
  const Json group = {{"instance_group_name", kWorkers}, {"partition_name", neuron ? "trainium" : "gpu"}};
  const Json parameters = {{"version", "1.0.0"},
                           {"workload_manager", "slurm"},
                           {"controller_group", kController},
                           {"worker_groups", Json::array({group})},
                           {"fsx_dns_name", set + ".fsx." + region_of(s.cluster.instance) + ".amazonaws.com"},
                           {"fsx_mountname", set}};
  return parameters.dump(2) + "\n";
}

std::string hyperpod_eks_json(const ClusterSpec& s) {
  Json workers = worker_group(s.cluster);
  workers["OnStartDeepHealthChecks"] = {"InstanceStress", "InstanceConnectivity"};
  const Json cluster = {{"ClusterName", s.name},
                        {"Orchestrator", {{"Eks", {{"ClusterArn", fmt::format("arn:aws:eks:{}", kSetMe)}}}}},
                        {"InstanceGroups", Json::array({workers})},
                        {"VpcConfig", network()},
                        {"NodeRecovery", "Automatic"},
                        {"Tags", tags(s)}};
  return cluster.dump(2) + "\n";
}

std::string hyperpod_json(const ClusterSpec& s) {
  const Json cluster = {
      {"ClusterName", s.name},
      {"InstanceGroups", {instance_group(kController, "ml.m5.12xlarge", 1), worker_group(s.cluster)}},
      {"VpcConfig", network()},
      {"Tags", tags(s)}};
  return cluster.dump(2) + "\n";
}

}  // namespace trnplan::io
