// The chips of one node and the links between them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "topology/instance.h"

namespace trnplan::topology {

/// An undirected graph of chips (Boost.Graph inside). Immutable after construction; safe to share between
/// threads.
///
/// Cost   hops() and route() are look-ups in tables made once by breadth-first search, O(chips * links).
///        ring() is a depth-first search for a Hamiltonian cycle of the induced subgraph; on a torus of 16
///        chips it takes microseconds.
class ChipGraph {
 public:
  /// Throws std::invalid_argument when a link names a chip outside 0..chips-1 or joins a chip to itself.
  ChipGraph(int chips, const std::vector<Link>& links);
  explicit ChipGraph(const Instance& instance);

  int chips() const;
  /// Neighbours in ascending order, without duplicates.
  const std::vector<int>& neighbours(int chip) const;
  bool adjacent(int a, int b) const;
  /// Links on a shortest path; 0 for a == b, -1 when there is no path.
  int hops(int a, int b) const;
  /// Chips of a shortest path from a to b, both included; the lowest-numbered next chip wins among equals.
  /// Empty when there is no path.
  std::vector<int> route(int a, int b) const;

  /// The chips in the order of a ring of neighbours that visits each exactly once and uses only chips of the
  /// set, or nullopt when there is none. One chip is a ring; two adjacent chips are one over the link's two
  /// directions. The ring starts at the lowest chip and is the lexicographically smallest.
  std::optional<std::vector<int>> ring(std::vector<int> chips) const;

  /// One ring or two that share no undirected link; empty when ring() finds none. Two exist for all 16 chips
  /// of the 4x4 torus, one for a row, a column or two rows (aws-neuron/aws-neuron-sdk,
  /// neuron-runtime/explore/intranode-collective-comm.rst: "2 non-overlapping Hamiltonian cycles"). Cost: a
  /// search over pairs of rings, given up after 2,000 first rings; microseconds to milliseconds on 16 chips.
  std::vector<std::vector<int>> disjoint_rings(const std::vector<int>& chips) const;

 private:
  struct Tables;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace trnplan::topology
