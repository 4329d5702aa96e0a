// A rank's part of a step as a Chakra execution trace, in the form that ASTRA-sim runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/step/rank_trace.h"

namespace trnplan::io {

/// Writes a .et file node by node: metadata and nodes, each after its length. Nodes are numbered from 1.
/// Durations are whole microseconds, rounded so that their sums stay right. comm_size is the shard of a rank
/// for an all-gather, else all of the buffer; at least 64 bytes a member, which ASTRA-sim needs to cut it up.
/// Fields: io/proto/chakra.proto; attributes: astra-sim/astra-sim@518bd513 astra-sim/workload/.
class ChakraWriter {
 public:
  /// `out` takes the bytes, a piece after the other.
  explicit ChakraWriter(std::function<void(std::string_view)> out);
  void add(const models::RankTrace::Node& node);
  std::uint64_t nodes() const { return nodes_; }

 private:
  std::function<void(std::string_view)> out_;
  std::string piece_;
  SimTime computed_;
  std::uint64_t nodes_ = 0, microseconds_ = 0;
};

/// The bytes of the file of a whole trace.
std::string chakra_trace(const models::RankTrace& trace);

/// Bytes of a node in such a file, slightly overestimated, to check the disk for space: for Llama-3 8B 61.6
/// bytes over 4.8 million nodes and 62.8 over 37.3 million; tags and numbers of longer traces take a few
/// more.
inline constexpr double kChakraBytesPerNode = 68;

/// Ranks of each group, for ASTRA-sim's --comm-group-configuration.
std::string comm_groups_json(const std::vector<std::vector<int>>& groups);

}  // namespace trnplan::io
