// Preparations that the stacks on NxD share: versions, data sets and the conversion of checkpoints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/target.h"

namespace trnplan::targets {

/// First words of a pip command that also searches Neuron's packages. A person fills in their address.
[[nodiscard]] std::string pip_install();

/// Target::neuron_stack() of NxD, NxDT and everything else that trains with PyTorch/XLA.
inline constexpr std::string_view kXlaStack = "pytorch-xla";

/// Variable for the number of requests that the runtime holds at a time.
inline constexpr const char* kInFlight = "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS";

/// Packages of a release, pinned, as words of one pip command: PyTorch with its compiler, and with NxD. Without a
/// release they are not pinned.
[[nodiscard]] std::string torch_packages(const models::NeuronRelease* release);
[[nodiscard]] std::string neuron_packages(const models::NeuronRelease* release);

/// Adds the interpreter, image and doubts of the release that a folder pins. The interpreter is `newest`
/// ("3.11") if that of the release is newer.
void put_release(planner::Preparation& preparation, const planner::Target& target, const models::Job& job,
                 std::string_view newest = "");

/// Adds the commands of NxD's converter, which NxDT has too, in both directions, for the degrees of a strategy
/// (aws-neuron/neuronx-distributed@fbac349 src/neuronx_distributed/scripts/checkpoint_converter.py). Its flags of
/// type bool take every word for true, so those that are false are left out. `script` is its path in the clone.
void put_conversion(planner::Preparation& preparation, const std::string& script, const models::Job& job,
                    const models::Strategy& strategy);

/// Adds get_dataset.py of NxD's examples, which tokenises wikicorpus for Llama 2 and 3 at their own width
/// (aws-neuron/neuronx-distributed@fbac349 examples/training/llama/get_dataset.py); a remark where the job is of
/// another width. `folder` is its folder in the clone.
void put_data_set(planner::Preparation& preparation, const std::string& folder, const models::Job& job);

}  // namespace trnplan::targets
