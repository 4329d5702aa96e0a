#include "targets/flags/flags.h"

#include <fmt/format.h>

#include <algorithm>
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

Words& Words::list(std::string_view name, const std::vector<std::string>& values) {
  words_.emplace_back(name);
  words_.insert(words_.end(), values.begin(), values.end());
  return *this;
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
    broken.push_back(target_lacks("the model is not a dense Llama", ""));
  if (models::has_linear_biases(a)) broken.push_back(target_lacks("linear biases", ""));
  if (a.qk_norm) broken.push_back(target_lacks("norms of queries and keys", ""));
  if (a.blocks.sinks) broken.push_back(target_lacks("attention sinks", ""));
  if (a.head_dim != 0 && a.heads > 0 && a.head_dim != a.hidden / a.heads)
    broken.push_back(target_lacks("heads of a size other than hidden_size / num_attention_heads", ""));
  if (models::has_window(a, job.training.sequence)) {
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
  const models::Schedule schedule = models::effective_schedule(s);
  if (schedule != models::Schedule::one_f_one_b && schedule != models::Schedule::interleaved) {
    broken.push_back(target_lacks(fmt::format("the schedule {}", models::to_string(schedule)),
                                  "leave schedule out: 1F1B, or interleaved with virtual_pipeline"));
  }
}

namespace {

/// Refuses rates and steps of the job that contradict the rest of the recipe.
void need_sense(const models::Job& job, const Recipe& shipped, std::vector<planner::Violation>& broken) {
  const Recipe r = with_learning(shipped, job.learning);
  if (r.min_lr > r.lr) {
    broken.push_back(
        target_lacks(fmt::format("a learning rate of {} below its minimum of {}", r.lr, r.min_lr),
                     "state min_learning_rate too"));
  }
  const std::int64_t steps = steps_of(job.training, shipped);
  const std::int64_t warmup = warmup_of(shipped, job.learning, steps);
  if (warmup + r.constant_steps > steps) {
    broken.push_back(target_lacks(fmt::format("{} steps of warm-up and {} constant ones in a run of {}",
                                              warmup, r.constant_steps, steps),
                                  "state fewer warmup_steps or constant_steps, or more tokens"));
  }
}

void need_schedule(const models::Learning& l, const Recipe& shipped, const Learnable& can,
                   std::vector<planner::Violation>& broken) {
  if (!can.shape) {
    if (l.schedule || l.min_learning_rate || l.constant_steps) {
      broken.push_back(
          target_lacks("a stated schedule",
                       "leave schedule, min_learning_rate and constant_steps out: the script has no "
                       "flag for them"));
    }
    return;
  }
  if (can.schedule && l.schedule.value_or(*can.schedule) != *can.schedule) {
    const std::string_view only = models::kDecayNames[static_cast<std::size_t>(*can.schedule)];
    broken.push_back(target_lacks(fmt::format("a schedule other than {}", only),
                                  fmt::format("write schedule: {} in the job", only)));
  }
  if (!can.constant_steps && l.constant_steps.value_or(0) > 0)
    broken.push_back(target_lacks("constant steps at the end of the schedule", "leave constant_steps out"));
  if (can.linear_minimum ||
      can.schedule.value_or(with_learning(shipped, l).schedule) != models::Decay::linear)
    return;
  const char* otherwise = can.schedule ? "" : ", or write schedule: cosine";
  if (l.min_learning_rate.value_or(0) > 0) {
    broken.push_back(target_lacks("a minimum of the learning rate under the linear schedule",
                                  fmt::format("leave min_learning_rate out{}", otherwise)));
  }
  if (l.constant_steps.value_or(0) > 0) {
    broken.push_back(target_lacks("constant steps under the linear schedule",
                                  fmt::format("leave constant_steps out{}", otherwise)));
  }
}

/// Refuses a `stated` value other than the one that the script fixes.
void need_fixed(const std::optional<double>& stated, const std::optional<Learnable::Fixed>& fixed,
                const char* what, const char* key, std::vector<planner::Violation>& broken) {
  if (!stated || !fixed || fixed->value == stated) return;
  broken.push_back(target_lacks(fixed->value ? fmt::format("a {} other than {}", what, *fixed->value)
                                             : fmt::format("a stated {}", what),
                                fmt::format("leave {} out: the script does not read it", key)));
}

std::string names_of(const std::vector<std::string_view>& all) {
  std::string text;
  for (const std::string_view name : all) text += (text.empty() ? "" : " or ") + std::string(name);
  return text;
}

void need_optimizer(const models::Learning& l, const Learnable& can,
                    std::vector<planner::Violation>& broken) {
  if (!l.optimizer.empty() &&
      std::find(can.optimizers.begin(), can.optimizers.end(), l.optimizer) == can.optimizers.end()) {
    broken.push_back(target_lacks("the optimizer " + l.optimizer,
                                  "write optimizer: " + names_of(can.optimizers) + " in the job"));
  }
  if (!can.betas && (l.beta1 || l.beta2))
    broken.push_back(target_lacks("stated betas", "leave betas out: the script has no flag for them"));
}

void need_keeping(const models::RunFiles& run, std::int64_t steps, const Learnable& can,
                  std::vector<planner::Violation>& broken) {
  if (!can.log_steps && run.log_steps)
    broken.push_back(target_lacks("log_steps", "leave it out: the script has no flag for it"));
  if (can.logs_within && run.log_steps.value_or(1) > steps)
    broken.push_back(target_lacks("log_steps beyond the run's steps", "state fewer"));
  if (!can.checkpoint_steps && run.checkpoint_steps) {
    broken.push_back(
        target_lacks("checkpoint_steps", "leave it out: the script saves after every file of its data set"));
  }
  if (!can.keeps_all && run.checkpoints_kept == models::kAllCheckpoints)
    broken.push_back(target_lacks("keeping all checkpoints", "state how many in checkpoints_kept"));
  if (!can.keeps_one && run.checkpoints_kept == 1)
    broken.push_back(target_lacks("keeping a single checkpoint", "write checkpoints_kept: 2 in the job"));
  if (!run.start_from) return;
  if (std::find(can.starts.begin(), can.starts.end(), *run.start_from) != can.starts.end()) return;
  std::vector<std::string_view> names;
  for (const models::StartFrom s : can.starts)
    names.push_back(models::kStartNames[static_cast<std::size_t>(s)]);
  broken.push_back(target_lacks(
      fmt::format("start_from: {}", models::kStartNames[static_cast<std::size_t>(*run.start_from)]),
      "write start_from: " + names_of(names) + " in the job"));
}

}  // namespace

void need_learning(const models::Job& job, const Recipe& shipped, const Learnable& can,
                   std::vector<planner::Violation>& broken) {
  const models::Learning& l = job.learning;
  if (l == models::Learning{} && job.run == models::RunFiles{}) return;
  need_schedule(l, shipped, can, broken);
  need_optimizer(l, can, broken);
  need_fixed(l.gradient_clip, can.clipping, "norm for clipping gradients", "gradient_clip", broken);
  need_fixed(l.weight_decay, can.decay, "weight decay", "weight_decay", broken);
  need_keeping(job.run, steps_of(job.training, shipped), can, broken);
  need_sense(job, shipped, broken);
}

void say_unused(const models::Job& job, std::initializer_list<std::string_view> has,
                std::vector<std::string>& remarks) {
  const auto say = [&](std::string_view name, bool stated) {
    if (stated && std::find(has.begin(), has.end(), name) == has.end())
      remarks.push_back(
          fmt::format("The job's software.{} has no effect here: the script has no such setting.", name));
  };
  say("requests_in_flight", job.software.in_flight > 0);
  say("fuse_qkv", !job.software.fuse_qkv);
  say("sequential_move_factor", job.software.sequential_move > 0);
}

void ask_for_weights(const models::Job& job, std::vector<planner::PersonValue>& asked) {
  if (!job.run.begins_with_weights()) return;
  const char* meaning = job.run.start_from == models::StartFrom::hf
                            ? "The weights of Hugging Face, converted into shards for this plan's degrees."
                            : "The checkpoint from which the run starts, sharded for this plan's degrees.";
  asked.push_back({"TRNPLAN_WEIGHTS", meaning, true, &models::RunFiles::weights});
}

}  // namespace trnplan::targets
