// Nodes of every rank in a step, for other simulators: the flat program, seen from one core.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/step/step.h"
#include "units/quantity.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Nodes of one rank. A node depends only on earlier ones: there are no cycles.
struct RankTrace {
  struct Node {
    enum class Kind { compute, collective, send, receive };
    Kind kind = Kind::compute;
    std::string_view name;                       ///< operator; "launch" for the cost of starting a message
    SimTime length{};                            ///< compute
    Flops flops{};                               ///< compute: tensor-engine operations
    CollectiveOp op = CollectiveOp::all_reduce;  ///< collective
    Bytes bytes{};                               ///< as models::collective() counts; for a message, its size
    int group = kAllRanks;                       ///< collective: index in RankTracer::groups()
    int members = 0;                             ///< collective: ranks of the group
    int peer = -1;                               ///< message: the other rank
    int tag = 0;                                 ///< message: the same at both ends, once for a pair of ranks
    std::vector<std::uint32_t> after;            ///< nodes before it in its queue
    std::vector<std::uint32_t> needs;            ///< receives whose message it uses
  };
  static constexpr int kAllRanks = -1;
  std::vector<Node> nodes;
};

/// Nodes of all ranks. The order of items, their groups and messages are those of StepOptions::flat.
/// Collectives are one node each, whatever their algorithm; the reader of the trace adds their latency. The
/// launch of a message and the overhead of a bucket are compute nodes. Ring attention's permute is a send and
/// a receive. The gradient norm, where every stage waits, is one all-reduce of a scalar over all ranks.
///
/// Every micro-batch of a stage has the same nodes. So a program contains only a few micro-batches, and the
/// others are copied from them when they are written.
class RankTracer {
 public:
  /// Keeps a reference to `model`. Throws std::overflow_error if messages need more numbers than a tag (32
  /// bits) can hold. Cost and memory: those of the flat program of one micro-batch (PP of them with the
  /// interleaved schedule), O(cores x operators), and O(micro-batches x PP x chunks).
  explicit RankTracer(const StepModel& model);
  ~RankTracer();

  int ranks() const;
  /// Ranks of each group that runs a collective, ascending.
  const std::vector<std::vector<int>>& groups() const;
  /// Calls `visit` with each node of the rank, in order. Cost: O(nodes of the rank); memory: of one node.
  void each_node(int rank, const std::function<void(const RankTrace::Node&)>& visit) const;
  /// All nodes of a rank.
  RankTrace trace(int rank) const;

 private:
  class Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace trnplan::models
