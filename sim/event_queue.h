// Pending events of one simulation run, in the order they will happen.
//
// Order    By (time, phase, sequence). Events of equal time and phase come out in the order they were
//          scheduled.
//          Scheduling at now() is allowed; the event runs after everything already waiting for the same time
//          and phase.
// Units    SimTime, integer picoseconds. The queue starts at time zero.
// Cost     schedule() and pop() are O(log n) in pending events.
// Misuse   Scheduling before now() throws std::logic_error: it is a bug in the caller.
// Threads  None. One queue belongs to one run; there is no global queue.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "units/sim_time.h"

namespace trnplan::sim {

/// Order within one instant: first everything ends, then resources are shared out
/// once.
enum class Phase : std::uint8_t { completion, sharing };

/// The place of an event in the order of all.
struct Moment {
  SimTime at{std::numeric_limits<std::int64_t>::max()};
  Phase phase = Phase::sharing;
  std::uint64_t sequence = std::numeric_limits<std::uint64_t>::max();

  auto operator<=>(const Moment&) const = default;
};

template <class Payload>
class EventQueue {
 public:
  struct Event {
    Moment moment;
    Payload payload{};
  };

  SimTime now() const { return now_; }
  bool empty() const { return heap_.empty(); }
  /// Moment of the next event; later than anything that can happen if there is none.
  Moment next() const { return heap_.empty() ? Moment{} : heap_.front().moment; }
  /// Events that wait, in the order in which they will happen. Cost: O(n log n).
  std::vector<Event> pending() const {
    std::vector<Event> all = heap_;
    std::sort(all.begin(), all.end(), [](const Event& a, const Event& b) { return later(b, a); });
    return all;
  }

  void schedule(SimTime at, Phase phase, Payload payload) {
    if (at < now_) throw std::logic_error("an event was scheduled in the past");
    heap_.push_back({{at, phase, next_sequence_++}, std::move(payload)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  /// A place in the order of scheduling for events that somebody else keeps.
  std::uint64_t take_sequence() { return next_sequence_++; }
  /// Moves the clock to such an event.
  void advance(SimTime to) { now_ = to; }

  /// Removes and returns the next event and moves the clock to it. Precondition: not empty.
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event event = std::move(heap_.back());
    heap_.pop_back();
    now_ = event.moment.at;
    return event;
  }

 private:
  static bool later(const Event& a, const Event& b) { return a.moment > b.moment; }

  std::vector<Event> heap_;
  SimTime now_{};
  std::uint64_t next_sequence_ = 0;
};

}  // namespace trnplan::sim
