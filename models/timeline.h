// What a simulated step does when, for pictures and exports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/step.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Tracks of slices (one per stage and engine: "compute", and "collectives" where a stage overlaps the two)
/// and of counters (memory of a core in bytes; use of the busiest link, memory path and NIC of a stage, 0 to
/// 1). One lane stands for all cores of a stage, which do the same.
struct Timeline {
  struct Track {
    int stage = 0;
    std::string name;
    bool counter = false;
    std::string unit;  ///< of a counter: "bytes" or "1"
  };
  /// Slices of a track nest: an operator lies inside its pass.
  struct Slice {
    std::uint32_t track = 0;
    SimTime start, end;
    std::string_view name, category;  ///< operator or pass; models::Category
    int micro_batch = -1;             ///< -1: none
    std::uint64_t flow = 0;  ///< not 0: the same number on the sending and the receiving end of a message
    bool receives = false;   ///< which end of `flow` this is
  };
  struct Sample {
    std::uint32_t track = 0;
    SimTime at;
    double value = 0;
  };

  std::vector<Track> tracks;
  std::vector<Slice> slices;    ///< by start; an outer slice before the ones inside it
  std::vector<Sample> samples;  ///< by time
  SimTime end;
  int detailed_micro_batches = 0;  ///< whose passes are broken down into operators; all, or the first ones
  int micro_batches = 0;
};

/// Simulates the step and writes it down. Where layers must run inside the step (StepReport::expanded) every
/// operator is a slice of its own, without a pass around it or a micro-batch, and the memory counter stays at
/// the states. At most about `most_slices` operators are listed one by one: the passes of the first
/// micro-batches, as many as that allows. Cost: a simulation, and O(slices log slices).
Timeline timeline(const StepModel& model, const Job& job, const Strategy& strategy, const Profile& profile,
                  std::size_t most_slices = 200'000);

}  // namespace trnplan::models
