// AWS's example script that pre-trains BERT-Large.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// "bert": aws-neuron/aws-neuron-samples@2015d65
/// torch-neuronx/training/dp_bert_hf_pretrain/dp_bert_large_hf_pretrain_hdf5.py. Pure data parallel, one model.
/// Phase 1 is what its recipes train at sequence 128, phase 2 at 512. Learning-relevant settings are those of the
/// shipped recipe of the phase whose batch is next to the job's.
///
/// Names and types of all flags are checked by tests/launch/folder/entry_points; the script was never run by this
/// project.
const planner::Target& bert();

}  // namespace trnplan::targets
