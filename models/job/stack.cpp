#include "models/job/job.h"

namespace trnplan::models {

namespace {

/// NxD's models of HF architectures, which NxDT trains with: aws-neuron/neuronx-distributed@fbac349
/// examples/training (NEURON_FUSE_SOFTMAX), parallel_layers/layers.py (nothing is padded);
/// aws-neuron/neuronx-distributed-training@9169aa03 fusions.softmax, docs/general/known_issues.rst (tied
/// embeddings), patches/lightning_neuron_patch.py (processes). NeMo Megatron for Neuron pads the vocabulary and
/// reduces the gradients of both copies of a tied embedding, as Megatron-LM does; its scripts name no fused softmax.
/// Nor do those of BERT, which have one stage and no shards (aws-neuron/aws-neuron-samples@2015d65).
/// Megatron-DeepSpeed has one, megatron/fused_kernels (bigscience-workshop/Megatron-DeepSpeed). Megatron-LM
/// (NVIDIA/Megatron-LM@d98e8a6) pads and ties likewise; its plans have flash attention. TorchTitan does neither
/// (pytorch/torchtitan@b5bcd76).
constexpr StackTraits kStacks[] = {
    {.name = "", .fuses_softmax = true, .starts_few_counts = true},
    {.name = "nxdt", .fuses_softmax = true, .starts_few_counts = true},
    {.name = "nxd", .fuses_softmax = true},
    {.name = "nemo-megatron", .ties_across_stages = true, .pads_vocabulary = true},
    {.name = "bert"},
    {.name = "megatron", .ties_across_stages = true, .pads_vocabulary = true},
    {.name = "torchtitan", .loop = "fsdp"},
    {.name = "megatron-deepspeed",
     .fuses_softmax = true,
     .ties_across_stages = true,
     .pads_vocabulary = true},
};
constexpr StackTraits kOther;

}  // namespace

const StackTraits& stack_named(std::string_view name) {
  for (const StackTraits& stack : kStacks) {
    if (stack.name == name) return stack;
  }
  return kOther;
}

}  // namespace trnplan::models
