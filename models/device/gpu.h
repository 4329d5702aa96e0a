// A GPU as a roofline with a start for every kernel, and a host that launches them.
//
//   matmul (n,K,N)   kernel_start + max(2nKN (1 + gemm_ramp (1/n + 1/K + 1/N)) / (peak * gemm_share),
//                                       e (nK + KN + nN) / (bandwidth * bandwidth_share)),
//                    peak: that of the data type, e its bytes; a K that is not a multiple of 8 runs at
//                    unaligned_share of that rate (docs.nvidia.com/deeplearning/performance/
//                    dl-performance-matrix-multiplication, "Tensor Core requirements")
//                    FP8: both operands are cast first (kCastBytes, kCastKernels), except weights that are
//                    already cast; peak: that of FP8 times fp8_share
//   attention        flash: the executed operations (half a causal square) times (1 + attention_ramp / s),
//                    over peak * attention_share * (min(d, 128) / 128)^0.2, and the wait for the last thread
//                    blocks where few heads fill the multiprocessors badly; plain: two products per square,
//                    one of them as short as a head, then the traffic of the scores
//   elements         the tensors that one fused kernel reads and writes times eager_traffic, over the
//                    bandwidth, and kernel_start
//   a layer's pass   no shorter than the host's launches of it, host_layer and host_expert for each expert that
//                    is launched separately (beyond_busy of device.h); its busy time is that of its kernels
//                    and its collectives alone. Where the host launches ahead (Framework::launches_ahead), all
//                    layers of a pass together, after what the device still has to do (HostQueue)
//   waiting          pass_spread * slowest_of(ranks) / sqrt(passes) of a pass, for so many ranks that meet
//                    once in so many passes
// Products and attention take kernel_pace times as long with another release of the libraries.
// d^0.2: FlashAttention 2 reaches 176 and 203 TFLOP/s with heads of 64 and 128 on A100 and 296 and 338 on
// H100 (Dao-AILab/flash-attention@0251105a assets). A thread block has 128 queries of a head (the same
// repository, csrc/flash_attn/src/flash_fwd_launch_template.h): on B200 a step's forward attention of 4096
// tokens reaches .87, .73, .58 and .31 with 64, 32, 16 and 8 heads, its backward .73, .80, .76, .66
// (MooreThreads/SimuMax@4dcaae5 configs/system/b200_bf16_ceperm.json); the rule gives .93, .88, .78 and .63
// of an even spread, which is between the two. The roofline with a start per product fits measured
// products within a median of 5 to 7 %; counting single waves of tiles does no better
// (ai-dynamo/aiconfigurator@095f58a5 aic-core/src/aiconfigurator_core/systems/data).
#pragma once

#include "models/device/device.h"

namespace trnplan::models {

class Gpu final : public Device {
 public:
  std::string_view name() const override { return "gpu"; }
  std::vector<std::string_view> needs() const override { return {}; }
  std::vector<std::string_view> uses() const override {
    return {"bf16", "fp8", "fp32", "tf32", "multiprocessors"};
  }
  Work matmul(const DeviceContext& on, const MatmulShape& shape) const override;
  Work elements(const DeviceContext& on, const ElementKind& kind, double rows, double width) const override;
  Work memory(const DeviceContext& on, Bytes bytes) const override;
  bool has_fp8(const topology::Core& core) const override;
  Work flash_attention(const DeviceContext& on, const AttentionShape& shape) const override;
  Work plain_attention(const DeviceContext& on, const AttentionShape& shape, Bytes traffic) const override;
  Work layer_start(const DeviceContext& on) const override;
  std::optional<Work> host_launches(const DeviceContext& on, double layers, double experts) const override;
  Work host_pieces(const DeviceContext& on, double pieces) const override;
  Parameter spread_of_passes() const override;
  Parameter spread_of_dispatch() const override;
  Rate message_memory(const topology::Core& core, const Profile& profile) const override;
  /// NICs read and write a GPU's memory themselves (GPUDirect RDMA), and kernels leave them more of its bandwidth than
  /// they move: bandwidth_share is what kernels reach alone.
  bool nics_use_message_memory() const override { return false; }
  Seconds least_elements(const topology::Core& core, double passes, double elements) const override;
};

}  // namespace trnplan::models
