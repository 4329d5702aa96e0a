// How large are the graphs that a strategy compiles, and do they compile?
//
// A compiler unrolls a graph into instructions and refuses one of too many (models/device/device.h). Where
// forward and backward are one graph it holds a micro-batch through all layers of the stage; else the largest
// is the forward or the backward of one chunk of layers, and where weights are gathered layer by layer that of one
// layer or of the root (PyTorch runs eagerly or compiles a layer at a time). Operators count their instructions on the device;
// what the compiler makes of them over that is a parameter of the profile, log-normal.
// Not modelled: the optimizer's graph, which is smaller; collectives, which are few instructions; scheduling
// that the compiler gives up for other reasons.
// Source: aws-neuron/neuronx-distributed@fbac349b:src/neuronx_distributed/pipeline/model.py (mark_step after
// every task); docs/models.md, "Compile limits".
#pragma once

#include "models/job/job.h"
#include "models/parameters/profile.h"

namespace trnplan::models {

/// The graph of most instructions.
struct GraphSize {
  double counted = 0;              ///< by the device, of its operators
  double expected = 0;             ///< what the compiler makes of them: the median
  double log_sd = 0;               ///< of the logarithm of that
  double limit = 0;                ///< the most that compiles; 0: any number
  int stage = 0;                   ///< of whose layers it is
  int layers = 0;                  ///< in it
  bool whole_micro_batch = false;  ///< forward and backward are in it
  bool backward = true;            ///< else: of the forward

  /// A graph may be too large to compile; else nothing needs to be told of compiling.
  [[nodiscard]] bool is_limited() const { return limit > 0; }
  /// P(it is not too large). Requires: extra_log_sd >= 0, which the caller adds for its distance from what is
  /// known to compile.
  [[nodiscard]] double compile_probability(double extra_log_sd = 0) const;
};

/// Throws: std::invalid_argument when the core's device is unknown. Requires: a strategy that passes the
/// divisibility rules. Cost: O(PP VPP) and some hundred operators, microseconds.
[[nodiscard]] GraphSize largest_graph(const Job& job, const Strategy& s, const Profile& profile);

}  // namespace trnplan::models
