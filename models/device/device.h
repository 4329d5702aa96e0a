// Devices, which turn the work of an operator into seconds and name the parameters that these scale with.
//
// Operators describe the work of a layer (models/operators/operators.h); a device gives its time on one core.
// To add a device, write a class like those of neuron_core.h and gpu.h, its parameters, and a line in
// devices.cpp.
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
  Parameter parameter;      ///< the length is proportional to this, or to its inverse
  Parameter also;           ///< and to this, unless none
  Flops flops{};            ///< of matrix products (2 per multiply-add)
  double instructions = 0;  ///< of its graph, as counted; 0 on a device without a limit of graphs
};

/// The size at which a compiler refuses a graph.
struct GraphLimit {
  double instructions = 0;  ///< the most
  Parameter over_counted;   ///< instructions in the compiled graph over the sum of Work::instructions
};

/// A product (n x k) times (k x width).
struct MatmulShape {
  double n = 0, k = 0, width = 0;
  bool fp8 = false;   ///< elements of 8 bits, cast from wider ones; needs a device that has_fp8()
  bool cast = false;  ///< the second operand, weights, is already cast
  bool tf32 = false;  ///< fp32 elements are multiplied as TF32, where the device has it
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
/// FLOPs of whole squares, whether or not a kernel skips some.
[[nodiscard]] Flops attention_flops(const AttentionShape& shape);

/// Element-wise work.
struct ElementKind {
  double passes = 1;   ///< passes of a vector engine over each element
  double streams = 2;  ///< tensors of that size that one kernel would read and write
};

/// A norm squares, sums, scales and casts, then adds the residual: it reads input and residual, and writes
/// their sum and the norm. Its backward does twice that.
inline constexpr ElementKind kNorm{5, 4}, kNormBackward{10, 8};

/// Time that the host adds to a pass. The pass is busy with work and collectives for `busy` seconds, and the
/// host launches it in `host` seconds: (busy^6 + host^6)^(1/6) - busy. The corner is smooth because the host
/// runs ahead now and then.
[[nodiscard]] Seconds beyond_busy(Seconds busy, Seconds host);

/// Products of flash attention, each over all pairs of tokens (models/operators/operators.h).
inline constexpr double kFlashUnitsForward = 2, kFlashUnitsBackward = 5;

/// A bandwidth and the parameter that scales it.
struct Rate {
  BytesPerSecond rate{};
  Parameter by;
};

/// The core that works, its profile, and the type of its elements. Keeps references to its arguments.
struct DeviceContext {
  const topology::Core& core;
  const Profile& profile;
  bool fp32 = false;  ///< elements of 4 bytes and the slower products; else of 2

  double element_bytes() const { return fp32 ? 4 : 2; }
};

/// A device. Has no state; there is one object of each kind (models/device/devices.h).
/// Requires: the context's profile fills a schema with the device's parameters.
/// Cost: O(1) for each function. No function includes a launch, except layer_start().
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The keys of "core" in an instance file that it needs besides bf16, memory and hbm_bandwidth.
  [[nodiscard]] virtual std::vector<std::string_view> needs() const = 0;
  /// Further keys of "core" that its times depend on where a file states them.
  [[nodiscard]] virtual std::vector<std::string_view> uses() const = 0;

  [[nodiscard]] virtual Work matmul(const DeviceContext& on, const MatmulShape& shape) const = 0;
  /// Work on rows x width elements.
  [[nodiscard]] virtual Work elements(const DeviceContext& on, const ElementKind& kind, double rows,
                                      double width) const = 0;
  /// Work of reading and writing `bytes` of memory in total.
  [[nodiscard]] virtual Work memory(const DeviceContext& on, Bytes bytes) const = 0;
  [[nodiscard]] virtual Work flash_attention(const DeviceContext& on, const AttentionShape& shape) const = 0;
  /// Attention with its scores in memory; they move `traffic` bytes.
  [[nodiscard]] virtual Work plain_attention(const DeviceContext& on, const AttentionShape& shape,
                                             Bytes traffic) const = 0;
  /// True if it times products of 8-bit elements on such cores.
  [[nodiscard]] virtual bool has_fp8(const topology::Core& /*core*/) const { return false; }
  /// Cost of a layer in each pass besides its operators.
  [[nodiscard]] virtual Work layer_start(const DeviceContext& on) const = 0;
  /// Time that the host takes to launch `layers` passes over a layer and the products of `experts` experts. It
  /// is hidden while the device is busy for longer (beyond_busy). nullopt where the host does not launch
  /// single kernels.
  [[nodiscard]] virtual std::optional<Work> host_launches(const DeviceContext& /*on*/, double /*layers*/,
                                                          double /*experts*/) const {
    return std::nullopt;
  }
  /// Time that the host takes to copy `pieces` pieces of tensors. Nothing where it does not launch
  /// single kernels.
  [[nodiscard]] virtual Work host_pieces(const DeviceContext& /*on*/, double /*pieces*/) const { return {}; }
  /// Parameter for the spread of a pass's time between cores and between passes; none where there is no
  /// spread.
  [[nodiscard]] virtual Parameter spread_of_passes() const { return {}; }
  /// Parameter for the spread of steps whose tokens are dispatched to experts; none where there is no
  /// dispatcher.
  [[nodiscard]] virtual Parameter spread_of_dispatch() const { return {}; }
  /// Time for which a pass waits for the slowest of `ranks` cores, over its own time, where all meet every
  /// `passes` passes: what is different from pass to pass averages out between two meetings.
  [[nodiscard]] double waits_for_slowest(const DeviceContext& on, int ranks, double passes) const;
  /// Rate at which a core's collectives can read and write its memory.
  [[nodiscard]] virtual Rate message_memory(const topology::Core& core, const Profile& profile) const = 0;
  /// False if messages through a NIC take nothing of that rate.
  [[nodiscard]] virtual bool nics_use_message_memory() const { return true; }
  /// The least time of `elements` elements with so many passes over each, however they are fused.
  [[nodiscard]] virtual Seconds least_elements(const topology::Core& core, double passes,
                                               double elements) const = 0;
  /// The limit of a graph; nullopt where a graph may have any size or there are no graphs.
  [[nodiscard]] virtual std::optional<GraphLimit> graph_limit() const { return std::nullopt; }
};

}  // namespace trnplan::models
