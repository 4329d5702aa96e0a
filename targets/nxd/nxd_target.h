// NeuronX Distributed's own example scripts that train Llama.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// "nxd": aws-neuron/neuronx-distributed@fbac349
/// examples/training/llama/tp_pp_llama_hf_pretrain/run_llama_nxd.py. Settings of learning are those of the
/// shipped scripts. It keeps master weights and fp32 gradients.
///
/// This project has never run the flags, nor compared each with a clone.
/// tests/targets/nxd/nxd_target_test.cpp lists those that may be emitted.
const planner::Target& nxd();

}  // namespace trnplan::targets
