// Whole numbers that count things, as indices of containers.
#pragma once

#include <cstddef>

namespace trnplan {

/// `i` as an index. Requires: `i` is not negative.
[[nodiscard]] constexpr std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace trnplan
