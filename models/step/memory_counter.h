// The bytes alive on a core of a stage, as a timeline's samples. Internal to the timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "models/memory/memory.h"
#include "models/step/timeline.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Bytes alive on a core of one stage by the memory model (models/memory/memory.h), in the order of the
/// stage's queue.
class MemoryCounter {
 public:
  MemoryCounter(const StageMemory& memory, std::uint32_t track, std::vector<Timeline::Sample>& samples)
      : m_(memory), track_(track), samples_(samples) {
    note({}, true);
  }

  /// Changes the numbers of passes, layers and deferred layers that are alive from `time` on.
  void add(SimTime time, const Alive& more, bool listed) {
    alive_.passes += more.passes;
    alive_.layers += more.layers;
    alive_.deferred += more.deferred;
    note(time, listed);
  }
  /// Adds the bytes of an instant besides the activations; they all go at its end.
  void during(SimTime from, SimTime to, const MemoryMoment& moment, bool listed) {
    begin(from, moment, listed);
    finish(to, listed);
  }
  void begin(SimTime time, const MemoryMoment& moment, bool listed) {
    now_ = moment;
    note(time, listed);
  }
  void finish(SimTime time, bool listed) {
    now_ = {};
    note(time, listed);
  }
  void end(SimTime time) {
    settle();
    samples_.push_back({track_, time, shown_});
  }

 private:
  /// Remembers the bytes from `time` on. One thing ends as the next begins, so the value at `time` is final
  /// when a later time comes.
  void note(SimTime time, bool listed) {
    if (time != next_at_) settle();
    MemoryMoment all = now_;
    all.activations = m_.kept(alive_);
    next_at_ = time;
    next_ = m_.with(all).value;
    listed_ = listed;
  }

  /// Writes the pending sample. Where passes are not listed, only a new maximum is written, and the drop
  /// after it.
  void settle() {
    const bool highest = next_ > most_;
    if (next_ == shown_ || !(listed_ || highest || alone_)) return;
    alone_ = !listed_ && highest;
    most_ = std::max(most_, next_);
    shown_ = next_;
    samples_.push_back({track_, next_at_, next_});
  }

  const StageMemory& m_;
  std::uint32_t track_;
  std::vector<Timeline::Sample>& samples_;
  Alive alive_;
  MemoryMoment now_;
  SimTime next_at_;
  double next_ = 0;
  bool listed_ = true;
  double shown_ = -1, most_ = -1;
  bool alone_ = false;  ///< the last sample was a maximum among passes that are not listed
};

}  // namespace trnplan::models
