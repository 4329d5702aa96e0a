// Steps of a training loop among the ranges that a program marks with NVTX.
//
// No name is agreed on, so a step is a range whose name has "step" or "iter" in it: with numbers aside, ranges of
// one name on one thread are one kind. Of the kinds that last over half of the time that all of them cover, the
// one with the fewest ranges is the step (forward_step and the like repeat within it), then the longest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "logs/training/samples.h"

namespace trnplan::logs {

/// Kind of the range: its name, each number replaced by '#', and the number if it is the only one.
struct StepRangeName {
  std::string kind;
  std::optional<std::int64_t> number;
};
/// nullopt if the name does not say a step.
[[nodiscard]] std::optional<StepRangeName> step_range_name(std::string_view name);

class NvtxSteps {
 public:
  /// Times in ns, from any moment on. At most a million ranges, of 256 kinds, are kept.
  void add(const StepRangeName& name, std::int64_t thread, std::int64_t start, std::int64_t end);

  /// Chooses the steps. No range may follow.
  void choose();
  /// Moments from the start of the first whole step after warm-up to that of the last, and the steps between;
  /// nullopt if fewer than two steps start.
  struct Window {
    std::int64_t start = 0, end = 0;
    int steps = 0;
  };
  [[nodiscard]] std::optional<Window> window() const;
  /// Writes the sample of the steps: from the start of one to that of the next, since a host may run ahead of
  /// its GPU within a step.
  void finish(const std::string& file, Samples& out) const;

 private:
  struct Range {
    std::int64_t start, end;
    std::optional<std::int64_t> number;
  };
  /// True if the steps have numbers that ascend.
  [[nodiscard]] bool numbered() const;

  std::map<std::pair<std::string, std::int64_t>, std::vector<Range>> kinds_;
  std::size_t ranges_ = 0;
  std::string chosen_;
  std::vector<Range> steps_;
};

}  // namespace trnplan::logs
