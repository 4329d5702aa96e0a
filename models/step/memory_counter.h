// Bytes alive on a core of a stage as a timeline's samples. Internal to the timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "models/memory/memory.h"
#include "models/step/timeline.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Bytes alive on a core of one stage, as the memory model has them (models/memory/memory.h), put into the
/// order of the stage's queue.
class MemoryCounter {
 public:
  MemoryCounter(const StageMemory& memory, std::uint32_t track, std::vector<Timeline::Sample>& samples)
      : m_(memory), track_(track), samples_(samples) {
    note({}, true);
  }

  /// Passes, layers and deferred layers that are alive from now on, more or fewer.
  void add(SimTime time, const Alive& more, bool listed) {
    alive_.passes += more.passes;
    alive_.layers += more.layers;
    alive_.deferred += more.deferred;
    note(time, listed);
  }
  /// What an instant has beside the activations; none of it at its end.
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
  /// One thing ends as the next begins: what holds from a time on is known when a later one comes.
  void note(SimTime time, bool listed) {
    if (time != next_at_) settle();
    MemoryMoment all = now_;
    all.activations = m_.kept(alive_);
    next_at_ = time;
    next_ = m_.with(all).value;
    listed_ = listed;
  }

  /// Where passes are not listed, only what exceeds all before is, and the drop after it.
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
  bool alone_ = false;  ///< the last sample was a highest one among passes that are not listed
};

}  // namespace trnplan::models
