// Seeds of property tests.
//
// ./dev soak tries ten times as many as a test names, fresh ones: it sets TRNPLAN_SOAK to the number from
// which they count, and prints it. A seed that fails there becomes a row of the suite. The suite tries half of
// what a test names, the same on every machine and every day; under the sanitizers, which look for other
// faults than wrong numbers and take ten times as long, a twelfth.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "tests/sanitised.h"

namespace trnplan {

/// Half of `count` seeds, from `first` on; under ./dev soak 10 `count` seeds from TRNPLAN_SOAK + `first` on. At least
/// one.
inline std::vector<unsigned> seeds(unsigned first, unsigned count) {
  const char* soak = std::getenv("TRNPLAN_SOAK");
  const unsigned usual = std::max(1U, count / (kSanitised ? 12 : 2));
  std::vector<unsigned> all(soak == nullptr ? usual : 10 * count);
  const unsigned from = soak == nullptr ? 0 : static_cast<unsigned>(std::stoul(soak));
  std::iota(all.begin(), all.end(), from + first);
  return all;
}

/// Minimum number of occurrences here of a case that all seeds meet at least `count` times: at least one, so
/// that the test looks at something.
inline int at_least(int count) {
  return std::max(1, count / (kSanitised ? 24 : 2));
}

}  // namespace trnplan
