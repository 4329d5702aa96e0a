// Pending events of one simulation run, in the order they will happen.
//
// Order    By (time, phase, sequence). Events of equal time and phase come out in the order they were
//          scheduled.
//          Scheduling at now() is allowed; the event runs after everything already waiting for the same time
//          and phase.
// Units    SimTime, integer picoseconds. The queue starts at time zero.
// Cost     schedule() and pop() are O(log n) in pending events, O(1) for those scheduled at now(). What is
//          scheduled after a pop() takes the place that it left, so that one event that leads to another
//          moves the others once.
// Misuse   Scheduling before now() throws std::logic_error: it is a bug in the caller.
// Threads  None. One queue belongs to one run; there is no global queue.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/indexed_heap.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// Order within one instant: first everything ends, then resources are shared out
/// once.
enum class Phase : std::uint8_t { completion, sharing };

/// The place of an event in the order of all. Later than anything that can happen without arguments.
struct Moment {
  SimTime at{std::numeric_limits<std::int64_t>::max()};
  std::uint64_t order = std::numeric_limits<std::uint64_t>::max();  ///< phase, then sequence

  Moment() = default;
  Moment(SimTime time, Phase phase, std::uint64_t sequence)
      : at(time), order(static_cast<std::uint64_t>(phase) << 63 | sequence) {}
  auto operator<=>(const Moment&) const = default;
  bool operator<(const Moment& o) const { return at.ps != o.at.ps ? at.ps < o.at.ps : order < o.order; }
};

template <class Payload>
class EventQueue {
 public:
  struct Event {
    Moment moment;
    Payload payload{};
  };

  SimTime now() const { return now_; }
  bool empty() const { return heap_.size() == (popped_ ? 1 : 0) && at_once_.empty(); }
  /// Moment of the next event; later than anything that can happen if there is none.
  Moment next() {
    settle();
    const Moment first = heap_.empty() ? Moment{} : heap_.front().moment;
    return at_once_.empty() ? first : std::min(first, at_once_[taken_].moment);
  }
  /// Events that wait, in the order in which they will happen. Cost: O(n log n).
  std::vector<Event> pending() const {
    std::vector<Event> all(heap_.begin() + (popped_ ? 1 : 0), heap_.end());
    all.insert(all.end(), at_once_.begin() + static_cast<std::ptrdiff_t>(taken_), at_once_.end());
    std::sort(all.begin(), all.end(), kBefore);
    return all;
  }

  void schedule(SimTime at, Phase phase, Payload payload) {
    if (at < now_) throw std::logic_error("an event was scheduled in the past");
    Event event{{at, phase, next_sequence_++}, std::move(payload)};
    if (at == now_ && phase == Phase::completion) {
      at_once_.push_back(std::move(event));
    } else if (popped_) {
      popped_ = false;
      heap_.front() = std::move(event);
      indexed_heap::sink(heap_, 0, kBefore, kUntold);
    } else {
      indexed_heap::push(heap_, std::move(event), kBefore, kUntold);
    }
  }
  /// A place in the order of scheduling for events that somebody else keeps.
  std::uint64_t take_sequence() { return next_sequence_++; }
  /// Moves the clock to such an event.
  void advance(SimTime to) { now_ = to; }

  /// Removes and returns the next event and moves the clock to it. Precondition: not empty.
  Event pop() {
    settle();
    if (!at_once_.empty() && (heap_.empty() || at_once_[taken_].moment < heap_.front().moment)) {
      Event event = std::move(at_once_[taken_]);
      if (++taken_ == at_once_.size()) {
        at_once_.clear();
        if (taken_ > kMany) at_once_.shrink_to_fit();
        taken_ = 0;
      }
      return event;
    }
    popped_ = true;
    Event event = std::move(heap_.front());
    now_ = event.moment.at;
    return event;
  }

 private:
  static constexpr std::size_t kMany = 4096;  ///< events at one time, after which their memory is given back
  static constexpr auto kBefore = [](const Event& a, const Event& b) { return a.moment < b.moment; };
  static constexpr auto kUntold = [](const Event&, std::size_t) {};

  /// Closes the gap that a popped event left.
  void settle() {
    if (!popped_) return;
    popped_ = false;
    indexed_heap::erase(heap_, 0, kBefore, kUntold);
  }

  std::vector<Event> heap_;
  bool popped_ = false;         ///< the first of `heap_` is gone
  std::vector<Event> at_once_;  ///< scheduled at now(), ascending; those below `taken_` are gone
  std::size_t taken_ = 0;
  SimTime now_{};
  std::uint64_t next_sequence_ = 0;
};

}  // namespace trnplan::sim
