// Largest values of a measured collective (more is an error of its file), and their unit.
#pragma once

#include <cstddef>

#include "units/quantity.h"

namespace trnplan::logs {

inline constexpr double kNano = 1e-9;  ///< seconds in a nanosecond, in which profilers print
inline constexpr double kBytesMost = 0x1p50;
inline constexpr double kSecondsMost = kDay;
inline constexpr int kRanksMost = 1'000'000;
inline constexpr std::size_t kRowsMost = 20'000;  ///< of a table
/// Bytes of a file that is held, since it is not read in order.
inline constexpr std::size_t kWholeMost = 64 << 20;
inline constexpr std::size_t kCellsMost = 64;  ///< of a row; the widest table has some 20 columns

}  // namespace trnplan::logs
