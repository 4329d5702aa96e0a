// The 4x4 torus of a trn1.32xlarge and other fabrics for tests, stated here instead of read from the
// catalogue.
#pragma once

#include "topology/instance.h"

namespace trnplan::topology {

inline Instance torus_4x4() {
  Instance i;
  i.name = "trn1.32xlarge";
  i.family = "trn1";
  i.traits = {.rank_order = RankOrderRule::columns_of_four,
              .flat_ring = true,
              .step_time = true,
              .runtime_reserve = true};
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
  i.nic = gigabytes_per_second(12.5);
  for (int chip = 0; chip < 16; ++chip) i.nic_of_chip.push_back(chip / 2);
  i.core.dma = gigabytes_per_second(272);
  i.core.memory = gibibytes(16);
  return i;
}

/// Links of a torus of these dimensions; the last index varies fastest. A dimension of 2 has one link, not
/// two.
inline std::vector<Link> torus_links(const std::vector<int>& dimensions) {
  int chips = 1;
  for (const int d : dimensions) chips *= d;
  std::vector<Link> links;
  int stride = 1;
  for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) {
    for (int chip = 0; chip < chips; ++chip) {
      const int place = chip / stride % *d;
      if (*d == 1 || (*d == 2 && place == 1)) continue;
      links.push_back({chip, chip + ((place + 1) % *d - place) * stride});
    }
    stride *= *d;
  }
  return links;
}

/// A trn2 instance: the torus of a trn1.32xlarge with 8 / lnc logical cores on each chip.
inline Instance trn2(int lnc) {
  Instance i = torus_4x4();
  i.name = "trn2.48xlarge";
  i.family = "trn2";
  i.traits = {.rank_order = RankOrderRule::half_instances,
              .groups = GroupRule::logic2_mesh,
              .adjacent_kv_copies = true,
              .logical_cores = true,
              .sequential_move_factor = 32};
  i.cores_per_chip = 8 / lnc;
  i.core.lnc = lnc;
  i.nics = 16;
  for (int chip = 0; chip < 16; ++chip) i.nic_of_chip[static_cast<std::size_t>(chip)] = chip;
  return i;
}

/// Every chip linked to every other: no torus, only data.
inline Instance all_to_all(int chips) {
  Instance i = torus_4x4();
  i.name = "switch";
  i.family = "switch";
  i.traits.rank_order = RankOrderRule::row_major;
  i.traits.flat_ring = false;
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
