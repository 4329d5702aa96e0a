// Rules of groups that must form rings of neighbours, with their sources. Private to this room.
#pragma once

#include <limits>

namespace trnplan::topology {

inline constexpr const char* kSourceSets =
    "AWS documents sets of 2, 8 and 32 ranks on trn1.32xlarge (aws-neuron/aws-neuron-sdk@89a72682 "
    "general/arch/neuron-features/collective-communication.rst)";
inline constexpr const char* kSourcePairs =
    "pairs must form a ring with direct physical links (aws-neuron/aws-neuron-sdk@81ce03ae "
    "neuron-runtime/about/collectives.rst); TP 16 x DP 2 was refused by the runtime on trn1.32xlarge "
    "(tutorial \"LLM "
    "training with AWS Neuronx-distributed-training\", 2026-01-17)";
inline constexpr const char* kSourceOnePerChip =
    "reports disagree: refused for 8 chips in huggingface/optimum-neuron issue 761, where EFA was off; a "
    "ring exists";
inline constexpr const char* kSourcePipeline =
    "the shipped Llama-2 70B config (TP 8, PP 16, DP 2; aws-neuron/neuronx-distributed-training "
    "examples/conf/"
    "megatron_llama_70b_config.yaml) has such pairs and is published as run";
inline constexpr const char* kSourceTwoChips =
    "four adjacent cores as a group since December 2024 (aws-neuron/aws-neuron-sdk@1db4d74e "
    "release-notes/runtime)";
inline constexpr const char* kSourceNodes =
    "each node must hold the same number of ranks at the same local positions "
    "(aws-neuron/aws-neuron-sdk@81ce03ae "
    "neuron-runtime/explore/internode-collective-comm.rst)";

inline constexpr const char* kSourceNoEfa =
    "collectives between nodes go through EFA devices (aws-neuron/aws-neuron-sdk@81ce03ae "
    "neuron-runtime/explore/internode-collective-comm.rst), and the description of the instance lists none";

inline constexpr const char* kSourcePermute =
    "ring attention passes keys and values on by permute; \"permute: pairs must form a ring with direct "
    "physical links\" (aws-neuron/aws-neuron-sdk@81ce03ae neuron-runtime/about/collectives.rst; "
    "aws-neuron/neuronx-distributed@fbac349b src/neuronx_distributed/kernels/ring_attention_kernel.py)";

inline constexpr const char* kSourceTrn2Sets =
    "NxD lists TP 4, 16, 32 and 64 with LNC 2 and TP 4, 8, 32, 64 and 128 with LNC 1 on a trn2 instance "
    "(aws-neuron/neuronx-distributed@fbac349b "
    "src/neuronx_distributed/parallel_layers/parallel_state.py:341-371)";
inline constexpr const char* kSourceTrn2Pairs =
    "pairs must form a ring with direct physical links (aws-neuron/aws-neuron-sdk@81ce03ae "
    "neuron-runtime/about/collectives.rst); NxD lists the meshes 16x8 (LNC 1) and 8x8 (LNC 2) as not "
    "supported, \"0 and 16 cant communicate directly\" (aws-neuron/neuronx-distributed@fbac349b "
    "src/neuronx_distributed/parallel_layers/parallel_state.py:341-371); TP 8 x CP 2 on 16 cores of trn2 was "
    "refused where TP 4 x CP 4 ran (README \"V3 CP=4 + WLO ... QIE try-on config on Trainium2\")";
inline constexpr const char* kSourceTrn2EightByEight =
    "NxD lists the meshes 16x8 (LNC 1) and 8x8 (LNC 2) as not supported "
    "(aws-neuron/neuronx-distributed@fbac349b "
    "src/neuronx_distributed/parallel_layers/parallel_state.py:341-371); with LNC 2 the runtime has 8x8 "
    "groups "
    "since Neuron 2.24 (aws-neuron/aws-neuron-sdk@1db4d74e "
    "release-notes/runtime/aws-neuronx-runtime-lib/index.rst)";

/// A rule that looks for rings of neighbours: its sources, and the points in which machines differ.
struct RingRule {
  const char *sets, *pairs, *two_chips;  ///< sources
  bool even_shares;        ///< equal numbers of cores of each chip are accepted, not only all or one
  int one_rank_each_most;  ///< chips that may take part with one rank each
  bool two_hop_rings;      ///< with LNC 2, eight ranks may form a ring of two-hop steps
};
inline constexpr int kAnyNumber = std::numeric_limits<int>::max();
inline constexpr RingRule kTorusRing{kSourceSets, kSourcePairs, kSourceTwoChips, false, 4, false};
inline constexpr RingRule kLogic2Mesh{
    kSourceTrn2Sets, kSourceTrn2Pairs, kSourceTrn2EightByEight, true, kAnyNumber, true};

}  // namespace trnplan::topology
