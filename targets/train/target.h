// What trains a plan: NxDT, or one of the older stacks whose scripts take flags instead of a YAML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"

namespace trnplan::targets {

enum class Target { nxdt, nemo_megatron, nxd };
/// "nxdt", "nemo-megatron", "nxd".
std::string_view to_string(Target t);
std::optional<Target> target_from(std::string_view text);

/// Versions that run the target and how long they are supported, one line. Sources: aws-neuron/aws-neuron-sdk
/// @81ce03ae about-neuron/announcements/neuron2.x/announce-maintenance-nxdt-nxd-core-training.rst and
/// announcement-end-of-support-nxdt-nxd-core.rst.
std::string support_note(Target t);

/// What to train with: the script, below the clone of the target's repository, and its arguments, each a word
/// of a bash array. A word may use $plan (the folder of the plan), $results (logs and checkpoints), $steps
/// (how many to run: few while compiling or in a smoke test), $TRNPLAN_DATA, $cache, always in double quotes.
struct TrainCommand {
  std::string clone;   ///< the repository to clone
  std::string folder;  ///< within the clone, where the script is started
  std::string script;
  std::vector<std::string> arguments;
  std::int64_t steps = 0;  ///< of the whole training, where $steps is used; 0: the target counts them itself
  /// Variables, as NAME=value, that the target's own shell script would export; NxDT's reads its YAML
  /// instead.
  std::vector<std::string> environment;
};

/// Flags of the target for a strategy. Learning-relevant settings are those of the target's shipped scripts.
/// Throws std::invalid_argument, with what to pin, for a strategy or model the target cannot express.
///
/// nxdt           aws-neuron/neuronx-distributed-training@9169aa0 examples/training_orchestrator.py
/// nxd            aws-neuron/neuronx-distributed@fbac349
///                examples/training/llama/tp_pp_llama_hf_pretrain/run_llama_nxd.py
/// nemo-megatron  aws-neuron/neuronx-nemo-megatron@f4743ce
///                nemo/examples/nlp/language_modeling/test_llama.sh, test_llama_gqa.sh
///
/// Environment: what a precision means is aws-neuron/neuronx-distributed-training@9169aa0
/// examples/training_orchestrator.py; threads and buckets of nemo-megatron are its train_setup.sh. nxd keeps
/// master weights and fp32 gradients, nemo-megatron trains in bf16 with stochastic rounding: other precisions
/// are refused, since the plan's memory would not be that of the run.
///
/// The flags of nxd and nemo-megatron were never run by this project, nor compared flag by flag with a clone;
/// tests/targets/target_test.cpp lists those that may be emitted.
TrainCommand train_command(Target target, const models::Job& job, const models::Strategy& strategy);

}  // namespace trnplan::targets
