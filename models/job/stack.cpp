#include "models/job/job.h"

namespace trnplan::models {

namespace {

/// Stacks and their sources. NxD's models of HF architectures, which NxDT trains with:
/// aws-neuron/neuronx-distributed@fbac349 examples/training (NEURON_FUSE_SOFTMAX);
/// aws-neuron/neuronx-distributed-training@9169aa03 fusions.softmax. Scripts of NeMo Megatron for Neuron name
/// no fused softmax, nor do those of BERT and of the Megatron-LM port (aws-neuron/aws-neuron-samples@2015d65).
/// On GPUs the training loop decides (Framework::fuses_softmax). BERT-Large's config.json, and the defaults
/// of Megatron-LM, have dropout of 0.1 on probabilities.
constexpr StackTraits kStacks[] = {
    {.name = "", .fuses_softmax = true},
    {.name = "nxdt", .fuses_softmax = true},
    {.name = "nxd", .fuses_softmax = true},
    {.name = "nemo-megatron"},
    {.name = "bert", .trains_encoders = true, .drops_in_runs = true},
    {.name = "megatron", .drops_in_runs = true},
    {.name = "torchtitan", .loop = "fsdp"},
    {.name = "megatron-deepspeed-fp16", .loop = "megatron-deepspeed"},
    {.name = "nanotron-polling", .loop = "nanotron"},
    {.name = "megatron-flex", .loop = "megatron"},
    {.name = "megatron-bridge-flex", .loop = "megatron-bridge"},
    {.name = "megatron-ep-overlap", .loop = "megatron"},
    {.name = "megatron-flex-ep-overlap", .loop = "megatron"},
    {.name = "megatron-bridge-ep-overlap", .loop = "megatron-bridge"},
    {.name = "megatron-bridge-flex-ep-overlap", .loop = "megatron-bridge"},
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
