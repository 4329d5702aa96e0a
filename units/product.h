// Products of numbers that come from a file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace trnplan {

/// The product, or the largest int64 when the product does not fit. Requires: no factor is negative.
constexpr std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t f : factors) {
    if (__builtin_mul_overflow(product, f, &product)) return std::numeric_limits<std::int64_t>::max();
  }
  return product;
}

}  // namespace trnplan
