#include "logs/profile/gpu_timeline.h"

#include <algorithm>

#include "logs/nccom/bounds.h"

namespace trnplan::logs {

void GpuTimeline::Union::add(std::int64_t start, std::int64_t to) {
  if (to <= end) return;
  length += static_cast<double>(to - std::max(start, end));
  end = to;
}

void GpuTimeline::add(std::int64_t start, std::int64_t end, KernelWork work) {
  if (first_ < 0) first_ = start;
  all_.add(start, end);
  if (work == KernelWork::collective) collectives_.add(start, end);
  busy_[static_cast<std::size_t>(work)] += static_cast<double>(end - start);
}

bool GpuTimeline::write(double nanoseconds, int steps, DeviceSample& sample) const {
  if (steps == 0) nanoseconds = static_cast<double>(all_.end - first_);
  if (first_ < 0 || !(nanoseconds > 0)) return false;
  const double scale = kNano / std::max(steps, 1);
  sample.seconds = nanoseconds * scale;
  sample.active_seconds = all_.length * scale;
  const double collectives = busy_[static_cast<std::size_t>(KernelWork::collective)];
  if (collectives > 0) {
    sample.collective_seconds = collectives * scale;
    sample.collective_active_seconds = collectives_.length * scale;
  }
  for (const KernelWork work : kKernelWorks) {
    const double busy = busy_[static_cast<std::size_t>(work)];
    if (busy > 0) sample.engine_seconds[std::string(to_string(work))] = busy * scale;
  }
  return true;
}

}  // namespace trnplan::logs
