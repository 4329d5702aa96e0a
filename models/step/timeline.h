// The timeline of a simulated step, for pictures and exports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/step/step.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Tracks of slices (one per lane and engine: "compute", and "collectives" where a stage overlaps the two)
/// and of counters. A lane represents the cores of a stage that do the same: all, or a part where some are
/// slower or times are random.
///
/// Memory of a core, in bytes, follows the memory model (models/memory/memory.h): its largest value is the
/// stage's StageMemory::peak(), at that peak's instant; less where chunks of one stage differ in layers, of which
/// the model knows the mean. A pass's input and output exist from the start of its
/// forward, its layers' activations from the end of their forward; both go when their backward ends. Bytes
/// that the model counts once for a backward exist through all its layers. With a split backward, activations
/// go with the gradient of the input. Use, 0 to 1, is that of the busiest link, memory path and NIC by the
/// lane's own transfers: of transfers at the same time, the one that uses most; the mean over a pass that is
/// not broken down.
struct Timeline {
  struct Lane {
    int stage = 0;
    int core = 0, cores = 0;  ///< the first of its cores, and their number
    double factor = 1;        ///< of the time of their work
    NodeState node;           ///< of that core's node
  };
  struct Track {
    int lane = 0;  ///< index in `lanes`
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

  int stage_of(const Track& track) const { return lanes[static_cast<std::size_t>(track.lane)].stage; }
  /// Lanes of each stage that are drawn.
  int drawn_of_stage() const { return static_cast<int>(lanes.size()) / (lanes.back().stage + 1); }
  /// "stage 0"; with what is wrong with its cores, and where it has several lanes with one of its cores:
  /// "stage 0: core 8 and 7 like it, work x 1.2".
  std::string name_of(const Lane& lane) const;

  std::string_view device_word = "core";  ///< the common name of the device of a rank
  std::vector<Lane> lanes;                ///< that are drawn, by stage
  int lanes_of_stage = 1;                 ///< the same for all stages
  std::vector<Track> tracks;
  std::vector<Slice> slices;    ///< by start; an outer slice before the ones inside it
  std::vector<Sample> samples;  ///< by time
  SimTime end;
  int detailed_micro_batches = 0;  ///< with passes broken down into operators; all, or the first ones
  int listed_micro_batches = 0;    ///< with passes and messages; all, or the first ones
  int micro_batches = 0;
};

struct TimelineOptions {
  std::size_t most_slices = 200'000;
  bool expand = false;  ///< as in StepOptions; the timeline is the same
  Scenario scenario;    ///< a machine that is not ideal
  int run = 0;          ///< of a scenario with random times
};

/// Most lanes of a stage that are drawn, the same ones in each stage. Where there are more, these are one for
/// each condition of cores and nodes, then those whose passes last longest in all stages together, and the one
/// whose passes last shortest.
inline constexpr int kMostLanesDrawn = 16;

/// Simulates the step and records it, in at most `most_slices` slices (or only those of the end of the step,
/// where these are already more). It records passes and messages of all micro-batches, or of as many of the
/// first ones as that allows; then, likewise, their operators. Of passes that are not listed the memory
/// counter has only new maxima, and the other counters have nothing. Cost: a simulation, O(operators) where layers
/// run inside the step (StepReport::expanded), and O(slices log slices). Throws as StepModel::simulate() does.
Timeline timeline(const StepModel& model, const Job& job, const Strategy& strategy, const Profile& profile,
                  const TimelineOptions& options = {});

}  // namespace trnplan::models
