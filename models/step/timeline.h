// The timeline of a simulated step, for pictures and exports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/step/step.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Tracks of slices (one per stage and engine: "compute", and "collectives" where a stage overlaps the two)
/// and of counters. One lane represents all cores of a stage, which do the same.
///
/// Memory of a core, in bytes, follows the memory model (models/memory/memory.h): its largest value is the
/// stage's StageMemory::peak(), at that peak's instant. A pass's input and output exist from the start of its
/// forward, its layers' activations from the end of their forward; both go when their backward ends. Bytes
/// that the model counts once for a backward exist through all its layers. With a split backward, activations
/// go with the gradient of the input. Use, 0 to 1, is that of the busiest link, memory path and NIC by the
/// stage's own transfers: of transfers at the same time, the one that uses most; the mean over a pass that is
/// not broken down.
struct Timeline {
  struct Track {
    int stage = 0;
    std::string name;
    bool counter = false;
    std::string unit;  ///< unit of a counter: "bytes" or "1"
  };
  /// A slice. Slices of a track nest: an operator lies inside its pass.
  struct Slice {
    std::uint32_t track = 0;
    SimTime start, end;
    std::string_view name, category;  ///< operator or pass; models::Category
    int micro_batch = -1;             ///< -1: none
    int chunk = -1;                   ///< chunk of the stage's layers, with a virtual pipeline; -1: none
    std::uint64_t flow = 0;           ///< not 0: the same number at both ends of a message
    bool receives = false;            ///< the receiving end of `flow`
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
  int detailed_micro_batches = 0;  ///< with passes broken down into operators; all, or the first ones
  int listed_micro_batches = 0;    ///< with passes and messages; all, or the first ones
  int micro_batches = 0;
};

/// Simulates the step and records it, in at most `most_slices` slices (or only those of the end of the step,
/// where these are already more). It records passes and messages of all micro-batches, or of as many of the
/// first ones as that allows; then, likewise, their operators. Of passes that are not listed the memory
/// counter has only new maxima, and the other counters have nothing. `expand` is StepOptions::expand; the
/// timeline is the same. Cost: a simulation, O(operators) where layers run inside the step
/// (StepReport::expanded), and O(slices log slices).
Timeline timeline(const StepModel& model, const Job& job, const Strategy& strategy, const Profile& profile,
                  std::size_t most_slices = 200'000, bool expand = false);

}  // namespace trnplan::models
