// NeMo Megatron for Neuron, the predecessor of NxDT.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// "nemo-megatron": aws-neuron/neuronx-nemo-megatron@f4743ce
/// nemo/examples/nlp/language_modeling/test_llama.sh, test_llama_gqa.sh. Threads and buckets are those of its
/// train_setup.sh, settings of learning those of the shipped scripts. It trains in bf16 with stochastic
/// rounding.
///
/// This project has never run the flags, nor compared each with a clone.
/// tests/targets/nemo_megatron/nemo_megatron_target_test.cpp lists those that may be emitted.
const planner::Target& nemo_megatron();

}  // namespace trnplan::targets
