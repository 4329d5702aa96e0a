// Time of a GPU by kind of kernel.
#pragma once

#include <array>
#include <cstdint>

#include "logs/profile/kernel_names.h"
#include "logs/training/samples.h"

namespace trnplan::logs {

/// Sums up kernels in the order of their starts, in constant memory. Times in ns.
class GpuTimeline {
 public:
  void add(std::int64_t start, std::int64_t end, KernelWork work);
  /// Writes the times: of a step if `steps` are in `nanoseconds`, else (0) of all that was added. False, and
  /// nothing written, if there is no time.
  [[nodiscard]] bool write(double nanoseconds, int steps, DeviceSample& sample) const;

 private:
  /// Length of a union.
  struct Union {
    std::int64_t end = 0;
    double length = 0;
    void add(std::int64_t start, std::int64_t to);
  };
  Union all_, collectives_;
  std::int64_t first_ = -1;
  std::array<double, std::size(kKernelWorks)> busy_{};  ///< by KernelWork
};

}  // namespace trnplan::logs
