// A plan as a folder that runs.
#pragma once

#include <string>
#include <vector>

#include "io/atomic_write.h"
#include "models/job.h"
#include "planner/plan.h"

namespace trnplan::launch {

/// The files of `plan --out`: nxdt.yaml, config.json, compile.sbatch, train.sbatch, plan.json. Texts only;
/// nothing is written. Job names and comments hold only [A-Za-z0-9._-] of the model's name; values that a
/// person supplies reach the scripts through the environment, always quoted. Throws std::invalid_argument for
/// an architecture NxDT's HF path cannot express.
///
/// The scripts restate what NxDT's examples/train.sh and train_setup.sh do on Slurm (aws-neuron/
/// neuronx-distributed-training 9169aa0), one task per node; --auto-resume=1 is HyperPod's srun option
/// (aws-samples/awsome-distributed-training 3.test_cases/pytorch/neuronx-distributed/llama3/slurm/README.md).
std::vector<io::OutputFile> bundle(const models::Job& job, const planner::Plan& plan);

}  // namespace trnplan::launch
