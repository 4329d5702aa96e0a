// Distance of a plan from recorded runs.
//
// A plan and a run are points; their distance is the weighted sum of the differences of their coordinates:
// sizes and degrees as logarithms to base 2, so that a doubling counts 1, and settings as 0 or 1. A
// difference counts half if another run of the same kind of model and device has the plan's value: it was
// tried, though not in this combination. The nearest run decides. From the distance D follow (parameters:
// catalog/recommending.json; docs/models.md)
//   P(it runs at all)          exp(-failure D), of a plan that no rule, memory or compiler limit forbids
//   log-sd of its step's time  configuration_spread sqrt(max(0, D / typical - 1)), on top of the
//                              spread without it: configuration_spread is the miss of fits on published
//                              configurations that they have not seen, and those are nearer
//                              than `typical` to their nearest neighbour
//   log-sd of its memory and of its graphs' instructions, added to the spread without it    memory sqrt(D)
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

/// A configuration that ran, or was published to be run.
struct RecordedRun {
  std::string id;     ///< row of a table, or file of a user's log
  std::string model;  ///< as its publisher calls it
  models::Architecture architecture;
  std::string instance;
  topology::Accelerator accelerator = topology::Accelerator::neuron_core;
  int nodes = 1, sequence = 0;
  models::Strategy strategy;
  bool seen = true;  ///< false: shipped as a config, without a report that it ran
  /// Family of the machines if its step was compared with the prediction; else "".
  std::string timed_on = {};
};

/// Properties that runs and plans may differ in.
enum class Trait : std::size_t {
  hidden,
  layers,
  experts,
  tensor_parallel,
  pipeline,  ///< 1 if there is a pipeline at all
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
  cuts,  ///< set by hand
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
/// Key of the trait's weight in catalog/recommending.json.
[[nodiscard]] std::string_view to_string(Trait t);

struct DistanceParameters {
  std::array<double, kTraits> weights{};
  double failure = 0;  ///< rate, per unit of distance
  double typical = 1;  ///< distance
  double memory = 0;   ///< log-sd at distance 1
  double alone = 0;    ///< distance where no run is of the model's kind
};

/// The distance of one plan and its explanation.
struct Distance {
  double value = 0;
  int nearest = -1;                   ///< index of the nearest recorded run; -1: none is of its kind
  std::vector<std::string> untested;  ///< values, in words, that no recorded run of its kind has
  /// Differences from the nearest run, in words, that were tried elsewhere.
  std::vector<std::string> differs;
};

/// Recorded runs, ready for queries. Equal runs keep their order.
class RecordedRuns {
 public:
  RecordedRuns() = default;
  /// Counts `runs` once that are equal in everything but the id.
  RecordedRuns(std::vector<RecordedRun> runs, DistanceParameters parameters);

  [[nodiscard]] const std::vector<RecordedRun>& runs() const { return runs_; }
  [[nodiscard]] const DistanceParameters& parameters() const { return parameters_; }

  /// Distance of a strategy of the job, on the job's cluster. Cost: O(runs), a microsecond; with words tens
  /// of them.
  [[nodiscard]] double value(const models::Job& job, const models::Strategy& s) const;
  /// The same as if all runs had been on the job's instance type; equals value() if there is no run of its
  /// kind.
  [[nodiscard]] double value_on_one_machine(const models::Job& job, const models::Strategy& s) const;
  [[nodiscard]] Distance distance(const models::Job& job, const models::Strategy& s) const;

  /// Runs of the strategy's training loop, on machines of the family of the job's, whose steps were compared.
  [[nodiscard]] int compared(const models::Job& job, const models::Strategy& s) const;

  /// Probability and spreads that follow from a distance, as above.
  [[nodiscard]] double runs_at_all(double distance) const;
  [[nodiscard]] double time_log_sd(double distance, double configuration_spread) const;
  [[nodiscard]] double memory_log_sd(double distance) const;

  /// "Llama2-7B on 16 nodes, TP 8 x DP 64 (T101)".
  [[nodiscard]] std::string words(int run) const;

  /// Distance of each run that was seen to the nearest run that was seen with another model, layout,
  /// recomputation, sequence or number of nodes.
  [[nodiscard]] std::vector<double> neighbours() const;

 private:
  using Point = std::array<double, kTraits>;
  /// Kind of runs and plans that are compared: causal models or others, on one kind of device.
  struct Kind {
    bool causal = true;
    topology::Accelerator accelerator = topology::Accelerator::neuron_core;
    auto operator<=>(const Kind&) const = default;
  };
  /// Values of each trait that were tried.
  using Tried = std::array<std::vector<double>, kTraits>;  ///< ascending, each once
  static Kind kind_of(const RecordedRun& run) { return {run.architecture.causal, run.accelerator}; }
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

  std::vector<RecordedRun> runs_;
  std::vector<Point> points_;
  std::map<std::string, int, std::less<>> instances_, frameworks_;
  std::map<Kind, Tried> tried_;
  DistanceParameters parameters_;
};

}  // namespace trnplan::planner
