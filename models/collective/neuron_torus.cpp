#include "models/collective/neuron_algorithms.h"

namespace trnplan::models::neuron {

bool torus_can_run(const GroupMembers& group) {
  const topology::Instance& i = group.fabric().cluster().instance;
  return i.torus_rows * i.torus_columns == i.chips && group.equal_chips() &&
         static_cast<int>(group.shape().chips.size()) == i.chips && group.per_chip() == 1;
}

/// Rows, then columns. On a square torus half of the bytes take the opposite order, so that all links work.
std::vector<Stage> torus_stages(const GroupMembers& group, double gathered, bool reduce) {
  const topology::Instance& i = group.fabric().cluster().instance;
  const int rows = i.torus_rows, columns = i.torus_columns;
  const bool square = rows == columns;
  const auto member = [&](int row, int column) { return group.on(row * columns + column).front(); };
  std::vector<Stage> stages;
  for (int dimension = 0; dimension < 2; ++dimension) {
    const int length = dimension == 0 ? columns : rows;
    Stage s{length - 1, 0, 0, {}};
    s.relations.reserve(std::size_t{square ? 4u : 2u} * rows * columns);
    const double held = gathered / group.shape().local() * (dimension == 0 ? 1 : columns);
    for (int half = 0; half < (square ? 2 : 1); ++half) {
      const bool along_row = (dimension + half) % 2 == 0;
      for (const int turn : {1, length - 1}) {
        for (int row = 0; row < rows; ++row) {
          for (int column = 0; column < columns; ++column) {
            const int to =
                along_row ? member(row, (column + turn) % columns) : member((row + turn) % rows, column);
            s.relations.push_back(relation(member(row, column), to, held / (square ? 4 : 2), reduce));
          }
        }
      }
    }
    if (length > 1) stages.push_back(std::move(s));
  }
  return stages;
}

}  // namespace trnplan::models::neuron
