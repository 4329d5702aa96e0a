// The members of a group by chip, messages between them, and the stages that several runtimes share.
#pragma once

#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/collective/fabric.h"

namespace trnplan::models {

/// A group in the form in which algorithms write their stages. Keeps references to its arguments. Requires: a
/// shape with at least one core. Cost: O(cores).
class GroupMembers {
 public:
  GroupMembers(const Fabric& fabric, const GroupShape& shape);

  const Fabric& fabric() const { return fabric_; }
  const GroupShape& shape() const { return shape_; }
  /// Number of members on the first chip.
  int per_chip() const { return per_chip_; }
  /// True if every chip has the same number of members.
  bool equal_chips() const { return shape_.local() == per_chip_ * static_cast<int>(shape_.chips.size()); }
  /// Local members on a chip, ascending.
  const std::vector<int>& on(int chip) const { return members_of_[static_cast<std::size_t>(chip)]; }
  /// Local members on each of the chips, in the order of `chips`.
  std::vector<int> along(const std::vector<int>& chips) const;

 private:
  const Fabric& fabric_;
  const GroupShape& shape_;
  std::vector<std::vector<int>> members_of_;  ///< by chip
  int per_chip_ = 1;
};

/// A message whose receiver writes it or, when it reduces, reads its own value and writes the sum.
[[nodiscard]] Relation relation(int from, int to, double bytes, bool reduce,
                                Relation::Node node = Relation::Node::same, int by = 0);

/// One ring over all ranks, with a channel for each order of the local members. A channel leaves each node
/// from its last member to the first of the next node. Of the N links of the ring, k lead to another node. A
/// chunk leaves out one of the N links; on its `second` turn, after a reduce-scatter, it leaves out the one
/// after that.
[[nodiscard]] Stage ring_over_all(const GroupShape& shape, const std::vector<std::vector<int>>& orders,
                                  double gathered, bool reduce, bool second);

/// A stage in which every rank sends `bytes` to every other.
[[nodiscard]] Stage to_all(const GroupShape& shape, double bytes, bool reduce);

/// A stage in which each rank sends `bytes` to the next one of the group, the last to the first.
[[nodiscard]] Stage to_next(const GroupShape& shape, double bytes);

}  // namespace trnplan::models
