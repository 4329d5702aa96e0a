// Loads of collectives, remembered by group, operation and size.
//
// How many bytes a collective puts on which resource follows from groups, size and algorithm; a profile's
// rates and latencies only say how long that takes. A fit asks for the same collectives with hundreds of
// profiles: with a memory it describes them once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/collective/fabric.h"

namespace trnplan::models {

/// A collective without the times of a profile.
struct CollectiveLoads {
  /// Steps of a stage (models/collective/collective_algorithm.h), as latency goes by them.
  struct Steps {
    std::int64_t steps = 0, between_nodes = 0, between_nodes_least = 0;
    int protocol = 0;
    double network_more = 0;
    bool operator==(const Steps&) const = default;
  };
  struct Phase {
    Fabric::Load load;
    double scale = 0;
    std::vector<Steps> steps;  ///< of the groups, where they differ: the longest latency counts
  };
  std::string algorithm;
  std::vector<Phase> phases;
  int protocol = 0;  ///< Description::protocol
};

/// Of one placement: whoever shares a memory between fabrics gives them equal clusters and placements.
/// Thresholds of algorithms (Profile::algorithms) may change; what was remembered is then forgotten. One
/// thread at a time.
class CollectiveMemory {
 public:
  /// Valid until the next call with other thresholds. Cost: O(ranks) when known.
  const CollectiveLoads& of(const Fabric& fabric, CollectiveOp op,
                            const std::vector<std::vector<int>>& groups, Bytes bytes, Algorithm algorithm);

 private:
  using Key = std::tuple<CollectiveOp, Algorithm, double, std::vector<std::vector<int>>>;
  AlgorithmLimits limits_;
  std::map<Key, CollectiveLoads> known_;
};

}  // namespace trnplan::models
