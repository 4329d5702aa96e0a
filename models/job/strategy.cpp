#include "models/job/strategy.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/job/sharding_words.h"

namespace trnplan::models {

std::string_view to_string(Precision p) {
  return kPrecisionNames[static_cast<std::size_t>(p)];
}

std::optional<Precision> precision_from(std::string_view text) {
  for (std::size_t i = 0; i < kPrecisionNames.size(); ++i) {
    if (text == kPrecisionNames[i]) return static_cast<Precision>(i);
  }
  return std::nullopt;
}

std::string precision_words() {
  return fmt::format("{} or {}", fmt::join(kPrecisionNames.begin(), kPrecisionNames.end() - 1, ", "),
                     kPrecisionNames.back());
}

namespace {

constexpr std::string_view kShardings[] = {"zero1", "zero2", "zero3"};

}  // namespace

std::string_view to_string(Sharding s) {
  return kShardings[static_cast<std::size_t>(s)];
}

std::optional<Sharding> sharding_from(std::string_view text) {
  for (const Sharding s : {Sharding::states, Sharding::gradients, Sharding::parameters}) {
    if (text == to_string(s)) return s;
  }
  if (text == "fsdp") return Sharding::parameters;
  return std::nullopt;
}

namespace {

struct RecomputeClass {
  std::string_view name;
  bool Recompute::*flag;
};

constexpr RecomputeClass kRecomputeClasses[] = {
    {"CoreAttention", &Recompute::core_attention}, {"LlamaMLP", &Recompute::mlp},
    {"LlamaRMSNorm", &Recompute::rms_norm},        {"ActivationMultiplyMLP", &Recompute::activation_multiply},
    {"SelectiveOp", &Recompute::alternate},
};

/// Other loops' words: NVIDIA/Megatron-LM@d98e8a6:megatron/core/transformer/transformer_config.py
/// (recompute_modules), pytorch/torchtitan@v0.2.2:torchtitan/distributed/activation_checkpoint.py.
constexpr RecomputeClass kOtherWords[] = {
    {"core_attn", &Recompute::core_attention}, {"mlp", &Recompute::mlp},      {"moe", &Recompute::mlp},
    {"layernorm", &Recompute::rms_norm},       {"op", &Recompute::alternate},
};

}  // namespace

std::string to_string(const Recompute& r) {
  if (r.full) return r.every > 1 ? fmt::format("full/{}", r.every) : "full";
  std::string text;
  for (const RecomputeClass& c : kRecomputeClasses) {
    if (!(r.*c.flag)) continue;
    if (!text.empty()) text += '+';
    text += c.name;
  }
  return text.empty() ? "none" : text;
}

std::optional<Recompute> recompute_from(std::string_view text) {
  Recompute r;
  if (text == "none") return r;
  if (text == "full") {
    r.full = true;
    return r;
  }
  constexpr std::string_view kSomeLayers = "full/";
  if (text.starts_with(kSomeLayers)) {
    const std::string_view number = text.substr(kSomeLayers.size());
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), r.every);
    r.full = true;
    if (fault != std::errc{} || end != number.data() + number.size() || r.every < 2) return std::nullopt;
    return r;
  }
  while (true) {
    const std::size_t plus = text.find('+');
    const std::string_view word = text.substr(0, plus);
    bool known = false;
    const auto take = [&](const RecomputeClass& c) {
      if (word != c.name) return;
      r.*c.flag = true;
      known = true;
    };
    std::for_each(std::begin(kRecomputeClasses), std::end(kRecomputeClasses), take);
    std::for_each(std::begin(kOtherWords), std::end(kOtherWords), take);
    if (!known) return std::nullopt;
    if (plus == std::string_view::npos) return r;
    text.remove_prefix(plus + 1);
  }
}

std::string sharding_words(const Strategy& s) {
  if (!s.zero1) return ", no ZeRO-1";
  std::string text;
  if (s.sharding != Sharding::states || s.shard_ranks > 0)
    text = fmt::format(", ZeRO-{}", static_cast<int>(s.sharding) + 1);
  if (s.shard_ranks > 0) text += fmt::format(" over {} ranks", s.shard_ranks);
  return text;
}

std::string describe(const Strategy& s) {
  std::string text =
      fmt::format("TP {} x PP {} x DP {}", s.tensor_parallel, s.pipeline_parallel, s.data_parallel);
  if (s.context_parallel > 1) text += fmt::format(" x CP {}", s.context_parallel);
  if (s.expert_parallel > 1) text += fmt::format(" x EP {}", s.expert_parallel);
  if (s.virtual_pipeline > 1) text += fmt::format(", VPP {}", s.virtual_pipeline);
  if (s.expert_tensor_parallel > 0) text += fmt::format(", ETP {}", s.expert_tensor_parallel);
  text += fmt::format(", micro-batch {}", s.micro_batch);
  if (s.tensor_parallel > 1) text += s.sequence_parallel ? ", SP" : ", no SP";
  text += sharding_words(s);
  text += ", recompute " + to_string(s.recompute);
  if (!s.flash_attention) text += ", plain attention";
  if (!s.pipeline_cuts.empty()) text += fmt::format(", cuts {}", fmt::join(s.pipeline_cuts, "/"));
  const Schedule order = effective_schedule(s);
  if (order != Schedule::one_f_one_b && order != Schedule::interleaved)
    text += fmt::format(", {}", to_string(order));
  if (!s.framework.empty()) text += fmt::format(", {}", s.framework);
  return text;
}

Schedule effective_schedule(const Strategy& s) {
  if (s.pipeline_parallel == 1) return Schedule::one_f_one_b;
  if (s.schedule != Schedule::one_f_one_b && s.schedule != Schedule::interleaved) return s.schedule;
  return s.virtual_pipeline > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
}

int shard_degree(const Strategy& s) {
  if (!s.zero1) return 1;
  return s.shard_ranks > 0 ? s.shard_ranks : s.data_ranks();
}

Strategy canonical(Strategy s) {
  if (s.tensor_parallel == 1) s.sequence_parallel = false;
  if (s.pipeline_parallel == 1) s.virtual_pipeline = 1;
  s.schedule = effective_schedule(s);
  if (!s.zero1) {
    s.sharding = Sharding::states;
    s.shard_ranks = 0;
  }
  if (s.shard_ranks == s.data_ranks()) s.shard_ranks = 0;
  if (s.recompute.full) s.recompute = Recompute{.full = true, .every = s.recompute.every};
  if (s.recompute.alternate) s.recompute = Recompute{.alternate = true};
  if (s.recompute.mlp) s.recompute.activation_multiply = false;  // the MLP's own recompute covers its product
  if (s.flash_attention && !s.recompute.full && !s.recompute.alternate) s.recompute.core_attention = true;
  return s;
}

}  // namespace trnplan::models
