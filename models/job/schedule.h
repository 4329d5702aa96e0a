// Pipeline schedules: their names, and the chunks that a stage may have. Their behaviour is in
// models/framework/schedules.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

namespace trnplan::models {

enum class Schedule : std::size_t { one_f_one_b, interleaved, zero_bubble, gpipe, zero_bubble_v, count };

/// Chunks of layers that a stage may hold.
struct ChunkCounts {
  int least = 1, most = 1;
  [[nodiscard]] constexpr bool has(int chunks) const { return nearest(chunks) == chunks; }
  [[nodiscard]] constexpr int nearest(int chunks) const { return std::clamp(chunks, least, most); }
};

struct ScheduleRow {
  std::string_view name;  ///< as the strategy grammar and JSON spell it
  ChunkCounts chunks;
};

/// Rows in the order of Schedule.
inline constexpr std::array<ScheduleRow, static_cast<std::size_t>(Schedule::count)> kSchedules = {{
    {"1f1b", {1, 1}},
    {"interleaved", {2, std::numeric_limits<int>::max()}},
    {"zero-bubble", {1, 1}},
    {"gpipe", {1, 1}},
    {"zbv", {2, 2}},
}};

[[nodiscard]] constexpr std::string_view to_string(Schedule s) {
  return kSchedules[static_cast<std::size_t>(s)].name;
}

[[nodiscard]] constexpr ChunkCounts chunks_of(Schedule s) {
  return kSchedules[static_cast<std::size_t>(s)].chunks;
}

[[nodiscard]] constexpr std::optional<Schedule> schedule_from(std::string_view text) {
  for (std::size_t i = 0; i < kSchedules.size(); ++i) {
    if (text == kSchedules[i].name) return static_cast<Schedule>(i);
  }
  return std::nullopt;
}

/// Names of all schedules, in the order of Schedule.
inline constexpr auto kScheduleNames = [] {
  std::array<std::string_view, kSchedules.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kSchedules[i].name;
  return names;
}();

}  // namespace trnplan::models
