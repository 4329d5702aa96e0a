#include "models/device/device.h"

#include <algorithm>
#include <cmath>

namespace trnplan::models {

Flops attention_flops(const AttentionShape& s) {
  return Flops(s.units * 2 * s.heads * s.batch * s.sequence * s.sequence * s.head_dim * std::ceil(s.blocks));
}

double Device::waits_for_slowest(const DeviceContext& on, int ranks, double passes) const {
  const Parameter spread = spread_of_passes();
  return spread ? on.profile[spread] * slowest_of(ranks) / std::sqrt(passes) : 0;
}

Seconds beyond_busy(Seconds busy, Seconds host) {
  constexpr double kCorner = 6;
  const double longer = std::max(busy.value, host.value), shorter = std::min(busy.value, host.value);
  if (longer <= 0) return {};
  // Where the host is far ahead, the corner rounds to zero.
  const double both = longer * std::pow(1 + std::pow(shorter / longer, kCorner), 1 / kCorner);
  return Seconds(both - busy.value);
}

}  // namespace trnplan::models
