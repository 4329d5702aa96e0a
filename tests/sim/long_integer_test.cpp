#include "sim/long_integer.h"

#include <cmath>

#include <boost/random/mersenne_twister.hpp>

#include "tests/catch.h"

using trnplan::sim::LongInteger;

TEST_CASE("sums of long integers carry and borrow as those of __int128 do", "[sim]") {
  boost::random::mt19937_64 random(1);
  int wrong = 0;
  for (int i = 0; i < 10'000; ++i) {
    const int shift = static_cast<int>(random() % 160);
    // The lower bits of a are where a difference borrows, those of b where a sum carries.
    const LongInteger::Wide a = random() >> random() % 64, b = (LongInteger::Wide{random()} << 32) | random();
    const LongInteger x(a, shift), y(b, shift);
    wrong += x + y != LongInteger(a + b, shift);
    wrong += x + y - y != x || x - y + y != x;
    wrong += (x < y) != (a < b) || (x == y) != (a == b);
    if (shift < 100) wrong += (x - y).negative() != (a < b);
  }
  CHECK(wrong == 0);
}

TEST_CASE("long integers as doubles keep their order and 52 bits", "[sim]") {
  boost::random::mt19937_64 random(2);
  int wrong = 0;
  for (int shift = 0; shift < 190; ++shift) {
    const std::uint64_t value = random() | std::uint64_t{1} << 63;
    const LongInteger x(value, shift);
    const double expected = std::ldexp(static_cast<double>(value), shift - 100);
    wrong += std::abs(x.scaled(-100) - expected) > expected * 0x1p-52;
  }
  // Neighbours around the ends of limbs, where a double of each limb alone could go back.
  for (const int limb : {0, 1, 2}) {
    LongInteger x(LongInteger::Wide{1} << 64, 64 * limb);
    for (int i = 0; i < 8; ++i) x -= LongInteger(1, 0);
    for (int i = 0; i < 16; ++i) {
      const LongInteger next = x + LongInteger(1, 0);
      wrong += !(x < next) || next.scaled(-100) < x.scaled(-100);
      x = next;
    }
  }
  CHECK(wrong == 0);
  CHECK(LongInteger().scaled(5) == 0);
}
