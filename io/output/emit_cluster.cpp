#include "io/output/emit_cluster.h"

#include <fmt/format.h>

#include <cmath>

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

std::int64_t fsx_gib(Bytes needed) {
  constexpr std::int64_t kSmallest = 1200, kStep = 2400;
  const auto gib = static_cast<std::int64_t>(std::ceil(in_gibibytes(needed)));
  return gib <= kSmallest ? kSmallest : (gib + kStep - 1) / kStep * kStep;
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
      StorageCapacity: {storage}
)",
                     fmt::arg("note", s.note), fmt::arg("set", kSetMe), fmt::arg("name", s.name),
                     fmt::arg("region", region_of(i)), fmt::arg("resource", "trainium"),
                     fmt::arg("type", machine_type(i)), fmt::arg("nodes", s.cluster.nodes),
                     fmt::arg("efa", i.nics > 0), fmt::arg("storage", s.storage_gib));
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

}  // namespace trnplan::io
