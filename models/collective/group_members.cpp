#include "models/collective/group_members.h"

namespace trnplan::models {

namespace {

Stage single_step(const GroupShape& shape) {
  const int between = shape.node_count() > 1 ? 1 : 0;
  return {1, between, between, {}};
}

}  // namespace

GroupMembers::GroupMembers(const Fabric& fabric, const GroupShape& shape) : fabric_(fabric), shape_(shape) {
  const topology::Instance& instance = fabric.cluster().instance;
  members_of_.resize(static_cast<std::size_t>(instance.chips));
  for (int j = 0; j < shape.local(); ++j) {
    const int chip = instance.chip_of(shape.cores[static_cast<std::size_t>(j)]);
    members_of_[static_cast<std::size_t>(chip)].push_back(j);
  }
  per_chip_ = static_cast<int>(on(shape.chips.front()).size());
}

std::vector<int> GroupMembers::along(const std::vector<int>& chips) const {
  std::vector<int> members;
  for (const int chip : chips) members.insert(members.end(), on(chip).begin(), on(chip).end());
  return members;
}

Relation relation(int from, int to, double bytes, bool reduce, Relation::Node node, int by) {
  return {from, to, node, by, bytes, 1, reduce ? 2.0 : 1.0, false, 0};
}

Stage ring_over_all(const GroupShape& shape, const std::vector<std::vector<int>>& orders, double gathered,
                    bool reduce, bool second) {
  const int k = shape.node_count(), l = shape.local(), steps = shape.ranks() - 1;
  Stage s{steps, 0, 0, {}};
  if (k > 1 && l == 1) s.between_nodes = s.between_nodes_least = steps;
  if (k > 1 && l > 1) {
    s.between_nodes = second && l == 2 ? k - 1 : k;
    s.between_nodes_least = second ? k : k - 1;
  }
  const double bytes = gathered / shape.ranks() / static_cast<double>(orders.size());
  int channel = 0;
  for (const std::vector<int>& members : orders) {
    for (std::size_t i = 0; i + 1 < members.size(); ++i) {
      s.relations.push_back(relation(members[i], members[i + 1], bytes, reduce));
      s.relations.back().channel = channel;
    }
    const auto node = k > 1 ? Relation::Node::shift : Relation::Node::same;
    s.relations.push_back(relation(members.back(), members.front(), bytes, reduce, node, 1));
    s.relations.back().channel = channel++;
  }
  return s;
}

Stage to_all(const GroupShape& shape, double bytes, bool reduce) {
  Stage s = single_step(shape);
  for (int from = 0; from < shape.local(); ++from) {
    for (int to = 0; to < shape.local(); ++to) {
      if (from != to) s.relations.push_back(relation(from, to, bytes, reduce));
      if (from != to) s.relations.back().spread = true;
      if (shape.node_count() > 1) {
        s.relations.push_back(relation(from, to, bytes, reduce, Relation::Node::others));
      }
    }
  }
  return s;
}

Stage to_next(const GroupShape& shape, double bytes) {
  Stage s = single_step(shape);
  const int last = shape.local() - 1;
  for (int j = 0; j < last; ++j) s.relations.push_back(relation(j, j + 1, bytes, false));
  const auto node = shape.node_count() > 1 ? Relation::Node::shift : Relation::Node::same;
  s.relations.push_back(relation(last, 0, bytes, false, node, 1));
  return s;
}

}  // namespace trnplan::models
