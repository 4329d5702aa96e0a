// Distributions of layers over stages.
#pragma once

#include <utility>
#include <vector>

namespace trnplan::models {

/// All sums of `stages` positive numbers that give `layers`.
inline std::vector<std::vector<int>> compositions(int layers, int stages) {
  if (stages == 1) return {{layers}};
  std::vector<std::vector<int>> all;
  for (int first = 1; first <= layers - (stages - 1); ++first) {
    for (std::vector<int>& rest : compositions(layers - first, stages - 1)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

}  // namespace trnplan::models
