// Ends of the elements of series while a program runs. Internal to the executor.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/executor.h"
#include "sim/foresight.h"
#include "sim/program.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// The ends are kept of a series from the first element that does not end as without company; until then they
/// are those of Foresight.
class SeriesEnds {
 public:
  /// Keeps references to its arguments: `started` by task.
  SeriesEnds(const Program& p, const Foresight& foresight, const std::vector<SimTime>& started)
      : program_(p), foresight_(foresight), started_(started) {
    if (!p.series().empty()) times_.place.assign(p.tasks().size(), ElementTimes::kAlone);
  }

  /// Notes the end of an element of a series, by its number in the program.
  void note(TaskId t, std::uint32_t element, SimTime at) {
    if (!as_alone(t, at, foresight_.end(element))) ends_of(t)[element - program_.first_element(t)] = at;
  }

  /// Notes that an element did not determine the end of its beat, though it ended then.
  void drop(TaskId t, std::uint32_t element) {
    ends_of(t)[element - program_.first_element(t)] = SimTime{-1};
  }

  /// Notes the ends of the beats from one that started at `start` up to another, each as without company.
  void note_beats(TaskId t, std::uint32_t from, std::uint32_t beyond, SimTime start) {
    const SimTime alone = foresight_.start(program_.beat_of(t, from));
    if (from == beyond || as_alone(t, start, alone)) return;
    SimTime* const ends = ends_of(t);
    const std::uint32_t first = program_.first_element(t);
    const Beat& last = program_.beats()[program_.beat_of(t, beyond - 1)];
    for (std::uint32_t e = program_.beats()[program_.beat_of(t, from)].first; e < last.first + last.count;
         ++e)
      ends[e - first] = start - alone + foresight_.end(e);
  }

  /// All ends but those of `alone`.
  ElementTimes take() { return std::move(times_); }

 private:
  /// The ends of the elements of a series, as without company if they are new.
  SimTime* ends_of(TaskId t) {
    std::vector<SimTime>& ends = times_.ends;
    std::uint32_t& place = times_.place[t];
    if (place == ElementTimes::kAlone) {
      place = static_cast<std::uint32_t>(ends.size());
      const std::uint32_t first = program_.first_element(t), count = program_.series_of(t).elements;
      ends.resize(ends.size() + count);
      for (std::uint32_t e = 0; e < count; ++e) ends[place + e] = started_[t] + foresight_.end(first + e);
    }
    return ends.data() + place;
  }
  /// True if all of a series has been as without company, and an element too that ends, or should end, then.
  bool as_alone(TaskId t, SimTime end, SimTime alone) const {
    return times_.place[t] == ElementTimes::kAlone && end == started_[t] + alone &&
           foresight_.known(program_.tasks()[t].series);
  }

  const Program& program_;
  const Foresight& foresight_;
  const std::vector<SimTime>& started_;
  ElementTimes times_;
};

}  // namespace trnplan::sim
