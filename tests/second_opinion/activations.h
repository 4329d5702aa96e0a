// Tensors that autograd keeps of a decoder layer and that recomputation rebuilds (docs/models.md, "Memory").
#pragma once

#include "models/job/job.h"
#include "tests/second_opinion/training_loops.h"

namespace trnplan::second_opinion {

/// Bytes of one micro-batch on one rank.
struct Sizes {
  Kernels kernels;  ///< determine which tensors are kept
  double element, tokens;
  double in_tensor_region;  ///< bytes of tokens / T values of one element each
  double outside;           ///< likewise, where sequence parallel splits and plain tensor parallel does not
  double whole_rows;        ///< bytes of tokens x hidden
  bool flash;
  double capacity;  ///< of experts, if the model states none
};
Sizes sizes_of(const models::Job& job, const models::Strategy& s, const TrainingLoop& loop);

/// Bytes of a layer and micro-batch: from its forward to its backward pass, and during the backward pass.
struct LayerShare {
  double kept = 0, remade = 0;
};
LayerShare layer_share(const models::Job& job, const models::Strategy& s, const Sizes& z);

}  // namespace trnplan::second_opinion
