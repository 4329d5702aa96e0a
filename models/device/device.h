// What turns the work of an operator into seconds, and says which parameters they scale with.
//
// Operators say what a layer does (models/operators/operators.h); a device says how long that takes on one core.
// Adding a device: a class here beside neuron_core.h and gpu.h, its parameters, a line in devices.cpp.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/parameters/profile.h"
#include "topology/instance.h"
#include "units/quantity.h"

namespace trnplan::models {

/// Work on one core.
struct Work {
  Seconds seconds{};
  Parameter parameter;      ///< the length is proportional (or inverse) to this
  Parameter also;           ///< and to this, unless none
  Flops flops{};            ///< of matrix products (2 per multiply-add)
  double instructions = 0;  ///< of a graph it is in, counted; 0 on a device that takes graphs of any size
};

/// What a compiler refuses to make of one graph.
struct GraphLimit {
  double instructions = 0;  ///< at most
  Parameter over_counted;   ///< what the compiler makes of a graph over the sum of Work::instructions
};

/// (n x k) times (k x width).
struct MatmulShape {
  double n = 0, k = 0, width = 0;
  bool fp8 = false;   ///< of elements of 8 bits, cast from wider ones; on a device that has_fp8()
  bool cast = false;  ///< the second operand, weights, has been cast before
};

/// Attention of `heads` heads over all micro-batches: `blocks` squares of `sequence` x `sequence` scores.
struct AttentionShape {
  double heads = 0;     ///< of the core
  double batch = 1;     ///< sequences
  double sequence = 0;  ///< tokens
  double head_dim = 0;
  double units = 0;   ///< products over each square
  double blocks = 1;  ///< 0.5: causal, and the kernel skips the other half
};
/// Of whole squares, whatever a kernel skips.
[[nodiscard]] Flops attention_flops(const AttentionShape& shape);

/// Work on elements one by one.
struct ElementKind {
  double passes = 1;   ///< of a vector engine over each element
  double streams = 2;  ///< tensors of that many elements read and written where it is one kernel
};

/// A norm squares, sums, scales and casts, then the residual is added: input and residual read, their sum and
/// the norm written. Its backward does twice that.
inline constexpr ElementKind kNorm{5, 4}, kNormBackward{10, 8};

/// What a pass that is busy with work and collectives takes longer because the host launches it in `host`
/// seconds: (busy^6 + host^6)^(1/6) - busy, a corner that is smooth since the host runs ahead now and then.
[[nodiscard]] Seconds beyond_busy(Seconds busy, Seconds host);

/// Products of flash attention, each over all pairs of tokens (models/operators/operators.h).
inline constexpr double kFlashUnitsForward = 2, kFlashUnitsBackward = 5;

/// A bandwidth and the parameter that scales it.
struct Rate {
  BytesPerSecond rate{};
  Parameter by;
};

/// The core that works, its profile, and the elements it works on. Refers to what it is made of.
struct DeviceContext {
  const topology::Core& core;
  const Profile& profile;
  bool fp32 = false;  ///< elements of 4 bytes, and the slower products; else of 2

  double element_bytes() const { return fp32 ? 4 : 2; }
};

/// Has no state; one of each kind (models/device/devices.h).
/// Requires: the context's profile fills a schema with the device's parameters.
/// Cost: of each function O(1). No launch is in any of them but layer_start().
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The keys of "core" in an instance file that it needs beyond bf16, memory and hbm_bandwidth.
  [[nodiscard]] virtual std::vector<std::string_view> needs() const = 0;

  [[nodiscard]] virtual Work matmul(const DeviceContext& on, const MatmulShape& shape) const = 0;
  /// On rows x width elements.
  [[nodiscard]] virtual Work elements(const DeviceContext& on, const ElementKind& kind, double rows,
                                      double width) const = 0;
  /// `bytes` read from and written to memory, in all.
  [[nodiscard]] virtual Work memory(const DeviceContext& on, Bytes bytes) const = 0;
  [[nodiscard]] virtual Work flash_attention(const DeviceContext& on, const AttentionShape& shape) const = 0;
  /// With its scores in memory, which moves `traffic` as counted.
  [[nodiscard]] virtual Work plain_attention(const DeviceContext& on, const AttentionShape& shape,
                                             Bytes traffic) const = 0;
  /// It times products of 8-bit elements on such cores.
  [[nodiscard]] virtual bool has_fp8(const topology::Core& /*core*/) const { return false; }
  /// What a layer costs in each pass beyond its operators.
  [[nodiscard]] virtual Work layer_start(const DeviceContext& on) const = 0;
  /// What the host takes to launch a layer's pass, or `times` as much: hidden while the device is busy longer
  /// (beyond_busy). Nothing where no host launches single kernels.
  [[nodiscard]] virtual std::optional<Work> host_launches(const DeviceContext& /*on*/,
                                                          double /*times*/) const {
    return std::nullopt;
  }
  /// At which a core's collectives can read and write its memory.
  [[nodiscard]] virtual Rate message_memory(const topology::Core& core, const Profile& profile) const = 0;
  /// The least time of rows x width elements, one pass each, however they are fused.
  [[nodiscard]] virtual Seconds least_elements(const topology::Core& core, double passes,
                                               double elements) const = 0;
  /// Nothing where a graph may be of any size, or there is none.
  [[nodiscard]] virtual std::optional<GraphLimit> graph_limit() const { return std::nullopt; }
};

}  // namespace trnplan::models
