#include "units/quantity.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <utility>

#include "tests/catch.h"
#include "units/normal.h"
#include "units/sim_time.h"

using namespace trnplan;

// The wrong thing does not compile.
static_assert(!std::convertible_to<double, Bytes>);
static_assert(!std::convertible_to<Bytes, BytesPerSecond>);
static_assert(!std::convertible_to<Seconds, SimTime>);
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, Seconds>);
static_assert(!Addable<Bytes, double>);
static_assert(std::same_as<decltype(Bytes(1) / BytesPerSecond(1)), Seconds>);
static_assert(std::same_as<decltype(Bytes(1) / Bytes(1)), double>);

TEST_CASE("giga is 10^9 and gibi is 2^30", "[units]") {
  CHECK(gigabytes_per_second(1).value == 1e9);
  CHECK(gibibytes(1).value == 1073741824.0);
  CHECK(in_gibibytes(gibibytes(16)) == 16.0);
}

TEST_CASE("misuse of the clock throws", "[units]") {
  CHECK_THROWS_AS(to_sim_time(Seconds(107 * 86400.0)), std::overflow_error);
  CHECK_THROWS_AS(to_sim_time(Seconds(std::numeric_limits<double>::quiet_NaN())), std::overflow_error);
  CHECK(to_sim_time(Seconds(106 * 86400.0)).ps == 9'158'400'000'000'000'000);
  const SimTime last{std::numeric_limits<std::int64_t>::max()};
  CHECK_THROWS_AS(last + SimTime{1}, std::overflow_error);
  CHECK_THROWS_AS(last * 2, std::overflow_error);
  CHECK(last + SimTime{0} == last);
}

// P(both < 0) is 1/4 + asin(r) / 2 pi; without correlation it is a product, and of one normal the smaller of the two.
TEST_CASE("two normals below their bounds", "[units]") {
  for (const double r : {-0.9, -0.3, 0.0, 0.5, 0.99})
    CHECK(both_below(0, 0, r) == Approx(0.25 + std::asin(r) / (2 * std::numbers::pi)).epsilon(1e-6));
  CHECK(both_below(1.5, -0.5, 0) == Approx(normal_probability(1.5) * normal_probability(-0.5)));
  for (const auto& [a, b] : {std::pair(2.0, 2.0), std::pair(2.0, 3.0), std::pair(-1.0, 2.5)}) {
    CHECK(both_below(a, b, 1) == Approx(normal_probability(std::min(a, b))).margin(1e-6));
    CHECK(both_below(a, b, 0.9999) == Approx(normal_probability(std::min(a, b))).margin(3e-3));
  }
  // By the midpoint rule with 2000 points.
  CHECK(both_below(1, 1, 0.5) == Approx(0.7452036).margin(1e-6));
}
