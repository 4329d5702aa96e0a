// Work of known length on one core, as an operator of a layer has it, and as a kernel alone: docs/models.md,
// "Compute". Formulas and their sources stand in models/operators/operators.h. No launch is in any of them.
#pragma once

#include <string_view>

#include "models/operators/operators.h"
#include "models/parameters/profile.h"
#include "topology/instance.h"

namespace trnplan::models {

/// Passes of the vector engine over an element of a norm: it squares, sums, scales and casts, then the
/// residual is added.
inline constexpr double kNormPasses = 5;

/// Tensor-engine units of flash attention, each a product over all pairs of tokens
/// (models/operators/operators.h).
inline constexpr double kFlashUnitsForward = 2, kFlashUnitsBackward = 5;

/// Attention of `heads` heads over all micro-batches: `blocks` squares of `sequence` x `sequence` scores.
struct AttentionShape {
  double heads = 0;     ///< of the core
  double batch = 1;     ///< sequences
  double sequence = 0;  ///< tokens
  double head_dim = 0;
  double units = 0;   ///< products over each square
  double blocks = 1;  ///< 0.5: causal, and the kernel skips the other half
};

/// Refers to what it is made of. Cost of each function: O(1).
struct CoreWork {
  const topology::Core& core;
  const Profile& profile;
  bool fp32 = false;  ///< elements of 4 bytes and the slower array; else of 2

  double element_bytes() const { return fp32 ? 4 : 2; }
  /// (n x k) times (k x width).
  Operator matmul(std::string_view name, double n, double k, double width) const;
  /// `count` elements, each pass over one counted.
  Operator elements(std::string_view name, double count) const;
  /// `bytes` read from and written to HBM, in all.
  Operator memory(std::string_view name, Category category, double bytes) const;
  Operator flash_attention(const AttentionShape& shape) const;
  /// Tensor-engine cycles of one unit over one square at full rate.
  double attention_unit_cycles(const AttentionShape& shape) const;
  Flops attention_flops(const AttentionShape& shape) const;
};

}  // namespace trnplan::models
