// What the stacks on NxD have in common before a run: versions, data sets and the conversion of checkpoints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/target.h"

namespace trnplan::targets {

/// The first words of a pip command that looks at Neuron's packages too: their address is the person's to fill in.
[[nodiscard]] std::string pip_install();

/// NxD, NxDT and what else trains with PyTorch/XLA: Target::neuron_stack() of all of them.
inline constexpr std::string_view kXlaStack = "pytorch-xla";

/// The variable that says how many requests the runtime holds at a time.
inline constexpr const char* kInFlight = "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS";

/// Packages of a release, pinned, as words of one pip command: PyTorch with its compiler, and with NxD. Without a release they
/// are not pinned.
[[nodiscard]] std::string torch_packages(const models::NeuronRelease* release);
[[nodiscard]] std::string neuron_packages(const models::NeuronRelease* release);

/// The interpreter, image and doubts of the release that a folder pins; of an interpreter newer than `newest` ("3.11") that.
void put_release(planner::Preparation& preparation, const planner::Target& target, const models::Job& job,
                 std::string_view newest = "");

/// The command of NxD's converter, which NxDT has too, in both directions, for the degrees of a strategy
/// (aws-neuron/neuronx-distributed@fbac349 src/neuronx_distributed/scripts/checkpoint_converter.py). Its flags of
/// type bool take every word for true, so those that are false are left out. `script` is its path in the clone.
void put_conversion(planner::Preparation& preparation, const std::string& script, const models::Job& job,
                    const models::Strategy& strategy);

/// get_dataset.py of NxD's examples, which tokenises wikicorpus for Llama 2 and 3 at their own width
/// (aws-neuron/neuronx-distributed@fbac349 examples/training/llama/get_dataset.py); a remark where the job is of
/// another width. `folder` is its folder in the clone.
void put_data_set(planner::Preparation& preparation, const std::string& folder, const models::Job& job);

}  // namespace trnplan::targets
