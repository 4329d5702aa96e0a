#include "models/device/gpu.h"

#include <algorithm>
#include <cmath>

#include "models/device/gpu_parameters.h"

namespace trnplan::models {

namespace {

FlopsPerSecond peak_of(const DeviceContext& on) {
  return on.fp32 ? on.core.fp32 : on.core.bf16;
}

Work longer(const DeviceContext& on, Flops executed, Bytes moved, Flops counted) {
  const Seconds engine = executed / (peak_of(on) * on.profile[gpu::gemm_share]);
  const Seconds memory = moved / (on.core.hbm * on.profile[gpu::bandwidth_share]);
  return {.seconds = std::max(engine, memory),
          .parameter = engine >= memory ? gpu::gemm_share : gpu::bandwidth_share,
          .flops = counted};
}

}  // namespace

Work Gpu::matmul(const DeviceContext& on, const MatmulShape& shape) const {
  const auto& [n, k, width] = shape;
  const Flops flops(2 * n * k * width);
  return longer(on, flops, Bytes(on.element_bytes() * (n * k + k * width + n * width)), flops);
}

Work Gpu::elements(const DeviceContext& on, const ElementKind& kind, double rows, double width) const {
  return memory(on, Bytes(kind.streams * on.element_bytes() * rows * width));
}

Work Gpu::memory(const DeviceContext& on, Bytes bytes) const {
  return {.seconds = bytes / (on.core.hbm * on.profile[gpu::bandwidth_share]),
          .parameter = gpu::bandwidth_share};
}

Work Gpu::flash_attention(const DeviceContext& on, const AttentionShape& s) const {
  const Flops counted = attention_flops(s);
  const Flops executed = counted * (s.blocks / std::max(1.0, std::ceil(s.blocks)));
  return {.seconds = executed / (peak_of(on) * on.profile[gpu::attention_share]),
          .parameter = gpu::attention_share,
          .flops = counted};
}

Work Gpu::plain_attention(const DeviceContext& on, const AttentionShape& s, Bytes traffic) const {
  const Flops counted = attention_flops(s);
  return longer(on, counted * (s.blocks / std::max(1.0, std::ceil(s.blocks))), traffic, counted);
}

Work Gpu::layer_start(const DeviceContext& on) const {
  return {.seconds = Seconds(on.profile[gpu::layer_launch]), .parameter = gpu::layer_launch};
}

Rate Gpu::message_memory(const topology::Core& core, const Profile& profile) const {
  return {core.hbm * profile[gpu::bandwidth_share], gpu::bandwidth_share};
}

Seconds Gpu::least_elements(const topology::Core&, double, double) const {
  return Seconds(0);
}

}  // namespace trnplan::models
