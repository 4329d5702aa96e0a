// Collective algorithms as stages of messages between the members of a group, each written once.
// models/collective/collective.h folds them into coflows and expands them message by message.
//
// Shape of a group: k nodes that hold the same l local cores on C chips each, q cores to a chip; N = k l
// ranks. G is the gathered size of an all-gather or reduce-scatter, S the size per rank of an all-reduce,
// which is a reduce-scatter and an all-gather of S. A reduce-scatter has the messages of an all-gather
// backwards; only their cost in memory differs.
//
//   algorithm           all-gather                                                       steps
//   ring                chunks of G/l along the local ranks in the order of a ring       l - 1
//   kangaring           chunks of G/C along the chips, each core its part of them        C - 1
//                       and, inside each chip, its own G/l to the other cores            1
//   mesh                every rank sends its G/l to every other, by all shortest paths   1
//   halving-doubling    the hypercube of the chips, then the cores of a chip: exchanges
//                       of G/l, 2G/l, 4G/l ... with the partner along one axis           log2 l
//   torus               ring along the rows, then along the columns                      rows + columns - 2
//                       (between nodes that are no power of two in Bruck's order: as many rounded up)
//   hierarchical        between nodes (ring, mesh or halving-doubling over k, of G/l),
//                       then inside each node; a reduce-scatter in reverse               of both
//   flat-ring           one ring over all N ranks, in as many channels as NICs           N - 1
//   one-step            (all-reduce) every rank sends all of S to every other            1
//
// Rings and kangarings split the bytes over the edge-disjoint rings of the chips and both directions of each;
// halving-doubling over as many lanes as axes, each starting at another axis, so that every link works.
//
// Memory accesses per byte of a message, read at the sender and written or read at the receiver: ring, mesh,
// halving-doubling 1 + 1 (all-gather), 1 + 2 (reduce-scatter); kangaring 1 + q and 1 + (q + 1). With q = 2
// these are the published 4 and 6 accesses per chip (ring) and 3 and 4 (kangaring), counted per byte that
// circulates. Bytes that circulate reach every core of the chips they pass, but not the siblings of their
// owner. The siblings read them from the owner in one more step inside the chip, 1 + 1 accesses (1 + 2 in a
// reduce-scatter, where it is the first step: the siblings' parts of the bytes that a core sends first).
// Sources: aws-neuron/aws-neuron-sdk@81ce03ae neuron-runtime/explore/intranode-collective-comm.rst and
// internode-collective-comm.rst (algorithms, steps, access counts, hierarchy, "2 non-overlapping Hamiltonian
// cycles"); halving and doubling: R. Thakur, R. Rabenseifner, W. Gropp, Int. J. High Perform. Comput. Appl.
// 19(1), 2005. Torus: N. Jain, Y. Sabharwal, ICS 2010.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/fabric.h"
#include "units/quantity.h"

namespace trnplan::models {

enum class CollectiveOp { all_gather, reduce_scatter, all_reduce, all_to_all, permute, send_recv };
/// The name, for example "all_gather".
std::string_view to_string(CollectiveOp op);
/// The operation of a name, as to_string() or nccom-test spells it: allr, allreduce, allg, allgather, redsct,
/// alltoall, sendrecv, sendrcv.
std::optional<CollectiveOp> collective_op(std::string_view name);

/// An algorithm, by the name that --algorithm takes. The runtimes state which algorithms exist
/// (models/collective/collective_runtime.h). Refers to its name, which must live as long.
class Algorithm {
 public:
  constexpr explicit Algorithm(std::string_view name) : name_(name) {}
  constexpr std::string_view name() const { return name_; }
  constexpr auto operator<=>(const Algorithm&) const = default;

  /// "auto": the runtime's own choice.
  static const Algorithm automatic;

 private:
  std::string_view name_;
};
inline constexpr Algorithm Algorithm::automatic{"auto"};
constexpr std::string_view to_string(Algorithm a) {
  return a.name();
}
/// The algorithm of that name in any runtime, or `automatic`.
[[nodiscard]] std::optional<Algorithm> collective_algorithm(std::string_view name);

/// A group in the form that algorithms use.
struct GroupShape {
  std::vector<int> nodes;    ///< in the order of their first rank
  std::vector<int> cores;    ///< local cores on the first node, ascending; the other nodes hold the same
  std::vector<int> chips;    ///< their chips, ascending, unique
  bool whole_chips = false;  ///< every core of each chip is in the group

  int node_count() const { return static_cast<int>(nodes.size()); }
  int local() const { return static_cast<int>(cores.size()); }
  int ranks() const { return node_count() * local(); }
};
GroupShape shape_of(const topology::Cluster& cluster, const std::vector<int>& ranks);

/// A message that a member of every node sends, from the local member `from` (an index in GroupShape::cores)
/// to `to` on the same node or on the node that `node` and `by` name.
struct Relation {
  /// The same node, n + by, n xor by, all other nodes.
  enum class Node : std::uint8_t { same, shift, flip, others };
  int from = 0, to = 0;
  Node node = Node::same;
  int by = 0;
  double bytes = 0;
  double read = 1, written = 1;  ///< memory accesses per byte at the sender and at the receiver
  bool spread = false;           ///< over all shortest paths, not one
  int channel = 0;               ///< a rank's channels do not wait for each other
};

/// The same messages, repeated `steps` times.
struct Stage {
  std::int64_t steps = 1;
  /// Steps that cost an EFA message instead of a hop on the path of a chunk: the most and the fewest.
  std::int64_t between_nodes = 0, between_nodes_least = 0;
  std::vector<Relation> relations;
  int protocol = 0;         ///< protocol of the latencies of its steps: CollectiveRuntime::latencies()
  double network_more = 0;  ///< seconds that the machine's network adds to each step between nodes

  /// True for a ring that leaves the nodes now and then. While a chunk is on its way to another node, the
  /// next one follows, so latency follows a chunk's own path and not the slowest link times the steps.
  bool mixed() const { return between_nodes > 0 && between_nodes < steps; }
};

struct Description {
  std::string algorithm;  ///< as chosen, for example "hierarchical (rdh, kangaring)"
  std::vector<Stage> stages;
  int protocol = 0;  ///< protocol of its start: CollectiveRuntime::latencies()
};

/// The stages of `op` on one group, by the requested algorithm. For `automatic` the fabric's runtime chooses
/// (Neuron's by Profile::algorithms). `bytes` is G, S, or the total that each rank sends. An algorithm that
/// cannot run on the shape is replaced by ring. A group of one rank has no stages. Cost: O(relations); all
/// but mesh between nodes and one-step have O(l * stages).
Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                     Algorithm algorithm);

}  // namespace trnplan::models
