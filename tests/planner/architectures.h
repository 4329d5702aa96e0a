// Architectures for tests of configs, stated here instead of read from the catalogue.
#pragma once

#include "models/architecture/architecture.h"

namespace trnplan {

inline models::Architecture llama3_8b() {
  return {.name = "llama3-8b",
          .layers = 32,
          .hidden = 4096,
          .intermediate = 14336,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .vocabulary = 128256,
          .max_positions = 8192,
          .rope_theta = 500000.0};
}

inline models::Architecture llama3_70b() {
  return {.name = "llama3-70b",
          .layers = 80,
          .hidden = 8192,
          .intermediate = 28672,
          .heads = 64,
          .kv_heads = 8,
          .head_dim = 128,
          .vocabulary = 128256,
          .max_positions = 8192,
          .rope_theta = 500000.0};
}

inline models::Architecture llama2_7b() {
  return {.name = "llama2-7b",
          .layers = 32,
          .hidden = 4096,
          .intermediate = 11008,
          .heads = 32,
          .kv_heads = 32,
          .head_dim = 128,
          .vocabulary = 32000,
          .max_positions = 4096};
}

}  // namespace trnplan
