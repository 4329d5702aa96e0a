// The largest values that any file may state for a model.
#pragma once

namespace trnplan::models {

/// Limits far above any real model, yet so small that parameter counts fit 64 bits and a step is predicted in
/// seconds.
struct ModelLimits {
  int hidden = 1 << 18;
  int layers = 1 << 12;
  int intermediate = 1 << 21;
  int heads = 1 << 16;
  int attention = 1 << 21;  ///< heads x head_dim
  int vocabulary = 1 << 24;
  int positions = 1 << 28;
  int experts = 1 << 9;
  double rope_theta = 1e12;
  double capacity_factor = 1e6;
};
inline constexpr ModelLimits model_limits{};

}  // namespace trnplan::models
