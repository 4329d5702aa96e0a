// A NeuronCore: a systolic array fed in tiles, a vector engine, HBM and DMA engines.
//
//   matmul (n,K,N)   cycles = min(ceil(K/128) ceil(N/128) max(n,64), ceil(K/128) ceil(n/128) max(N,64));
//                    time = max(cycles / (2.8 GHz * matmul_efficiency), traffic * 2(nK+KN+nN) / HBM);
//                    FP32: cycles times fp32_slowdown.
//                    Tile sizes and issue interval: aws-neuron/aws-neuron-sdk@81ce03ae
//                    nki/guides/architecture/trainium_inferentia2_arch.rst
//   attention        one unit = (a/T) b ceil(s/128) ceil(d/128) s cycles; over flash_efficiency with flash
//                    attention, else over matmul_efficiency or, where that is longer, the traffic over HBM
//   elements         passes over elements at 128 lanes x 1.12 GHz * vector_efficiency
//   logical cores    A logical core of LNC physical ones distributes stationary tiles, query tiles of
//                    attention and elements over them, and the one with the most sets the time; HBM and DMA
//                    of the catalogue are of the logical core. Inferred: no source gives the compiler's cut
//                    (aws-neuron/aws-neuron-sdk@81ce03ae
//                    about-neuron/arch/neuron-features/logical-neuroncore-config.rst says only that one
//                    program runs on both)
//   instructions     two per product of tiles (load the stationary one, move the other: 128 x 128 by up to
//                    512) and one to take the result of a whole row of products out of PSUM; one per pass
//                    over 128 lanes x 512 elements. Counted because the compiler refuses a graph of more than
//                    5,000,000 (NCC_EBVF030, NCC_EXTP004; XTP002 "Number of instructions (N) is over the
//                    threshold (5000000)": github.com/aws-neuron/aws-neuron-sdk/issues/819 and /987). Tile
//                    sizes: nki.language.tile_size (pmax, gemm_stationary_fmax, gemm_moving_fmax).
// docs/models.md, "Compute" and "Compile limits". Not modelled: overlap between engines.
#pragma once

#include "models/device/device.h"

namespace trnplan::models {

class NeuronCore final : public Device {
 public:
  std::string_view name() const override { return "neuron_core"; }
  std::vector<std::string_view> needs() const override;
  std::vector<std::string_view> uses() const override { return {"lnc"}; }
  Work matmul(const DeviceContext& on, const MatmulShape& shape) const override;
  Work elements(const DeviceContext& on, const ElementKind& kind, double rows, double width) const override;
  Work memory(const DeviceContext& on, Bytes bytes) const override;
  Work flash_attention(const DeviceContext& on, const AttentionShape& shape) const override;
  Work plain_attention(const DeviceContext& on, const AttentionShape& shape, Bytes traffic) const override;
  Work layer_start(const DeviceContext& on) const override;
  Rate message_memory(const topology::Core& core, const Profile& profile) const override;
  Seconds least_elements(const topology::Core& core, double passes, double elements) const override;
  std::optional<GraphLimit> graph_limit() const override;
};

}  // namespace trnplan::models
