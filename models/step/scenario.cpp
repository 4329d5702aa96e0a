#include "models/step/scenario.h"

#include <algorithm>

namespace trnplan::models {

bool Scenario::is_ideal() const {
  return std::all_of(slow.begin(), slow.end(), [](const SlowCores& s) { return s.factor == 1; });
}

double Scenario::factor(int rank) const {
  double product = 1;
  for (const SlowCores& s : slow) {
    if (rank >= s.first && rank - s.first < s.count) product *= s.factor;
  }
  return product;
}

Seconds most_work(const std::vector<CoreWork>& work, int stage) {
  Seconds most{};
  for (const CoreWork& w : work) {
    if (w.stage == stage) most = std::max(most, w.work);
  }
  return most;
}

}  // namespace trnplan::models
