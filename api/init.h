// init: a job.yaml from what is stated, what files of the machine and the model tell, and what is assumed, each with a comment.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/inputs.h"

namespace trnplan::api {

struct InitRequest {
  /// Output of neuron-ls, nvidia-smi or sinfo, a HyperPod or ParallelCluster file, or the config.json of a model: what each is
  /// its content decides.
  std::vector<std::string> files;
  /// As a job has them; "": as a file tells, else asked for, else assumed. Of `tokens` and `steps` one at most.
  std::string model, instance, nodes, sequence, global_batch, tokens, steps, objective;
  std::string out = "job.yaml";
  bool force = false;  ///< overwrites `out`
  /// Asks a person: a question and what is taken for an empty answer, which may be "". Null: nobody is there.
  std::function<std::string(const std::string& question, const std::string& usual)> ask;
};

struct InitResult {
  std::string text;  ///< of the job that was written
};
/// Throws InputError, with every fault; then nothing is written.
[[nodiscard]] InitResult init(const InitRequest& request);

}  // namespace trnplan::api
