// A GPU as a plain roofline.
//
//   matmul (n,K,N)   max(2nKN / (peak * gemm_share), e (nK + KN + nN) / (bandwidth * bandwidth_share)),
//                    peak: that of the data type, e its bytes
//   attention        flash: the operations it does (half a causal square) over peak * attention_share;
//                    plain: whole squares over peak * gemm_share or, where that is longer, its traffic
//   elements         the tensors that one fused kernel reads and writes, over the bandwidth
// Not modelled: how the share falls with small shapes, waves of tiles, launches of single kernels.
#pragma once

#include "models/device/device.h"

namespace trnplan::models {

class Gpu final : public Device {
 public:
  std::string_view name() const override { return "gpu"; }
  std::vector<std::string_view> needs() const override { return {}; }
  Work matmul(const DeviceContext& on, const MatmulShape& shape) const override;
  Work elements(const DeviceContext& on, const ElementKind& kind, double rows, double width) const override;
  Work memory(const DeviceContext& on, Bytes bytes) const override;
  Work flash_attention(const DeviceContext& on, const AttentionShape& shape) const override;
  Work plain_attention(const DeviceContext& on, const AttentionShape& shape, Bytes traffic) const override;
  Work layer_start(const DeviceContext& on) const override;
  Rate message_memory(const topology::Core& core, const Profile& profile) const override;
  Seconds least_elements(const topology::Core& core, double passes, double elements) const override;
};

}  // namespace trnplan::models
