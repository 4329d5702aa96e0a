// A machine type and a cluster of them, as data. Nothing here knows about time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/traits.h"
#include "units/quantity.h"

namespace trnplan::topology {

/// One NeuronCore (the schedulable unit). Rates are published peaks; what a program reaches of them is a
/// parameter of the profile. Sources stand beside each number in catalog/instances/*.json. A logical core of
/// trn2 is made of `lnc` physical ones: bf16, memory, hbm and dma are of the logical core, array, lanes and
/// clocks of one physical core.
struct Core {
  std::string device = "neuron_core";  ///< what turns work into time: models/device/devices.h
  int lnc = 1;                         ///< physical cores in this one (NEURON_LOGICAL_NC_CONFIG)
  FlopsPerSecond bf16{};               ///< dense BF16 peak used for MFU
  FlopsPerSecond fp32{};               ///< dense peak of FP32 products where one is published; 0: none
  int array_rows = 0;                  ///< tensor-engine array: contraction (K) lanes
  int array_columns = 0;               ///< stationary free size of one tile
  int matmul_issue_cycles = 0;         ///< least tensor cycles between two matmul instructions
  double tensor_hertz = 0;
  int vector_lanes = 0;
  double vector_hertz = 0;
  Bytes memory{};        ///< HBM that belongs to the core
  BytesPerSecond hbm{};  ///< share of the chip's HBM bandwidth
  BytesPerSecond dma{};  ///< sum over the core's DMA engines
  // Of GPUs, 0 where not stated: dense peaks of other types, and what else a model of a kernel may ask for.
  FlopsPerSecond fp8{}, fp4{}, tf32{};
  int multiprocessors = 0;
  Bytes l2{};
  double watts = 0;  ///< the default limit of power
};

/// A bidirectional link between two chips, a chip and a switch, or two switches. Chips are numbered from 0,
/// switches after them.
struct Link {
  int chip_a = 0;
  int chip_b = 0;
  BytesPerSecond per_direction{};  ///< 0: Instance::link_per_direction
};

struct Price {
  std::string kind;  ///< on_demand, reserved, capacity_block, spot
  double usd_per_hour = 0;
  std::string region;
  std::string date;   ///< ISO date or year-month of the source
  std::string terms;  ///< what is bought and for how long; "" = the usual ones of its kind
  std::string source;

  bool is_on_demand() const { return kind == "on_demand"; }
};
/// A kind of price as people read it: "on demand", "capacity block".
std::string price_words(std::string kind);

/// An instance type.
struct Instance {
  std::string name;    ///< e.g. "trn1.32xlarge"
  std::string family;  ///< a label for people and for profiles: nothing is decided by it
  Traits traits;
  std::string untimed;  ///< where no step is timed: what of the machine is missing for it; may be empty
  int chips = 0;
  int switches = 0;  ///< vertices chips..chips+switches-1 of the links; they hold no cores
  int cores_per_chip = 0;
  Core core;
  std::vector<Link> links;
  BytesPerSecond link_per_direction{};  ///< published bandwidth of a link without its own, one direction
  BytesPerSecond
      link_for_collectives{};  ///< what the collective library counts a chip's links for; 0: not stated
  /// Of those, what the library's protocol LL reaches at most on one node, on two or three, and on more. Empty: not
  /// stated.
  std::vector<BytesPerSecond> ll_bandwidths;
  /// Of those, what reductions inside the switch reach; by default what the library counts Hopper for
  /// (NVIDIA/nccl@5067397c src/graph/tuning.cc).
  double in_switch_efficiency = 0.85;
  int torus_rows = 0;  ///< for drawing only; 0 when the fabric is no torus
  int torus_columns = 0;
  int torus_depth = 1;           ///< equal tori of rows x columns, joined at equal places
  int nics = 0;                  ///< EFA devices, or groups of those that serve one chip; 0: none
  BytesPerSecond nic{};          ///< one of them, one direction
  int network_devices = 0;       ///< EFA devices that they are made of, as Kubernetes counts them
  std::vector<int> nic_of_chip;  ///< one per chip when nics > 0
  int rails = 0;                 ///< NIC k of every node is on rail k % rails; 0: the fabric has none
  double oversubscription = 1;   ///< of the fabric its nodes stand in: Cluster::oversubscription
  Seconds network_latency{};     ///< that the collective library's tuner takes for a message; 0: not stated
  int vcpus = 0;
  Bytes host_memory{};  ///< of all hosts of a node
  /// Operating systems of one node, each with an equal share of all that the node has: what schedulers and torchrun call a
  /// node. An UltraServer is one node with several.
  int hosts = 1;
  std::string ec2_type;     ///< the EC2 instance type of one host; "": it is no machine of EC2
  std::string device_name;  ///< a word of the name that a device says of itself: "A100"; "": not stated
  std::string kubernetes_resource;  ///< what pods ask for, one a chip: "nvidia.com/gpu"; "": not known
  std::string hyperpod_type;  ///< what SageMaker HyperPod calls one host: "ml.trn1.32xlarge"; "": it has none
  int ultraserver_mode = 0;   ///< NEURON_RT_ULTRASERVER_MODE of all hosts of a node together; 0: not known
  std::vector<Price> prices;

  int cores() const { return chips * cores_per_chip; }
  int host_chips() const { return chips / hosts; }
  int host_cores() const { return cores() / hosts; }
  /// EFA devices of a host, as Kubernetes counts them.
  int host_network_devices() const { return (network_devices > nics ? network_devices : nics) / hosts; }
  /// Chip that holds the node-local core: cores of a chip are numbered consecutively.
  int chip_of(int local_core) const { return local_core / cores_per_chip; }
  /// Bandwidth of a link in one direction.
  BytesPerSecond rate_of(const Link& link) const {
    return link.per_direction.value > 0 ? link.per_direction : link_per_direction;
  }
  /// The one on demand if known, else the first; nullptr without any.
  const Price* price() const;
  /// Capacity Blocks are sold of it and nothing on demand, as far as prices are known: it starts in a reservation alone.
  bool starts_in_blocks_alone() const;
  /// Of price(); 0 without one.
  double usd_per_hour() const;
};

/// What people call one of its chips: "GPU" where that is the device of one rank, else "chip".
std::string_view chip_word(const Instance& instance);

/// 30,000 chips, an UltraCluster (aws.amazon.com/blogs/machine-learning, "Scaling LLM training with Amazon
/// EC2 Trn1 UltraClusters").
inline constexpr int kMostNodes = 1875;

/// N equal nodes behind an EFA network.
struct Cluster {
  Instance instance;
  int nodes = 1;
  /// Bandwidth of all NICs over that of the network's spine, at least 1. 1 is non-blocking, as AWS describes
  /// the network of an UltraCluster (aws-neuron/aws-neuron-sdk@81ce03ae,
  /// about-neuron/arch/neuron-hardware/trn1-arch.rst).
  double oversubscription = 1;

  int cores() const { return nodes * instance.cores(); }
  int hosts() const { return nodes * instance.hosts; }
};

}  // namespace trnplan::topology
