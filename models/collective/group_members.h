// A group as the stages of an algorithm are written down: its members by chip, messages between them, and the
// stages that more than one runtime has.
#pragma once

#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/collective/fabric.h"

namespace trnplan::models {

/// Keeps references to its arguments. Requires: a shape with a core at least. Cost: O(cores).
class GroupMembers {
 public:
  GroupMembers(const Fabric& fabric, const GroupShape& shape);

  const Fabric& fabric() const { return fabric_; }
  const GroupShape& shape() const { return shape_; }
  /// Members on the first chip.
  int per_chip() const { return per_chip_; }
  /// As many on each chip.
  bool equal_chips() const { return shape_.local() == per_chip_ * static_cast<int>(shape_.chips.size()); }
  /// Local members, ascending.
  const std::vector<int>& on(int chip) const { return members_of_[static_cast<std::size_t>(chip)]; }
  /// Those on each of the chips, in the order of these.
  std::vector<int> along(const std::vector<int>& chips) const;

 private:
  const Fabric& fabric_;
  const GroupShape& shape_;
  std::vector<std::vector<int>> members_of_;  ///< by chip
  int per_chip_ = 1;
};

/// A message whose receiver writes it, or reads what it has and writes the sum when it reduces.
[[nodiscard]] Relation relation(int from, int to, double bytes, bool reduce,
                                Relation::Node node = Relation::Node::same, int by = 0);

/// One ring over all ranks: a channel for each order of the local members, which leaves each node from its
/// last one to the first of the next node. Of the N links of the ring k lead to another node. A chunk leaves
/// one of the N out; on its `second` way round, after a reduce-scatter, the one after that.
[[nodiscard]] Stage ring_over_all(const GroupShape& shape, const std::vector<std::vector<int>>& orders,
                                  double gathered, bool reduce, bool second);

/// Every rank sends `bytes` to every other.
[[nodiscard]] Stage to_all(const GroupShape& shape, double bytes, bool reduce);

/// Each rank sends `bytes` to the next one of the group, the last to the first.
[[nodiscard]] Stage to_next(const GroupShape& shape, double bytes);

}  // namespace trnplan::models
