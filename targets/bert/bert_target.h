// AWS's example script that pre-trains BERT-Large.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// "bert": aws-neuron/aws-neuron-samples@2015d65
/// torch-neuronx/training/dp_bert_hf_pretrain/dp_bert_large_hf_pretrain_hdf5.py. Pure data parallel, one
/// model. Phase 1 is the training of its recipes at sequence 128, phase 2 at 512. Settings of learning are
/// those of the shipped recipe for the phase with the batch closest to the job's.
///
/// tests/launch/folder/entry_points checks names and types of all flags. This project has never run the
/// script.
const planner::Target& bert();

}  // namespace trnplan::targets
