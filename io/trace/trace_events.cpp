#include "io/trace/trace_events.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>

namespace trnplan::io {

std::vector<TraceEvent> trace_events(const models::Timeline& timeline) {
  const auto& slices = timeline.slices;
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(slices[a].start, slices[a].receives) < std::tuple(slices[b].start, slices[b].receives);
  });

  std::vector<TraceEvent> events;
  events.reserve(2 * slices.size() + timeline.samples.size());
  std::vector<std::vector<std::size_t>> open(timeline.tracks.size());
  const auto close = [&](std::vector<std::size_t>& stack) {
    events.push_back({TraceEvent::Kind::end, slices[stack.back()].end, stack.back()});
    stack.pop_back();
  };
  for (const std::size_t i : order) {
    const models::Timeline::Slice& s = slices[i];
    std::vector<std::size_t>& stack = open.at(s.track);
    while (!stack.empty() && slices[stack.back()].end <= s.start) close(stack);
    if (s.end < s.start || (!stack.empty() && slices[stack.back()].end < s.end))
      throw std::logic_error("slices of a track overlap without one inside the other");
    events.push_back({TraceEvent::Kind::begin, s.start, i});
    stack.push_back(i);
  }
  for (std::vector<std::size_t>& stack : open) {
    while (!stack.empty()) close(stack);
  }
  for (std::size_t i = 0; i < timeline.samples.size(); ++i) {
    events.push_back({TraceEvent::Kind::sample, timeline.samples[i].at, i});
  }
  // Stable: equal times stay in the order of their stack.
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.at < b.at; });
  return events;
}

}  // namespace trnplan::io
