#include "io/input/hf_dialects.h"

#include <algorithm>

namespace trnplan::io {

namespace {

using models::Architecture;
using models::Mlp;
using models::Norm;

constexpr std::string_view kGemma = "norms after its blocks, and scores that are capped or normalised";

// Defaults of llama, mistral, mixtral, gpt2, gpt_neox and bert, and of windows: huggingface/transformers@008e5743,
// configuration_*.py of each model (gpt_oss: @02b8f42b, gemma3: @008f5c8c). Other rows were not compared with them.
constexpr Dialect kDialects[] = {
    {.type = "llama",
     .architecture = "LlamaForCausalLM",
     .pretraining_tp = true,
     .attention_bias = true,
     .mlp_bias = true},
    {.type = "mistral", .architecture = "MistralForCausalLM", .window = 4096},
    {.type = "mixtral",
     .architecture = "MixtralForCausalLM",
     .experts = "num_local_experts",
     .window = 0,
     .flash = false},
    {.type = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .window = 4096,
     .asked_window = true,
     .layer_types = true,
     .windows_from = 28,
     .qkv_bias = true},
    {.type = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .window = 4096,
     .asked_window = true,
     .layer_types = true,
     .windows_from = 28,
     .states_head_dim = true,
     .qk_norm = true,
     .attention_bias = true},
    {.type = "qwen3_moe",
     .architecture = "Qwen3MoeForCausalLM",
     .experts = "num_experts",
     .expert_width = "moe_intermediate_size",
     .window = 4096,
     .asked_window = true,
     .states_head_dim = true,
     .qk_norm = true,
     .attention_bias = true},
    {.type = "phi3",
     .architecture = "Phi3ForCausalLM",
     .untimed = "fused products of queries, keys and values, and of gate and up, and rotary positions on a "
                "part of a head"},
    {.type = "gemma2",
     .architecture = "Gemma2ForCausalLM",
     .tied = true,
     .window = 4096,
     .layer_types = true,
     .full_every = 2,
     .states_head_dim = true,
     .norms = 4,
     .untimed = kGemma},
    {.type = "gemma3_text",
     .architecture = "Gemma3ForCausalLM",
     .tied = true,
     .window = 4096,
     .layer_types = true,
     .full_every = 6,
     .states_head_dim = true,
     .qk_norm = true,
     .norms = 4,
     .untimed = kGemma},
    {.type = "gemma3",
     .architecture = "Gemma3ForConditionalGeneration",
     .tied = true,
     .window = 4096,
     .layer_types = true,
     .full_every = 6,
     .states_head_dim = true,
     .qk_norm = true,
     .norms = 4,
     .text_part = true,
     .untimed = kGemma},
    {.type = "gpt_oss",
     .architecture = "GptOssForCausalLM",
     .experts = "num_local_experts",
     .window = 128,
     .layer_types = true,
     .full_every = 2,
     .states_head_dim = true,
     .attention_bias = true,
     .attention_biased = true,
     .expert_bias = true,
     .sinks = true},
    {.type = "deepseek_v3",
     .architecture = "DeepseekV3ForCausalLM",
     .experts = "n_routed_experts",
     .expert_width = "moe_intermediate_size",
     .grouped = false,
     .latent = true,
     .untimed =
         "multi-head latent attention, and shared experts in addition to those that tokens are routed to"},
    {.type = "gpt2",
     .architecture = "GPT2LMHeadModel",
     .mlp = Mlp::plain,
     .norm = Norm::layer,
     .learned_positions = true,
     .biases = true,
     .tied = true,
     .grouped = false,
     .flash = false,
     .gpt2_keys = true,
     .epsilon = "layer_norm_epsilon"},
    {.type = "gpt_neox",
     .architecture = "GPTNeoXForCausalLM",
     .mlp = Mlp::plain,
     .norm = Norm::layer,
     .biases = true,
     .grouped = false,
     .flash = false,
     .epsilon = "layer_norm_eps",
     .rope = "rotary_emb_base"},
    {.type = "bert",
     .architecture = "BertForPreTraining",
     .mlp = Mlp::plain,
     .norm = Norm::layer,
     .learned_positions = true,
     .biases = true,
     .tied = true,
     .causal = false,
     .token_types = 2,
     .grouped = false,
     .flash = false,
     .epsilon = "layer_norm_eps"},
};

bool spells_biases(const Dialect& d, const Architecture& a) {
  const bool all_of_attention = a.qkv_bias && a.blocks.output_bias;
  const bool none = !a.qkv_bias && !a.blocks.output_bias;
  const bool attention =
      d.qkv_bias ? a.qkv_bias && !a.blocks.output_bias : none || (d.attention_bias && all_of_attention);
  return attention && d.biases == a.biases && (d.mlp_bias || !a.blocks.mlp_bias);
}

bool spells(const Dialect& d, const Architecture& a) {
  return d.untimed.empty() && d.mlp == a.mlp && d.norm == a.norm &&
         d.learned_positions == a.learned_positions && spells_biases(d, a) && d.qk_norm == a.qk_norm &&
         d.causal == a.causal && (d.token_types > 0) == (a.token_types > 0) &&
         d.experts.empty() == (a.experts == 0) && d.expert_bias == a.blocks.expert_bias &&
         d.sinks == a.blocks.sinks && (d.window != kNoWindow || models::windowed_layers(a) == 0) &&
         (d.layer_types || !models::alternates_windows(a));
}

}  // namespace

std::span<const Dialect> dialects() {
  return kDialects;
}

std::string known_model_types() {
  std::string all;
  for (const Dialect& d : kDialects) all += (all.empty() ? "" : ", ") + std::string(d.type);
  return all;
}

const Dialect& dialect_of(const Architecture& a) {
  const auto* found = std::find_if(std::begin(kDialects), std::end(kDialects),
                                   [&](const Dialect& d) { return spells(d, a); });
  return found == std::end(kDialects) ? kDialects[0] : *found;
}

}  // namespace trnplan::io
