// Sizes of the graphs that a strategy compiles, and the probability that they compile.
//
// A compiler unrolls a graph into instructions and refuses a graph with too many (models/device/device.h).
// Where forward and backward are one graph, it holds a micro-batch through all layers of the stage. Otherwise
// the largest graph is the forward or the backward of one chunk of layers or, where weights are gathered
// layer by layer, that of one layer or of the root (PyTorch runs eagerly or compiles a layer at a time).
// Operators count their instructions on the device; the ratio of the compiler's number to that count is a
// parameter of the profile, log-normal.
// Not modelled: the optimizer's graph, which is smaller; collectives, which are few instructions; scheduling
// that the compiler gives up for other reasons.
// Source: aws-neuron/neuronx-distributed@fbac349b:src/neuronx_distributed/pipeline/model.py (mark_step after
// every task); docs/models.md, "Compile limits".
#pragma once

#include "models/job/job.h"
#include "models/parameters/profile.h"

namespace trnplan::models {

/// The graph with the most instructions.
struct GraphSize {
  double counted = 0;              ///< instructions of its operators, counted by the device
  double expected = 0;             ///< instructions in the compiled graph: the median
  double log_sd = 0;               ///< of the logarithm of `expected`
  double limit = 0;                ///< the most that compiles; 0: no limit
  int stage = 0;                   ///< the stage of its layers
  int layers = 0;                  ///< number of layers in it
  bool whole_micro_batch = false;  ///< it contains forward and backward
  bool backward = true;            ///< else it is a forward

  /// True if the device limits graphs; otherwise compiling needs no mention.
  [[nodiscard]] bool is_limited() const { return limit > 0; }
  /// Probability that the graph is not too large. The caller adds extra_log_sd for the distance from graphs
  /// known to compile. Requires: extra_log_sd >= 0.
  [[nodiscard]] double compile_probability(double extra_log_sd = 0) const;
};

/// The largest graph of a strategy. Throws: std::invalid_argument when the core's device is unknown.
/// Requires: a strategy that passes the divisibility rules. Cost: O(PP VPP) and some hundred operators,
/// microseconds.
[[nodiscard]] GraphSize largest_graph(const Job& job, const Strategy& s, const Profile& profile);

}  // namespace trnplan::models
