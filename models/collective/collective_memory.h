// Loads of collectives, remembered by group, operation and size.
//
// The bytes that a collective puts on each resource follow from groups, size and algorithm; a profile's rates
// and latencies only give the time for them. A fit needs the same collectives with hundreds of profiles: with
// a memory it describes them once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/collective/collective_runtime.h"
#include "models/collective/fabric.h"

namespace trnplan::models {

/// A collective without the times of a profile.
struct CollectiveLoads {
  /// Steps of a stage (models/collective/collective_algorithm.h): the numbers that latency depends on.
  struct Steps {
    std::int64_t steps = 0, between_nodes = 0, between_nodes_least = 0;
    int protocol = 0;
    double network_more = 0;
    bool operator==(const Steps&) const = default;
  };
  struct Phase {
    Fabric::Load load;
    double scale = 0;
    std::vector<Steps> steps;  ///< one entry per distinct group; the longest latency counts
  };
  Bytes of{};  ///< size of the collective
  std::string algorithm;
  std::vector<Phase> phases;
  int protocol = 0;  ///< Description::protocol
};

/// Loads of collectives of a few groups, of which it knows one size: another with the same algorithms has loads
/// in proportion. All calls are of the same fabric and groups. One thread at a time.
class ScaledLoads {
 public:
  /// The loads of a collective, by the algorithms that the runtime chooses. Cost: O(resources) where a size with
  /// the same algorithms is known.
  CollectiveLoads of(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                     Bytes bytes);

 private:
  std::vector<GroupShape> shapes_;  ///< of the groups, one of each number of nodes, cores and chips
  std::map<std::pair<CollectiveOp, std::vector<AlgorithmChoice>>, CollectiveLoads> of_unit_;
};

/// Memory of one placement: fabrics that share it must have equal clusters and placements. When the
/// thresholds of algorithms (Profile::algorithms) change, it forgets everything. One thread at a time.
class CollectiveMemory {
 public:
  /// The loads of a collective. Valid until the next call with other thresholds. Cost: O(ranks) when
  /// remembered.
  const CollectiveLoads& of(const Fabric& fabric, CollectiveOp op,
                            const std::vector<std::vector<int>>& groups, Bytes bytes, Algorithm algorithm);

 private:
  using Key = std::tuple<CollectiveOp, Algorithm, double, std::vector<std::vector<int>>>;
  AlgorithmLimits limits_;
  std::map<Key, CollectiveLoads, std::less<>> known_;
  std::map<std::vector<std::vector<int>>, ScaledLoads>
      of_groups_;  ///< by the algorithms that the runtime chooses
};

}  // namespace trnplan::models
