// NeMo Megatron for Neuron, the predecessor of NxDT.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// "nemo-megatron": aws-neuron/neuronx-nemo-megatron@f4743ce
/// nemo/examples/nlp/language_modeling/test_llama.sh, test_llama_gqa.sh; threads and buckets are those of its
/// train_setup.sh. Learning-relevant settings are those of the shipped scripts. It trains in bf16 with
/// stochastic rounding.
///
/// The flags were never run by this project, nor compared flag by flag with a clone;
/// tests/targets/nemo_megatron/nemo_megatron_target_test.cpp lists those that may be emitted.
const planner::Target& nemo_megatron();

}  // namespace trnplan::targets
