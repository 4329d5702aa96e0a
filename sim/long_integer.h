// An integer that is long enough for how far flows have come, exactly.
//
// What a flow has moved is the sum of level times ticks over the stretches in which its level was the same.
// As an integer that sum depends on neither the order of additions nor on where a stretch is cut in two: flows
// may share a clock, join and leave it, and each is where it would be had it one of its own.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace trnplan::sim {

/// 256 bits. Sums wrap around, so that differences stay right.
class LongInteger {
 public:
  __extension__ using Wide = unsigned __int128;
  using Limbs = std::array<std::uint64_t, 4>;

  constexpr LongInteger() = default;
  /// value * 2^shift; shift from 0 to 191.
  LongInteger(Wide value, int shift) {
    const auto limb = static_cast<std::size_t>(shift) / 64;
    const int bits = shift % 64;
    const Wide low = value << bits;
    limbs_[limb] = static_cast<std::uint64_t>(low);
    limbs_[limb + 1] = static_cast<std::uint64_t>(low >> 64);
    if (bits > 0 && limb < 2) limbs_[limb + 2] = static_cast<std::uint64_t>(value >> (128 - bits));
  }

  LongInteger& operator+=(const LongInteger& o) {
    bool carry = false;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      const bool over = __builtin_add_overflow(limbs_[i], o.limbs_[i], &limbs_[i]);
      carry = __builtin_add_overflow(limbs_[i], std::uint64_t{carry}, &limbs_[i]) || over;
    }
    return *this;
  }
  LongInteger& operator-=(const LongInteger& o) {
    bool borrow = false;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      const bool under = __builtin_sub_overflow(limbs_[i], o.limbs_[i], &limbs_[i]);
      borrow = __builtin_sub_overflow(limbs_[i], std::uint64_t{borrow}, &limbs_[i]) || under;
    }
    return *this;
  }
  friend LongInteger operator+(LongInteger a, const LongInteger& b) { return a += b; }
  friend LongInteger operator-(LongInteger a, const LongInteger& b) { return a -= b; }
  friend bool operator==(const LongInteger&, const LongInteger&) = default;
  friend std::strong_ordering operator<=>(const LongInteger& a, const LongInteger& b) {
    for (std::size_t i = a.limbs_.size(); i-- > 0;) {
      if (a.limbs_[i] != b.limbs_[i]) return a.limbs_[i] <=> b.limbs_[i];
    }
    return std::strong_ordering::equal;
  }

  /// True if the value, as a difference, is below zero.
  bool negative() const { return limbs_[3] >> 63 != 0; }
  /// The value times 2^exponent as a double, within 2^-52 of it; greater for no smaller value.
  double scaled(int exponent) const {
    for (std::size_t i = limbs_.size(); i-- > 0;) {
      if (limbs_[i] == 0) continue;
      const double high = static_cast<double>(limbs_[i]),
                   low = i > 0 ? static_cast<double>(limbs_[i - 1]) : 0;
      return (high + low * 0x1p-64) * power_of_two(exponent + 64 * static_cast<int>(i));
    }
    return 0;
  }
  const Limbs& limbs() const { return limbs_; }

 private:
  /// 2^exponent. Requires: a normal double.
  static double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }

  Limbs limbs_{};
};

}  // namespace trnplan::sim
