// Numbers as a table prints them, rounded: which of them may be one measurement.
#pragma once

#include <optional>
#include <string_view>

namespace trnplan::logs {

/// A number and the unit of its last printed digit.
struct Printed {
  double value = 0;
  double ulp = 0;
};

/// The number that is the whole text; nullopt for another text, and where it is not finite.
[[nodiscard]] std::optional<Printed> printed_number(std::string_view text);

/// True if bandwidth and size over time may be the same number before rounding (or cutting) to print; `giga`: bytes
/// of a GB.
[[nodiscard]] bool is_rate_of(const Printed& bandwidth, double bytes, const Printed& us, double giga);

/// True if busbw may be that many times algbw before both were rounded.
[[nodiscard]] bool is_multiple_of(const Printed& busbw, const Printed& algbw, double factor);

}  // namespace trnplan::logs
