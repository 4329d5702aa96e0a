// The most memory that a framework says it reserved on a device.
#pragma once

#include <string>

#include "logs/training/samples.h"
#include "units/quantity.h"

namespace trnplan::logs {

class ReservedMemory {
 public:
  /// A line's statement; those that no device can hold do not count.
  void add(double bytes, int line) {
    if (!(bytes >= 0 && bytes < kMost)) return;
    if (lines_++ > 0 && bytes <= peak_) return;
    peak_ = bytes;
    line_ = line;
  }
  /// Adds one sample, if a line was counted.
  void finish(const std::string& file, const char* framework, Samples& out) const {
    if (lines_ == 0) return;
    MemorySample m{{file, line_, 1}, peak_, std::nullopt, {}, {}, lines_};
    m.reserved = true;
    m.where = std::string(framework) + ", the most that PyTorch reserved on a device";
    out.memory.push_back(std::move(m));
  }

 private:
  static constexpr double kMost = 1e5 * kGiB;
  double peak_ = 0;
  int line_ = 0, lines_ = 0;
};

/// Part of the predicted peak that an allocator may reserve beyond it without being called more: the memory model's
/// usual error on GPUs (docs/accuracy.md).
inline constexpr double kReservedMore = 0.1;

}  // namespace trnplan::logs
