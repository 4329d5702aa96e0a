// NeuronX Distributed's own example script of Llama.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// "nxd": aws-neuron/neuronx-distributed@fbac349
/// examples/training/llama/tp_pp_llama_hf_pretrain/run_llama_nxd.py. Learning-relevant settings are those of
/// the shipped scripts. It keeps master weights and fp32 gradients.
///
/// The flags were never run by this project, nor compared flag by flag with a clone;
/// tests/targets/nxd/nxd_target_test.cpp lists those that may be emitted.
const planner::Target& nxd();

}  // namespace trnplan::targets
