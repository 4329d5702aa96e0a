// One collective on a cluster, timed as nccom-test would run it: alone, over the first ranks of each node.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective.h"
#include "topology/instance.h"
#include "topology/verdict.h"

namespace trnplan::models {

struct CollectiveRun {
  CollectiveOp op = CollectiveOp::all_reduce;
  int ranks = 2;  ///< over all nodes, equally many on each, the lowest cores first
  Bytes bytes{};  ///< as nccom-test counts: what an all-gather ends with, what every other operation starts
                  ///< with
  Algorithm algorithm = Algorithm::automatic;
};

struct CollectiveTiming {
  struct Part {
    std::int64_t steps = 0;
    Seconds latency{}, transfer{};
    std::string limit;  ///< the busiest resource; empty when no bytes move
  };
  std::string algorithm;
  Seconds seconds{};                 ///< inside a compiled graph
  Seconds nccom_seconds{};           ///< in a graph of its own: host launch and barrier included
  Seconds host_launch{}, barrier{};  ///< what nccom_seconds adds to seconds
  double algbw = 0, busbw = 0;  ///< bytes/s by nccom_seconds, 0 without time; busbw = algbw * bus_factor()
  Seconds alpha{};              ///< seconds = alpha + latency and transfer of all parts
  std::vector<Part> parts;
  topology::GroupVerdict verdict;  ///< whether the runtime accepts the group
};

/// What nccom-test multiplies algbw by: all-reduce 2 (N-1)/N, all-gather, reduce-scatter and all-to-all
/// (N-1)/N, else 1 (aws-neuron/aws-neuron-sdk@81ce03ae tools/neuron-sys-tools/nccom-test.rst;
/// NVIDIA/nccl-tests doc/PERFORMANCE.md).
double bus_factor(CollectiveOp op, int ranks);

/// Bytes of an element of a type as nccom-test names it: fp32, float32, bf16, uint8 ...
std::optional<int> element_bytes(std::string_view type);

/// The global ranks of a run. Throws std::invalid_argument unless `ranks` is positive, divides over the
/// nodes, and fits them.
std::vector<int> ranks_of(const topology::Cluster& cluster, int ranks);

/// Times many collectives on one cluster. Keeps references to its arguments. Cost of time(): O(ranks).
class CollectiveTimer {
 public:
  CollectiveTimer(const topology::Cluster& cluster, const topology::ChipGraph& graph, const Profile& profile);
  CollectiveTiming time(const CollectiveRun& run) const;

 private:
  topology::Placement placement_;
  Fabric fabric_;
};

}  // namespace trnplan::models
