// In which order the stages of a pipeline compute: the name alone. What each schedule does stands in
// models/framework/schedules.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace trnplan::models {

enum class Schedule : std::size_t { one_f_one_b, interleaved, zero_bubble, gpipe, count };

/// As the strategy grammar and JSON spell them, in the order of Schedule.
inline constexpr std::array<std::string_view, static_cast<std::size_t>(Schedule::count)> kScheduleNames = {
    "1f1b", "interleaved", "zero-bubble", "gpipe"};

[[nodiscard]] constexpr std::string_view to_string(Schedule s) {
  return kScheduleNames[static_cast<std::size_t>(s)];
}

[[nodiscard]] constexpr std::optional<Schedule> schedule_from(std::string_view text) {
  for (std::size_t i = 0; i < kScheduleNames.size(); ++i) {
    if (text == kScheduleNames[i]) return static_cast<Schedule>(i);
  }
  return std::nullopt;
}

}  // namespace trnplan::models
