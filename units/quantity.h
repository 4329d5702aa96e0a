// Physical quantities that remember their unit.
//
// Units    The stored number is always in the base unit of the type's name: seconds, bytes, bytes/second,
//          floating-point operations (a multiply-add counts as two), operations/second.
// Prefixes giga is 10^9, always; powers of two are spelled gibi.
// Misuse   A bare double does not convert to a quantity, and one quantity does not convert to another:
//          both are compile errors (tests/units/quantity_test.cpp holds the static_asserts).
#pragma once

#include <compare>
#include <limits>

namespace trnplan {

/// A double with a unit. `Tag` only tells units apart.
template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, double s) { return Quantity(a.value * s); }
  friend constexpr Quantity operator*(double s, Quantity a) { return Quantity(a.value * s); }
  friend constexpr Quantity operator/(Quantity a, double s) { return Quantity(a.value / s); }
  /// The ratio of two equal units is a plain number.
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using Flops = Quantity<struct FlopsTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;

constexpr Seconds operator/(Bytes b, BytesPerSecond r) {
  return Seconds(b.value / r.value);
}
constexpr Seconds operator/(Flops f, FlopsPerSecond r) {
  return Seconds(f.value / r.value);
}
constexpr BytesPerSecond operator/(Bytes b, Seconds s) {
  return BytesPerSecond(b.value / s.value);
}
constexpr FlopsPerSecond operator/(Flops f, Seconds s) {
  return FlopsPerSecond(f.value / s.value);
}
constexpr Bytes operator*(BytesPerSecond r, Seconds s) {
  return Bytes(r.value * s.value);
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kGiB = 0x1p30;  ///< bytes in a GiB
inline constexpr double kMiB = 0x1p20;  ///< bytes in a MiB
inline constexpr double kHour = 3600;   ///< seconds in an hour
inline constexpr double kDay = 86400;   ///< seconds in a day

constexpr Bytes gibibytes(double n) {
  return Bytes(n * kGiB);
}
constexpr Bytes mebibytes(double n) {
  return Bytes(n * 1024.0 * 1024.0);
}
constexpr double in_gibibytes(Bytes b) {
  return b.value / kGiB;
}
constexpr double in_hours(Seconds s) {
  return s.value / kHour;
}
constexpr double in_days(Seconds s) {
  return s.value / kDay;
}
constexpr BytesPerSecond gigabytes_per_second(double n) {
  return BytesPerSecond(n * 1e9);
}

}  // namespace trnplan
