#include "models/step/overlapped_time.h"

#include <algorithm>
#include <numeric>

#include "units/index.h"

namespace trnplan::models {

FirstForward first_forward(SimTime launch, const std::vector<PartTime>& parts) {
  FirstForward first{{}, launch};
  if (parts.empty()) return first;
  first.ready = std::max(parts.front().collective - launch, SimTime{});
  SimTime before;  // work of the part before, during which the next is gathered
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PartTime& part = parts[i];
    first.length += i == 0 ? SimTime{} : std::max(before, part.collective);
    first.length += std::max(part.work, part.collective) * (part.times - 1);
    before = part.work;
  }
  first.length += before;
  return first;
}

/// After n equal parts with work w and a reduction r, from time T and earlier reductions until e:
/// max(e + n r, T + w + n r, T + n w + r).
void Reductions::add(SimTime start, const std::vector<PartTime>& parts) {
  for (const PartTime& part : parts) {
    if (part.collective.ps > 0) {
      const SimTime all = part.collective * part.times;
      end_ =
          std::max({end_ + all, start + part.work + all, start + part.work * part.times + part.collective});
    }
    start += part.work * part.times;
  }
}

std::vector<PassesAfter> passes_after_last(const PipelineSchedule& schedule, int stage,
                                           const PipelineShape& shape) {
  const std::size_t chunks = at(shape.chunks);
  std::vector<PassesAfter> after(chunks, {std::vector<int>(chunks), std::vector<int>(chunks)});
  for (const StageAction& a : schedule.passes(stage, shape)) {
    if (a.kind == StageAction::Kind::end_of_step) continue;
    const bool forward = a.kind == StageAction::Kind::forward;
    if (a.kind == schedule.last_pass())
      after[at(a.chunk)] = {std::vector<int>(chunks), std::vector<int>(chunks)};
    for (std::size_t c = 0; c < chunks; ++c) {
      if (c == at(a.chunk) && !forward) continue;
      ++(forward ? after[c].forward : after[c].backward)[at(a.chunk)];
    }
  }
  return after;
}

LateReductions late_reductions(const std::vector<ChunkTime>& chunks, const std::vector<PassesAfter>& after) {
  std::vector<SimTime> left(chunks.size());  // work after the last backward pass of each chunk
  SimTime most;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    for (std::size_t other = 0; other < chunks.size(); ++other)
      left[c] +=
          chunks[other].forward * after[c].forward[other] + chunks[other].backward * after[c].backward[other];
    most = std::max(most, left[c] + chunks[c].backward);
  }
  std::vector<std::size_t> order(chunks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return left[a] > left[b]; });
  Reductions queue, last;
  for (const std::size_t c : order) {
    const SimTime start = most - left[c] - chunks[c].backward + chunks[c].launch;
    queue.add(start, chunks[c].backward_parts);
    if (c == order.back()) last.add(start, chunks[c].backward_parts);
  }
  return {std::max(last.end() - most, SimTime{}), std::max(queue.end() - most, SimTime{})};
}

}  // namespace trnplan::models
