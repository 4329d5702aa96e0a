#include "targets/hf/hf_rules.h"

#include <fmt/format.h>

#include "planner/check/rules.h"

namespace trnplan::targets {

std::vector<planner::Violation> hf_rules(const models::Job& job, const models::Strategy& s) {
  const models::Architecture& a = job.architecture;
  std::vector<planner::Violation> broken;
  // Other families use the Megatron path, which pads the vocabulary.
  if (models::is_llama_like(a) && a.vocabulary % s.tensor_parallel != 0) {
    broken.push_back({"vocabulary",
                      fmt::format("vocabulary {} does not divide by TP {} and NxD's HF models do not pad it",
                                  a.vocabulary, s.tensor_parallel),
                      planner::near_tensor_parallel(
                          job, s, [&](int t) { return a.vocabulary % t == 0; },
                          "choose a TP that divides the vocabulary") +
                          ", or pad it in config.json"});
  }
  if (s.context_parallel > 1 && a.experts > 0)
    broken.push_back({"context-parallel", "NxD has context parallel for dense Llama models only", "cp=1"});
  if (a.tied_embeddings && s.pipeline_parallel > 1) {
    broken.push_back({"tied-embeddings",
                      "tied embeddings fail with pipeline parallel: the shared weight has no gradient",
                      "pp=1, or untie embedding and head"});
  }
  return broken;
}

}  // namespace trnplan::targets
