// Largest values that a run may state, in any file.
#pragma once

namespace trnplan::models {

/// Far above any real run; products of two of them fit 64 bits.
struct RunLimits {
  int ranks = 1'000'000;           ///< in total, and thus of each degree of parallelism
  int micro_batch = 1'000'000;     ///< sequences
  int global_batch = 100'000'000;  ///< sequences
  int sequence = 1 << 24;          ///< tokens
  int requests = 64;               ///< held by the runtime at a time; configs have up to 7
};
inline constexpr RunLimits run_limits{};

}  // namespace trnplan::models
