// Points in time, in seconds since 1970-01-01 UTC, from 1970 to 9998.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trnplan {

/// Reads ISO 8601: "2026-12-01T11:30:00.000Z", "2026-12-01 11:30+01:00"; without an offset UTC. Fractions of
/// a second are dropped. nullopt for any other text.
std::optional<double> parse_utc(std::string_view text);
/// "2026-12-01 11:30"; seconds are dropped.
std::string utc_text(double seconds);
/// "2026-12-01T11:30:00Z".
std::string utc_iso(double seconds);

}  // namespace trnplan
