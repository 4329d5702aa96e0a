#include "models/device/device.h"

#include <cmath>

namespace trnplan::models {

Flops attention_flops(const AttentionShape& s) {
  return Flops(s.units * 2 * s.heads * s.batch * s.sequence * s.sequence * s.head_dim * std::ceil(s.blocks));
}

}  // namespace trnplan::models
