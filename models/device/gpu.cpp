#include "models/device/gpu.h"

#include <algorithm>
#include <cmath>

#include "models/device/gpu_parameters.h"

namespace trnplan::models {

namespace {

FlopsPerSecond peak_of(const DeviceContext& on) {
  return on.fp32 ? on.core.fp32 : on.core.bf16;
}

/// Cost of casting an operand, for each of the two products that use it. Two kernels read it for its largest
/// magnitude (2), read the element (2), and write it as it is and transposed (1 + 1).
/// NVIDIA/TransformerEngine transformer_engine/pytorch/module/linear.py (current scaling); pytorch/ao
/// torchao/float8/README.md.
constexpr double kCastBytes = 3, kCastKernels = 1;

/// The longer of the times of operations and of bytes. `executed` operations take time; `counted` of them
/// count as FLOPs.
Work longer(const DeviceContext& on, FlopsPerSecond peak, Flops executed, Bytes moved, Flops counted) {
  const Seconds engine = executed / (peak * on.profile[gpu::gemm_share]) * on.profile[gpu::kernel_pace];
  const Seconds memory = moved / (on.core.hbm * on.profile[gpu::bandwidth_share]);
  return {.seconds = std::max(engine, memory),
          .parameter = engine >= memory ? gpu::gemm_share : gpu::bandwidth_share,
          .also = engine >= memory ? gpu::kernel_pace : Parameter(),
          .flops = counted};
}

/// Number of elements that tensor cores take at a time along the inner dimension of a product.
constexpr double kAligned = 8;

/// Time of a product over that of its operations in a large product.
double stretch(const DeviceContext& on, double n, double k, double width) {
  const double ramp = 1 + on.profile[gpu::gemm_ramp] * (1 / n + 1 / k + 1 / width);
  return std::fmod(k, kAligned) == 0 ? ramp : ramp / on.profile[gpu::unaligned_share];
}

/// Rate of flash attention with heads of `dim`, over that with the longest heads (gpu.h).
double head_share(double dim) {
  constexpr double kLong = 128, kPower = 0.2;
  return std::pow(std::min(dim, kLong) / kLong, kPower);
}

/// Time of flash attention on all multiprocessors over that of the same work spread evenly. A thread block
/// takes kTile queries of one head, a causal one at the end of a sequence `1 / square` times the mean.
/// Multiprocessors fall idle over the last half of such a block; no kernel is shorter than one.
double unfilled(const topology::Core& core, const AttentionShape& s, double square) {
  constexpr double kTile = 128;
  if (core.multiprocessors == 0) return 1;
  const double blocks = s.heads * s.batch * std::ceil(s.sequence / kTile);
  const double each = blocks * square / core.multiprocessors;  // longest blocks of a multiprocessor
  return std::max(each + 0.5, 1.0) / each;
}

Work fp8_matmul(const DeviceContext& on, const MatmulShape& shape) {
  const auto& [n, k, width, fp8, cast, tf32] = shape;
  const Flops flops(2 * n * k * width);
  const double operands = n * k + k * width;
  const BytesPerSecond bandwidth = on.core.hbm * on.profile[gpu::bandwidth_share];
  const Seconds engine = flops * stretch(on, n, k, width) /
                         (on.core.fp8 * on.profile[gpu::gemm_share] * on.profile[gpu::fp8_share]) *
                         on.profile[gpu::kernel_pace];
  const Seconds memory = Bytes(operands + on.element_bytes() * n * width) / bandwidth;
  const Seconds casts = Bytes(kCastBytes * (cast ? n * k : operands)) / bandwidth;
  return {.seconds = std::max(engine, memory) + casts +
                     Seconds((1 + (cast ? 1 : 2) * kCastKernels) * on.profile[gpu::kernel_start]),
          .parameter = engine >= memory ? gpu::gemm_share : gpu::bandwidth_share,
          .also = engine >= memory ? gpu::kernel_pace : Parameter(),
          .flops = flops};
}

}  // namespace

bool Gpu::has_fp8(const topology::Core& core) const {
  return core.fp8.value > 0;
}

Work Gpu::matmul(const DeviceContext& on, const MatmulShape& shape) const {
  if (shape.fp8) return fp8_matmul(on, shape);
  const auto& [n, k, width, fp8, cast, tf32] = shape;
  const Flops flops(2 * n * k * width);
  const FlopsPerSecond peak = tf32 && on.core.tf32.value > 0 ? on.core.tf32 : peak_of(on);
  Work work = longer(on, peak, flops * stretch(on, n, k, width),
                     Bytes(on.element_bytes() * (n * k + k * width + n * width)), flops);
  work.seconds += Seconds(on.profile[gpu::kernel_start]);
  return work;
}

Work Gpu::elements(const DeviceContext& on, const ElementKind& kind, double rows, double width) const {
  Work work =
      memory(on, Bytes(on.profile[gpu::eager_traffic] * kind.streams * on.element_bytes() * rows * width));
  work.also = gpu::eager_traffic;
  work.seconds += Seconds(on.profile[gpu::kernel_start]);
  return work;
}

Work Gpu::memory(const DeviceContext& on, Bytes bytes) const {
  return {.seconds = bytes / (on.core.hbm * on.profile[gpu::bandwidth_share]),
          .parameter = gpu::bandwidth_share};
}

Work Gpu::flash_attention(const DeviceContext& on, const AttentionShape& s) const {
  const Flops counted = attention_flops(s);
  const double square = s.blocks / std::max(1.0, std::ceil(s.blocks));
  const Flops executed = counted * square;
  const double stretched = (1 + on.profile[gpu::attention_ramp] / s.sequence) * unfilled(on.core, s, square) /
                           head_share(std::max(1.0, s.head_dim));
  const Seconds engine = executed * stretched / (peak_of(on) * on.profile[gpu::attention_share]);
  return {.seconds = engine * on.profile[gpu::kernel_pace] + Seconds(on.profile[gpu::kernel_start]),
          .parameter = gpu::attention_share,
          .also = gpu::kernel_pace,
          .flops = counted};
}

Work Gpu::plain_attention(const DeviceContext& on, const AttentionShape& s, Bytes traffic) const {
  const Flops counted = attention_flops(s);
  const Flops executed = counted * (s.blocks / std::max(1.0, std::ceil(s.blocks)));
  const Seconds products = executed * stretch(on, s.sequence, std::max(1.0, s.head_dim), s.sequence) /
                           (peak_of(on) * on.profile[gpu::gemm_share]) * on.profile[gpu::kernel_pace];
  const Seconds scores =
      traffic * on.profile[gpu::score_traffic] / (on.core.hbm * on.profile[gpu::bandwidth_share]);
  // One kernel for each product and one between them.
  const Seconds starts(on.profile[gpu::kernel_start] * (s.units + 1));
  return {.seconds = products + scores + starts,
          .parameter = products >= scores ? gpu::gemm_share : gpu::bandwidth_share,
          .also = products >= scores ? gpu::kernel_pace : Parameter(),
          .flops = counted};
}

Work Gpu::layer_start(const DeviceContext& on) const {
  return {.seconds = Seconds(on.profile[gpu::layer_launch]), .parameter = gpu::layer_launch};
}

std::optional<Work> Gpu::host_launches(const DeviceContext& on, double layers, double experts) const {
  const double whole = on.profile[gpu::host_layer] * layers, single = on.profile[gpu::host_expert] * experts;
  return Work{.seconds = Seconds(whole + single),
              .parameter = single > whole ? gpu::host_expert : gpu::host_layer};
}

Work Gpu::host_pieces(const DeviceContext& on, double pieces) const {
  return {.seconds = Seconds(on.profile[gpu::host_piece] * pieces), .parameter = gpu::host_piece};
}

Parameter Gpu::spread_of_dispatch() const {
  return gpu::dispatch_spread;
}

Parameter Gpu::spread_of_passes() const {
  return gpu::pass_spread;
}

Rate Gpu::message_memory(const topology::Core& core, const Profile& profile) const {
  return {core.hbm * profile[gpu::bandwidth_share], gpu::bandwidth_share};
}

Seconds Gpu::least_elements(const topology::Core&, double, double) const {
  return Seconds(0);
}

}  // namespace trnplan::models
