// The chips of one node and the links between them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "topology/instance.h"

namespace trnplan::topology {

/// An undirected graph of chips and switches (Boost.Graph inside). Immutable after construction; safe to
/// share between threads.
///
/// Two chips are neighbours when a link joins them or both have a link to the same switch.
///
/// Errors std::out_of_range for a number that is not a chip.
/// Cost   Construction is linear in the links, plus, for each switch, the square of the chips on it. The
///        first hops() or route() towards a chip is one breadth-first search, linear in the links; later ones
///        are look-ups. ring() is a depth-first search for a Hamiltonian cycle of the induced subgraph: on a
///        torus of 16 chips microseconds; bounded on any graph (see ring()). Rings of a set of chips are
///        searched for once.
class ChipGraph {
 public:
  /// `links` may name the vertices chips..chips+switches-1, which are switches. A link that is named twice
  /// counts once. Throws std::invalid_argument when a link names another vertex or joins one to itself.
  ChipGraph(int chips, int switches, const std::vector<Link>& links);
  ChipGraph(int chips, const std::vector<Link>& links);
  explicit ChipGraph(const Instance& instance);

  int chips() const;
  int switches() const;
  /// The chips that are neighbours, in ascending order, without duplicates.
  const std::vector<int>& neighbours(int chip) const;
  bool adjacent(int a, int b) const;
  /// Length of a shortest path between two chips; 0 for a == b, -1 when there is no path. Every link counts
  /// as one, except that the link from a chip into a switch is free: through one switch is one hop, through k
  /// switches in a row k.
  int hops(int a, int b) const;
  /// Chips and switches of a shortest path from a to b, both included. Among equals the next vertex with the
  /// lowest number wins, so a direct link is preferred to a switch. Empty when there is no path.
  std::vector<int> route(int a, int b) const;

  /// The chips in the order of a ring of neighbours that visits each exactly once and uses only chips of the
  /// set, or nullopt when there is none. One chip is a ring; two adjacent chips are a ring over the link's
  /// two directions. The ring starts at the lowest chip and is the lexicographically smallest, unless the
  /// search exceeds its bound, which no set of a 4x4 torus does. In that case a snake through equal blocks of
  /// consecutive chips is tried (a torus of any size and dimension has one), and nullopt means that no ring
  /// was found.
  std::optional<std::vector<int>> ring(std::vector<int> chips) const;

  /// Rings that share no link, along route() of each pair of neighbours; empty when ring() finds none. On the
  /// 4x4 torus two exist for all 16 chips, one for a row, a column or two rows (aws-neuron/aws-neuron-sdk,
  /// neuron-runtime/explore/intranode-collective-comm.rst: "2 non-overlapping Hamiltonian cycles"). Chips on
  /// one switch have one ring, because each has one port; describe parallel switches as one switch with their
  /// summed rate. The first two rings are the first pair that exists. Further rings use the links that these
  /// leave, so more might exist. Where the search is given up, as on all 64 chips of a 4x4x4 torus, the
  /// result is the ring of ring(). Cost: a search over pairs of rings, given up after 2,000 first rings or
  /// the bound of ring(); microseconds to milliseconds on 16 chips, at most some 0.3 s on 1,024.
  std::vector<std::vector<int>> disjoint_rings(const std::vector<int>& chips) const;

 private:
  struct Tables;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace trnplan::topology
