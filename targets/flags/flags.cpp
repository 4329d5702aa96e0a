#include "targets/flags/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace trnplan::targets {

std::int64_t steps_of(const models::Training& t) {
  if (!(t.tokens > 0)) return 10000;
  const double per_step = static_cast<double>(t.sequence) * t.global_batch;
  return static_cast<std::int64_t>(std::clamp(std::ceil(t.tokens / per_step), 1.0, 2e9));
}

std::vector<std::string> runtime_environment(const models::Strategy& s) {
  std::vector<std::string> names = {
      "NEURON_CC_FLAGS=--model-type transformer --enable-mixed-precision-accumulation",
      "NEURON_FUSE_SOFTMAX=1", "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=5", "NEURON_RT_EXEC_TIMEOUT=100"};
  const bool rounding = s.precision == models::Precision::bf16_sr;
  names.push_back(rounding ? "XLA_USE_BF16=1" : "XLA_DOWNCAST_BF16=1");
  names.push_back(fmt::format("NEURON_RT_STOCHASTIC_ROUNDING_EN={}", rounding ? 1 : 0));
  return names;
}

planner::Violation target_lacks(std::string message, std::string fix) {
  return {"target", std::move(message), std::move(fix)};
}

void need_precision(const models::Strategy& s, models::Precision wanted,
                    std::vector<planner::Violation>& broken) {
  if (s.precision == wanted) return;
  broken.push_back(target_lacks(fmt::format("precision {}", models::to_string(s.precision)),
                                fmt::format("write precision: {} in the job", models::to_string(wanted))));
}

void need_flags(const models::Job& job, const models::Strategy& s, std::vector<planner::Violation>& broken) {
  const models::Recompute& r = s.recompute;
  if (r.mlp || r.rms_norm || r.activation_multiply) {
    broken.push_back(target_lacks("it recomputes " + models::to_string(r),
                                  "pin recompute to CoreAttention, none or full in the job"));
  }
  if (s.context_parallel > 1)
    broken.push_back(target_lacks("context parallel", "pin context_parallel to 1 in the job"));
  if (s.virtual_pipeline > 1)
    broken.push_back(target_lacks("virtual pipeline", "pin virtual_pipeline to 1 in the job"));
  if (!s.pipeline_cuts.empty()) {
    broken.push_back(target_lacks("uneven pipeline cuts", "pin a pipeline_parallel that divides the layers"));
  }
  const models::Architecture& a = job.architecture;
  if (!models::is_llama_like(a) || a.experts > 0)
    broken.push_back(target_lacks("the model is no dense Llama", ""));
  if (a.biases || a.qkv_bias) broken.push_back(target_lacks("linear biases", ""));
  if (a.qk_norm) broken.push_back(target_lacks("norms of queries and keys", ""));
  if (a.sliding_window > 0 && a.sliding_window < job.training.sequence) {
    broken.push_back(target_lacks("a sliding window shorter than the sequence",
                                  "train shorter sequences, which the window does not cut"));
  }
}

}  // namespace trnplan::targets
