#include "models/job/job.h"

namespace trnplan::models {

namespace {

/// Stacks and their sources. NxD's models of HF architectures, which NxDT trains with:
/// aws-neuron/neuronx-distributed@fbac349 examples/training (NEURON_FUSE_SOFTMAX);
/// aws-neuron/neuronx-distributed-training@9169aa03 fusions.softmax. Scripts of NeMo Megatron for Neuron name
/// no fused softmax, nor do those of BERT (aws-neuron/aws-neuron-samples@2015d65). Megatron-DeepSpeed has
/// one, megatron/fused_kernels (bigscience-workshop/Megatron-DeepSpeed). Plans of Megatron-LM
/// (NVIDIA/Megatron-LM@d98e8a6) have flash attention. BERT-Large's config.json, and the defaults of
/// Megatron-LM, have dropout of 0.1 on probabilities.
constexpr StackTraits kStacks[] = {
    {.name = "", .fuses_softmax = true},
    {.name = "nxdt", .fuses_softmax = true},
    {.name = "nxd", .fuses_softmax = true},
    {.name = "nemo-megatron"},
    {.name = "bert", .trains_encoders = true, .drops_in_runs = true},
    {.name = "megatron", .drops_in_runs = true},
    {.name = "torchtitan", .loop = "fsdp"},
    {.name = "megatron-deepspeed", .fuses_softmax = true},
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
