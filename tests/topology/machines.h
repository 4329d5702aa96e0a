// The 4x4 torus of a trn1.32xlarge and other fabrics for tests, written down here rather than read from the
// catalogue.
#pragma once

#include "topology/instance.h"

namespace trnplan::topology {

inline Instance torus_4x4() {
  Instance i;
  i.name = "trn1.32xlarge";
  i.family = "trn1";
  i.chips = 16;
  i.cores_per_chip = 2;
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      i.links.push_back({row * 4 + column, row * 4 + (column + 1) % 4});
      i.links.push_back({row * 4 + column, (row + 1) % 4 * 4 + column});
    }
  }
  i.link_per_direction = gigabytes_per_second(50);
  i.torus_rows = i.torus_columns = 4;
  i.nics = 8;
  i.nic = gigabits_per_second(100);
  for (int chip = 0; chip < 16; ++chip) i.nic_of_chip.push_back(chip / 2);
  i.core.dma = gigabytes_per_second(272);
  i.core.memory = gibibytes(16);
  return i;
}

/// Every chip linked to every other: not a torus, data only.
inline Instance all_to_all(int chips) {
  Instance i = torus_4x4();
  i.name = "switch";
  i.family = "switch";
  i.chips = chips;
  i.cores_per_chip = 1;
  i.links.clear();
  for (int a = 0; a < chips; ++a) {
    for (int b = a + 1; b < chips; ++b) i.links.push_back({a, b});
  }
  i.torus_rows = i.torus_columns = 0;
  return i;
}

}  // namespace trnplan::topology
