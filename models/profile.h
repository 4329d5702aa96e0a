// The parameters of the physics, with their uncertainty and source.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "units/quantity.h"

namespace trnplan::models {

/// Every parameter that is not an exact published number. The key in profile files is to_string(p); unit and
/// meaning stand in docs/models.md and in the profile itself.
enum class Parameter : std::size_t {
  matmul_efficiency,   ///< share of ideal tensor-engine cycles
  matmul_hbm_traffic,  ///< HBM bytes of a matmul over its compulsory bytes
  fp32_slowdown,       ///< tensor-engine cycles of an fp32 run over those of bf16
  hbm_fraction,        ///< share of published HBM bandwidth
  flash_efficiency,    ///< ideal causal flash-attention cycles over real ones
  score_traffic,       ///< HBM bytes of non-flash attention over the counted ones
  vector_efficiency,   ///< share of vector-engine lanes x clock
  link_fraction,       ///< share of published NeuronLink bandwidth per direction
  dma_fraction,        ///< share of published DMA bandwidth per core
  in_graph_alpha,      ///< seconds per collective inside a compiled graph
  hop_latency,         ///< seconds per NeuronLink hop
  host_launch,       ///< seconds by which the host starts a graph, where nothing hides it: nccom-test, or one
                     ///< request in flight
  barrier,           ///< seconds in which such a collective makes the nodes of its group wait for each other
  efa_fraction,      ///< share of published EFA bandwidth
  efa_latency,       ///< seconds per message between nodes
  overlap_slowdown,  ///< length of work over its length without a collective beside it, on the same core
  layer_overhead,    ///< seconds per layer and pass (DMA and semaphore latency)
  graph_launch,      ///< seconds per micro-batch graph without pipeline
  task_launch,       ///< seconds per pipeline task (each is a graph of its own)
  bucket_overhead,   ///< seconds per ZeRO-1 bucket
  step_overhead,     ///< seconds per step on the host
  runtime_reserve,   ///< bytes per core held by runtime, collectives, code
  configuration_spread,  ///< log-sd of step time between configurations, unexplained
  stack_spread,          ///< log-sd of step time between software stacks, added when the stack is unknown
  count
};

std::string_view to_string(Parameter p);
/// Unit of the value: "1", "s" or "bytes".
std::string_view unit_of(Parameter p);

/// A log-normal parameter: median and standard deviation of its logarithm.
struct Value {
  double median = 0;
  double log_sd = 0;
  std::string source;
};

/// Sizes at which the runtime goes from one collective algorithm to the next, of the gathered size (or that
/// of an all-reduce). Per chip: over the chips that gather, inside a node those of the local part, between
/// nodes those of all nodes. None is published for trn1; the profile says where each comes from.
struct AlgorithmLimits {
  Bytes one_step_below{};  ///< per rank: all-reduces too small to be cut into a piece for each
  Bytes mesh_below{};      ///< in all, however many take part
  Bytes
      halving_below{};  ///< per chip: recursive halving-doubling from mesh_below on; above: kangaring or ring
  /// Per chip. Between nodes, on trn1: one ring of all ranks. That it exists is published, from where on is
  /// not.
  Bytes flat_ring_from{std::numeric_limits<double>::infinity()};
  bool operator==(const AlgorithmLimits&) const = default;
};

/// theta: one value per parameter. Its covariance is diagonal in a data-sheet profile.
struct Profile {
  std::string name;
  std::string base;  ///< the profile of the catalogue it builds on, or is; empty when it states everything
  std::string instance;  ///< instance type or family it is for; empty: not stated
  std::array<Value, static_cast<std::size_t>(Parameter::count)> values;
  AlgorithmLimits algorithms;

  double operator[](Parameter p) const { return values[static_cast<std::size_t>(p)].median; }
  const Value& value(Parameter p) const { return values[static_cast<std::size_t>(p)]; }
  Value& value(Parameter p) { return values[static_cast<std::size_t>(p)]; }
};

}  // namespace trnplan::models
