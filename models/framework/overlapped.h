// A training loop that reduces gradients beside the last backward pass, else NxD's: what NxD would gain by it. A
// what-if; torch's DistributedDataParallel and Megatron-LM's overlap_grad_reduce work so.
#pragma once

#include "models/framework/nxd.h"

namespace trnplan::models {

class Overlapped : public Nxd {
 public:
  std::string_view name() const override { return "overlapped"; }
  bool reduces_with_backward(const Strategy&) const override { return true; }
  /// The bucket that is on its way.
  Bytes backward_buffers(const Strategy& s) const override { return gradients(s).bucket; }
};

}  // namespace trnplan::models
