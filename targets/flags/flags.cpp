#include "targets/flags/flags.h"

#include <fmt/format.h>

#include <utility>

namespace trnplan::targets {

Words& Words::flag(std::string_view name, std::string value) {
  words_.emplace_back(name);
  words_.push_back(std::move(value));
  return *this;
}

Words& Words::count(std::string_view name, std::int64_t value) {
  return flag(name, fmt::format("{}", value));
}

Words& Words::number(std::string_view name, double value) {
  return flag(name, fmt::format("{}", value));
}

Words& Words::truth(std::string_view name, bool value) {
  return flag(name, std::string(value ? "1" : "0"));
}

Words& Words::toggle(std::string_view name, bool present) {
  if (present) words_.emplace_back(name);
  return *this;
}

planner::Violation target_lacks(std::string message, std::string fix) {
  return {"target", std::move(message), std::move(fix)};
}

void need_llama(const models::Job& job, std::vector<planner::Violation>& broken) {
  const models::Architecture& a = job.architecture;
  if (!models::is_llama_like(a) || a.experts > 0 || a.mlp != models::Mlp::gated)
    broken.push_back(target_lacks("the model is no dense Llama", ""));
  if (a.biases || a.qkv_bias) broken.push_back(target_lacks("linear biases", ""));
  if (a.qk_norm) broken.push_back(target_lacks("norms of queries and keys", ""));
  if (a.head_dim != 0 && a.heads > 0 && a.head_dim != a.hidden / a.heads)
    broken.push_back(target_lacks("heads of another size than hidden_size / num_attention_heads", ""));
  if (a.sliding_window > 0 && a.sliding_window < job.training.sequence) {
    broken.push_back(target_lacks("a sliding window shorter than the sequence",
                                  "train shorter sequences, which the window does not cut"));
  }
}

void need_plain_strategy(const models::Strategy& s, std::vector<planner::Violation>& broken) {
  if (s.recompute.rms_norm || s.recompute.activation_multiply) {
    broken.push_back(target_lacks("it recomputes " + models::to_string(s.recompute),
                                  "pin recompute to CoreAttention or full in the job"));
  }
  if (!s.pipeline_cuts.empty()) {
    broken.push_back(target_lacks("uneven pipeline cuts", "pin a pipeline_parallel that divides the layers"));
  }
  const models::Schedule schedule = models::settled_schedule(s);
  if (schedule != models::Schedule::one_f_one_b && schedule != models::Schedule::interleaved) {
    broken.push_back(target_lacks(fmt::format("the schedule {}", models::to_string(schedule)),
                                  "leave schedule out: 1F1B, or interleaved with virtual_pipeline"));
  }
}

}  // namespace trnplan::targets
