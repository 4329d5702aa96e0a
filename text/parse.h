// Numbers in the form that people write: counts such as 15T and 2M, sizes such as 64MiB, durations such as
// 30d.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "units/quantity.h"

namespace trnplan {

/// The count that a decimal number states, with an optional suffix K, M, B or G, T (10^3, 10^6, 10^9, 10^12;
/// lower case too): "15T", "2.5M", "1024". nullopt for any other text, and for a negative or infinite number
/// or one above 2^62.
std::optional<double> parse_count(std::string_view text);
/// The same, and with "%" a hundredth of it: "90%", "0.9".
std::optional<double> parse_share(std::string_view text);
/// The same for an amount of money, which must be above 0.
std::optional<double> parse_usd(std::string_view text);
/// Fix for a text that parse_usd() refuses.
inline constexpr const char* kUsdFix = "write an amount of USD above 0, for example 500000 or 2.5M";

/// True for numbers with points between them, such as "2.28": a release of a Neuron SDK, a version of a
/// framework.
bool is_version(std::string_view text);

/// The parts of a text between its commas; at least one, which may be empty.
std::vector<std::string> comma_parts(std::string_view text);

/// A whole number without suffix, sign or fraction: "32". nullopt for any other text, and above 2^31 - 1.
std::optional<int> parse_whole(std::string_view text);

/// The numbers of "8", or of "4..128": 4, 8, 16 and so on by doubling, and the end; ascending. nullopt for
/// any other text, and for numbers outside 1 .. `most`.
std::optional<std::vector<int>> parse_doubling(std::string_view text, int most);

/// A size: a number, alone or with K, M, G or T, each optionally with B or iB, or with B alone; lower case
/// too. All of them are powers of 2, KB as well as KiB, as in nccom-test: "32M" and "32mb" are 2^25. nullopt
/// for any other text, and for a size that is negative, not a whole number of bytes, or above 2^62.
std::optional<Bytes> parse_bytes(std::string_view text);

/// A number with a unit s, m, h, d or w: "90s", "36h", "30d". nullopt for any other text, and above 2^62 s.
std::optional<Seconds> parse_duration(std::string_view text);

}  // namespace trnplan
