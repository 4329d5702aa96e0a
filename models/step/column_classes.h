// Columns of a step that do the same at the same time, on a machine whose cores differ. Internal to the step
// model.
//
// A column is the cores of one data-, context- and tensor-parallel place in all pipeline stages. Two columns
// are of one class while nothing tells them apart: the factors of their cores and the states of their nodes;
// the classes of those with which each of their groups exchanges; where times are random, their data-parallel
// replica; what the nodes hold on which they lie, since
// cores of a node share its links. Classes start with what the scenario says and are refined until nothing changes
// (colour refinement: the coarsest partition in which members of a class see the same classes). On a node whose cores
// have different factors each core is a class of its own, because groups that are alike elsewhere share links
// there with one that is late.
#pragma once

#include <vector>

#include "models/step/scenario.h"
#include "models/step/step_layout.h"

namespace trnplan::models {

struct ColumnClasses {
  std::vector<int> of_column;       ///< class of each column, in the order of columns of a stage
  std::vector<int> ranks;           ///< by stage, then class: the first core of the class
  std::vector<int> columns;         ///< by class: their number
  std::vector<int> group_of_nodes;  ///< nodes with equal numbers hold the same classes on the same cores

  int classes() const { return static_cast<int>(columns.size()); }
  int rank(int stage, int cls) const {
    return ranks[static_cast<std::size_t>(stage) * columns.size() + static_cast<std::size_t>(cls)];
  }
};

/// Column of a rank: its place within its stage, tensor fastest, then context, then data.
std::vector<int> columns_of_ranks(const StepLayout& layout);

/// The data-parallel replica of a column.
int replica_of(const StepLayout& layout, int column);

/// Cost: O(cores x kinds of groups) a round of refinement, of which there are few.
ColumnClasses column_classes(const StepLayout& layout, const Scenario& scenario,
                             const std::vector<StageGroups>& groups);

}  // namespace trnplan::models
