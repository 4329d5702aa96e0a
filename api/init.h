// init: a job.yaml from statements of the user, from files about machine and model, and from assumptions,
// each with a comment.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/inputs.h"

namespace trnplan::api {

struct InitRequest {
  /// Output of neuron-ls, nvidia-smi or sinfo, a HyperPod or ParallelCluster file, or the config.json of a
  /// model. Each is recognised by its content.
  std::vector<std::string> files;
  /// Values as in a job; "" = from a file, else asked for, else assumed. At most one of `tokens` and `steps`.
  std::string model, instance, nodes, sequence, global_batch, tokens, steps, objective;
  std::string out = "job.yaml";
  bool force = false;  ///< overwrites `out`
  /// Asks a person a question; an empty answer means `usual`, which may be "". Null if nobody can answer.
  std::function<std::string(const std::string& question, const std::string& usual)> ask;
};

struct InitResult {
  std::string text;  ///< of the job that was written
};
/// Throws InputError with every fault; then nothing is written.
[[nodiscard]] InitResult init(const InitRequest& request);

}  // namespace trnplan::api
