// Seeds of property tests.
//
// The suite tries a few, the same on every machine and every day. ./dev soak tries ten times as many, fresh ones: it
// sets TRNPLAN_SOAK to the number they count from, and prints it. What fails there becomes a row of the suite.
#pragma once

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace trnplan {

/// `count` seeds from `first` on; under ./dev soak 10 `count`, behind TRNPLAN_SOAK.
inline std::vector<unsigned> seeds(unsigned first, unsigned count) {
  const char* soak = std::getenv("TRNPLAN_SOAK");
  std::vector<unsigned> all(soak == nullptr ? count : 10 * count);
  const unsigned from = soak == nullptr ? 0 : static_cast<unsigned>(std::stoul(soak));
  std::iota(all.begin(), all.end(), from + first);
  return all;
}

}  // namespace trnplan
