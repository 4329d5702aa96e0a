// A machine type and a cluster of such machines, as data. Nothing here depends on time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/traits.h"
#include "units/quantity.h"

namespace trnplan::topology {

/// One NeuronCore (the schedulable unit). Rates are published peaks; the share of them that a program reaches
/// is a parameter of the profile. catalog/instances/*.json gives the source of each number. A logical core of
/// trn2 is made of `lnc` physical ones: bf16, memory, hbm and dma are of the logical core; array, lanes and
/// clocks of one physical core.
struct Core {
  std::string device = "neuron_core";  ///< the model that turns work into time: models/device/devices.h
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
  // Values of GPUs, 0 where not stated: dense peaks of other types, and others that a model of a kernel may
  // need.
  FlopsPerSecond fp8{}, fp4{}, tf32{};
  int multiprocessors = 0;
  Bytes l2{};
  double watts = 0;  ///< the default power limit
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
  std::string terms;  ///< terms of the purchase, with its length; "": the usual ones of its kind
  std::string source;

  bool is_on_demand() const { return kind == "on_demand"; }
  bool is_stated() const { return kind == kStated; }
  static constexpr const char* kStated = "stated";  ///< kind of a price that the user states
};
/// A kind of price in words: "on demand", "capacity block".
std::string price_words(std::string kind);

/// An instance type.
struct Instance {
  std::string name;    ///< e.g. "trn1.32xlarge"
  std::string family;  ///< a label for people and for profiles; decides nothing
  Traits traits;
  std::string untimed;  ///< data of the machine that timing a step lacks, if any; may be empty
  int chips = 0;
  int switches = 0;  ///< vertices chips..chips+switches-1 of the links; they hold no cores
  int cores_per_chip = 0;
  Core core;
  std::vector<Link> links;
  BytesPerSecond link_per_direction{};  ///< published bandwidth of a link that states none, one direction
  /// Bandwidth of a chip's links in the collective library's tuner; 0: not stated.
  BytesPerSecond link_for_collectives{};
  /// The most of link_for_collectives that the library's protocol LL reaches on one node, on two or three,
  /// and on more. Empty: not stated.
  std::vector<BytesPerSecond> ll_bandwidths;
  /// The share of link_for_collectives that reductions inside the switch reach; the default is the library's
  /// value for Hopper (NVIDIA/nccl@5067397c src/graph/tuning.cc).
  double in_switch_efficiency = 0.85;
  int torus_rows = 0;  ///< for drawing only; 0 when the fabric is no torus
  int torus_columns = 0;
  int torus_depth = 1;           ///< equal tori of rows x columns, joined at equal places
  int nics = 0;                  ///< EFA devices, or groups of them that serve one chip; 0: none
  BytesPerSecond nic{};          ///< one of them, one direction
  int network_devices = 0;       ///< EFA devices of all NICs, as Kubernetes counts them
  std::vector<int> nic_of_chip;  ///< one per chip when nics > 0
  int rails = 0;                 ///< NIC k of every node is on rail k % rails; 0: the fabric has none
  double oversubscription = 1;   ///< of the fabric that joins its nodes: Cluster::oversubscription
  Seconds network_latency{};     ///< time of a message in the collective library's tuner; 0: not stated
  int vcpus = 0;
  Bytes host_memory{};  ///< of all hosts of a node
  /// Operating systems of one node, each with an equal share of all that the node has. Schedulers and
  /// torchrun call each of them a node. An UltraServer is one node with several.
  int hosts = 1;
  std::string ec2_type;             ///< the EC2 instance type of one host; "": not a machine of EC2
  std::string device_name;          ///< a word in the name that the device reports: "A100"; "": not stated
  std::string kubernetes_resource;  ///< what pods request, one per chip: "nvidia.com/gpu"; "": unknown
  std::string hyperpod_type;  ///< the name of one host in SageMaker HyperPod: "ml.trn1.32xlarge"; "": none
  int ultraserver_mode = 0;   ///< NEURON_RT_ULTRASERVER_MODE of all hosts of a node together; 0: unknown
  std::vector<Price> prices;
  std::optional<Price> chosen;  ///< what a node is paid where the user chose it (--pricing, --price)
  /// Settings by which it differs from the catalogue (io/catalog/hardware_settings.h), as written.
  std::vector<std::string> changes;

  /// "trn1.32xlarge", or "trn1.32xlarge with core.memory=32GiB".
  std::string shown_name() const;
  int cores() const { return chips * cores_per_chip; }
  int host_chips() const { return chips / hosts; }
  int host_cores() const { return cores() / hosts; }
  /// EFA devices of a host, as Kubernetes counts them.
  int host_network_devices() const { return (network_devices > nics ? network_devices : nics) / hosts; }
  /// The chip of a node-local core. Cores of a chip are numbered consecutively.
  int chip_of(int local_core) const { return local_core / cores_per_chip; }
  /// Bandwidth of a link in one direction.
  BytesPerSecond rate_of(const Link& link) const {
    return link.per_direction.value > 0 ? link.per_direction : link_per_direction;
  }
  /// The on-demand price if known, else the first; nullptr when there is none.
  const Price* price() const;
  /// True if Capacity Blocks are its only price: such a machine starts only in a reservation.
  bool starts_in_blocks_alone() const;
  /// Amount of price(); 0 without one.
  double usd_per_hour() const;
};

/// The common name of one of its chips: "GPU" where a chip is the device of one rank, else "chip".
std::string_view chip_word(const Instance& instance);

/// The most nodes: 30,000 chips, an UltraCluster (aws.amazon.com/blogs/machine-learning, "Scaling LLM
/// training with Amazon EC2 Trn1 UltraClusters").
inline constexpr int kMostNodes = 1875;

/// N equal nodes behind an EFA network.
struct Cluster {
  Instance instance;
  int nodes = 1;
  /// Bandwidth of all NICs divided by that of the network's spine, at least 1. A value of 1 is non-blocking,
  /// as AWS describes the network of an UltraCluster (aws-neuron/aws-neuron-sdk@81ce03ae,
  /// about-neuron/arch/neuron-hardware/trn1-arch.rst).
  double oversubscription = 1;

  int cores() const { return nodes * instance.cores(); }
  int hosts() const { return nodes * instance.hosts; }
};

}  // namespace trnplan::topology
