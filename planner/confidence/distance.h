// How far a plan is from what is known to have run.
//
// A plan and a run are points; their distance is the weighted sum of the differences of their coordinates: sizes and
// degrees as logarithms to base 2, so that a doubling counts 1, and settings as 0 or 1. A difference counts half where
// another run of the same kind of model and device has what the plan has: it was tried, though not in this combination. The
// nearest run decides. From the distance D follow (parameters: catalog/recommending.json; docs/models.md)
//   P(it runs at all)          exp(-failure D), what neither rule, memory nor compiler is known to forbid
//   log-sd of its step's time  configuration_spread sqrt(max(0, D / typical - 1)), beyond what is stated without it:
//                              configuration_spread is what fits miss of published configurations they have not seen,
//                              and those are nearer than `typical` to their nearest neighbour
//   log-sd of its memory and of its graphs' instructions, beyond what is stated without it    memory sqrt(D)
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"

namespace trnplan::planner {

/// Something that ran, or was published to be run.
struct KnownRun {
  std::string id;     ///< row of a table, or the file of an own log
  std::string model;  ///< as its publisher calls it
  models::Architecture architecture;
  std::string instance;
  topology::Accelerator accelerator = topology::Accelerator::neuron_core;
  int nodes = 1, sequence = 0;
  models::Strategy strategy;
  bool seen = true;  ///< false: shipped as a config, of which nobody says that it ran
};

/// What runs and plans may differ in.
enum class Trait : std::size_t {
  hidden,
  layers,
  experts,
  tensor_parallel,
  pipeline,  ///< at all
  pipeline_parallel,
  virtual_pipeline,
  micro_batch,
  context_parallel,
  expert_parallel,
  recompute_all,
  recompute_attention,
  recompute_mlp,
  recompute_norms,
  recompute_product,
  cuts,  ///< by hand
  sequence,
  nodes,
  flash_attention,
  precision,
  zero1,
  sequence_parallel,
  schedule,
  framework,
  sharding,  ///< of gradients and weights
  instance,
  seen,
  count
};
inline constexpr std::size_t kTraits = static_cast<std::size_t>(Trait::count);
/// The key of its weight.
[[nodiscard]] std::string_view to_string(Trait t);

struct DistanceParameters {
  std::array<double, kTraits> weights{};
  double failure = 0;  ///< rate, per unit of distance
  double typical = 1;  ///< distance
  double memory = 0;   ///< log-sd at distance 1
  double alone = 0;    ///< distance where no run is of the model's kind
};

/// Of one plan.
struct Distance {
  double value = 0;
  int nearest = -1;                   ///< among the known runs; -1: none is of its kind
  std::vector<std::string> untested;  ///< in words: what no known run of its kind has
  std::vector<std::string> differs;   ///< from the nearest run, in words: tried elsewhere
};

/// The known runs, ready to be asked. Order of equal runs: as given.
class KnownRuns {
 public:
  KnownRuns() = default;
  /// `runs` that are equal in everything but the id count once.
  KnownRuns(std::vector<KnownRun> runs, DistanceParameters parameters);

  [[nodiscard]] const std::vector<KnownRun>& runs() const { return runs_; }
  [[nodiscard]] const DistanceParameters& parameters() const { return parameters_; }

  /// Of a strategy of the job, on the job's cluster. Cost: O(runs), a microsecond; with words tens of them.
  [[nodiscard]] double value(const models::Job& job, const models::Strategy& s) const;
  /// The same as if all of them had run on the job's instance type. Where its kind has none: as value().
  [[nodiscard]] double value_on_one_machine(const models::Job& job, const models::Strategy& s) const;
  [[nodiscard]] Distance distance(const models::Job& job, const models::Strategy& s) const;

  /// What follows from a distance, as above.
  [[nodiscard]] double runs_at_all(double distance) const;
  [[nodiscard]] double time_log_sd(double distance, double configuration_spread) const;
  [[nodiscard]] double memory_log_sd(double distance) const;

  /// "Llama2-7B on 16 nodes, TP 8 x DP 64 (T101)".
  [[nodiscard]] std::string words(int run) const;

  /// The distance from each run to the nearest of another model, layout, recomputation, sequence or number of nodes,
  /// of runs that were seen.
  [[nodiscard]] std::vector<double> neighbours() const;

 private:
  using Point = std::array<double, kTraits>;
  /// Runs tell of plans of their own kind alone: causal models or others, on one kind of device.
  struct Kind {
    bool causal = true;
    topology::Accelerator accelerator = topology::Accelerator::neuron_core;
    auto operator<=>(const Kind&) const = default;
  };
  /// Which values of each trait were tried.
  using Tried = std::array<std::vector<double>, kTraits>;  ///< ascending, each once
  static Kind kind_of(const KnownRun& run) { return {run.architecture.causal, run.accelerator}; }
  static Kind kind_of(const models::Job& job) {
    return {job.architecture.causal, job.cluster.instance.traits.accelerator};
  }
  [[nodiscard]] const Tried& tried_of(Kind kind) const;
  [[nodiscard]] Point point_of(const models::Architecture& a, const std::string& instance, int nodes,
                               int sequence, const models::Strategy& s) const;
  [[nodiscard]] bool tried(const Tried& of_kind, std::size_t trait, double value) const;
  [[nodiscard]] Point weights_for(const Tried& of_kind, const Point& plan) const;
  struct Nearest {
    int run = -1;
    double value = 0;
  };
  [[nodiscard]] Nearest nearest(const Point& plan, Kind kind, const Point& weights, int but = -1) const;

  std::vector<KnownRun> runs_;
  std::vector<Point> points_;
  std::map<std::string, int, std::less<>> instances_, frameworks_;
  std::map<Kind, Tried> tried_;
  DistanceParameters parameters_;
};

}  // namespace trnplan::planner
