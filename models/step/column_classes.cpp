#include "models/step/column_classes.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "units/index.h"

namespace trnplan::models {

namespace {

/// Numbers for keys, in the order in which they come.
class Numbering {
 public:
  int of(const std::vector<int>& key) {
    return numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first->second;
  }
  int size() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<std::vector<int>, int> numbers_;
};

/// Numbers of the factors of all cores and of the states of their nodes, and for cores of a node with several
/// factors also their place; where times are random, also their replicas.
std::vector<int> marks_of(const StepLayout& layout, const Scenario& scenario,
                          const std::vector<int>& columns) {
  const int cores = layout.job.cluster.instance.cores(), ranks = layout.job.cluster.cores();
  std::map<double, int> factors;
  std::map<NodeState, int> states;
  std::vector<int> own(at(ranks));
  for (int r = 0; r < ranks; ++r)
    own[at(r)] = factors.try_emplace(scenario.factor(r), static_cast<int>(factors.size())).first->second;
  Numbering kinds;
  std::vector<int> marks(at(ranks));
  for (int node = 0; node * cores < ranks; ++node) {
    const auto begin = own.begin() + std::ptrdiff_t{node} * cores, end = begin + cores;
    const bool mixed = std::any_of(begin, end, [&](int f) { return f != *begin; });
    std::vector<int> key(begin, mixed ? end : begin + 1);
    key.push_back(states.try_emplace(scenario.state(node), static_cast<int>(states.size())).first->second);
    for (int core = 0; core < cores; ++core) {
      const int rank = node * cores + core;
      key.push_back(mixed ? core : -1);
      key.push_back(scenario.is_random() ? replica_of(layout, columns[at(rank)]) : -1);
      marks[at(rank)] = kinds.of(key);
      key.resize(key.size() - 2);
    }
  }
  return marks;
}

}  // namespace

int replica_of(const StepLayout& layout, int column) {
  return column / (layout.strategy.context_parallel * layout.strategy.tensor_parallel);
}

std::vector<int> columns_of_ranks(const StepLayout& layout) {
  const Strategy& s = layout.strategy;
  std::vector<int> columns(at(layout.job.cluster.cores()));
  for (int stage = 0; stage < layout.stages; ++stage) {
    int column = 0;
    for (int d = 0; d < s.data_parallel; ++d) {
      for (int c = 0; c < s.context_parallel; ++c) {
        for (int t = 0; t < s.tensor_parallel; ++t) columns[at(layout.order.rank(stage, d, c, t))] = column++;
      }
    }
  }
  return columns;
}

ColumnClasses column_classes(const StepLayout& layout, const Scenario& scenario,
                             const std::vector<StageGroups>& groups) {
  const std::vector<int> column = columns_of_ranks(layout), marks = marks_of(layout, scenario, column);
  const int ranks = static_cast<int>(column.size()), count = ranks / layout.stages;
  const int cores = layout.job.cluster.instance.cores();
  ColumnClasses out;
  std::vector<std::vector<int>> keys(at(count));
  const auto by_stage = [&](const auto& add) {  // in a fixed order of stages for every column
    for (int stage = 0; stage < layout.stages; ++stage) {
      for (int r = 0; r < ranks; ++r) {
        if (layout.order.stage_of(r) == stage) add(r);
      }
    }
  };
  by_stage([&](int r) { keys[at(column[at(r)])].push_back(marks[at(r)]); });
  for (int known = 0;;) {
    Numbering classes;
    out.of_column.assign(at(count), 0);
    for (int c = 0; c < count; ++c) out.of_column[at(c)] = classes.of(keys[at(c)]);
    Numbering nodes;
    out.group_of_nodes.clear();
    for (int node = 0; node * cores < ranks; ++node) {
      std::vector<int> key;
      for (int r = node * cores; r < (node + 1) * cores; ++r) {
        key.push_back(layout.order.stage_of(r));
        key.push_back(out.of_column[at(column[at(r)])]);
      }
      out.group_of_nodes.push_back(nodes.of(key));
    }
    if (classes.size() == known) break;
    known = classes.size();
    for (int c = 0; c < count; ++c) keys[at(c)] = {out.of_column[at(c)]};
    for (const StageGroups& of_stage : groups) {
      for (const Groups* kind : all_groups(of_stage)) {
        Numbering members;
        std::vector<int> seen(at(count), -1);
        for (const std::vector<int>& group : *kind) {
          std::vector<int> key;
          for (const int r : group) key.push_back(out.of_column[at(column[at(r)])]);
          std::sort(key.begin(), key.end());
          const int number = members.of(key);
          for (const int r : group) seen[at(column[at(r)])] = number;
        }
        for (int c = 0; c < count; ++c) keys[at(c)].push_back(seen[at(c)]);
      }
    }
    by_stage([&](int r) { keys[at(column[at(r)])].push_back(out.group_of_nodes[at(r / cores)]); });
  }
  const int classes = 1 + *std::max_element(out.of_column.begin(), out.of_column.end());
  out.columns.assign(at(classes), 0);
  for (const int cls : out.of_column) ++out.columns[at(cls)];
  out.ranks.assign(at(layout.stages * classes), 0);
  for (int r = ranks - 1; r >= 0; --r)
    out.ranks[at(layout.order.stage_of(r) * classes + out.of_column[at(column[at(r)])])] = r;
  return out;
}

}  // namespace trnplan::models
