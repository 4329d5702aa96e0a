#include <fmt/format.h>

#include <algorithm>

#include "targets/megatron/megatron_questions.h"
#include "units/product.h"

namespace trnplan::targets::pretrain_gpt {

namespace {

// Optimizer and shards.
Broken gather_needs_shards(const Settings& s, const StartFacts&) {
  if (!s.on("--overlap-param-gather")) return {};
  const bool shards = s.on("--use-distributed-optimizer") || s.on("--use-megatron-fsdp") ||
                      s.text("--optimizer") == "dist_muon";
  if (!shards)
    return Breach{"needs the distributed optimizer or Megatron's FSDP", "add --use-distributed-optimizer"};
  if (!s.on("--overlap-grad-reduce"))
    return Breach{"needs --overlap-grad-reduce", "add --overlap-grad-reduce"};
  return {};
}

Broken fsdp_format(const Settings& s, const StartFacts&) {
  const bool dtensor = s.text("--ckpt-format") == "fsdp_dtensor", own = s.on("--use-megatron-fsdp");
  if (dtensor == own) return {};
  return own ? Breach{"needs checkpoints of the format fsdp_dtensor", "add --ckpt-format fsdp_dtensor"}
             : Breach{"checkpoints of Megatron's FSDP, which is off", "write --ckpt-format torch_dist"};
}

Broken fsdp_optimizer(const Settings& s, const StartFacts&) {
  const std::string optimizer = s.text("--optimizer");
  if (!s.on("--use-megatron-fsdp")) return {};
  if (optimizer != "adam" && optimizer != "sgd")
    return Breach{"Megatron's FSDP supports adam and sgd only", "write --optimizer adam"};
  if (s.text("--megatron-fsdp-version") == "2" && s.on("--use-distributed-optimizer"))
    return Breach{"version 2 of it excludes the distributed optimizer", "drop --use-distributed-optimizer"};
  return {};
}

Broken torch_fsdp_alone(const Settings& s, const StartFacts&) {
  if (!s.on("--use-torch-fsdp2")) return {};
  if (stages(s) > 1) return Breach{"excludes pipeline parallel", "write PP 1"};
  if (s.whole("--expert-model-parallel-size") > 1) return Breach{"excludes expert parallel", "write EP 1"};
  if (s.on("--use-distributed-optimizer"))
    return Breach{"excludes the distributed optimizer", "drop --use-distributed-optimizer"};
  if (!s.on("--no-gradient-accumulation-fusion"))
    return Breach{"excludes fused accumulation of gradients", "add --no-gradient-accumulation-fusion"};
  const std::string format = s.text("--ckpt-format");
  if (format != "torch_dist" && format != "torch_dcp")
    return Breach{"needs checkpoints of torch_dist or torch_dcp", "write --ckpt-format torch_dist"};
  if (!s.on("--untie-embeddings-and-output-weights"))
    return Breach{"excludes tied embeddings", "add --untie-embeddings-and-output-weights"};
  if (s.on("--fp16")) return Breach{"excludes FP16", "write --bf16"};
  return {};
}

Broken dcp_needs_torch_fsdp(const Settings& s, const StartFacts&) {
  if (s.text("--ckpt-format") != "torch_dcp") return {};
  if (s.on("--use-torch-fsdp2") && tensor(s) == 1 && stages(s) == 1) return {};
  return Breach{"torch_dcp needs --use-torch-fsdp2, TP 1 and PP 1", "write --ckpt-format torch_dist"};
}

// Precision.
Broken one_precision(const Settings& s, const StartFacts&) {
  if (!s.on("--fp16") || !s.on("--bf16")) return {};
  return Breach{"--fp16 and --bf16 exclude each other", "drop one of them"};
}

Broken one_narrow_format(const Settings& s, const StartFacts&) {
  if (!s.given("--fp8-format") || !s.given("--fp4-format")) return {};
  return Breach{"--fp8-format and --fp4-format exclude each other", "drop one of them"};
}

Broken narrow_gather(const Settings& s, const StartFacts&) {
  if (s.on("--fp4-param-gather") && !s.given("--fp4-format"))
    return Breach{"--fp4-param-gather needs --fp4-format", "drop it, or add --fp4-format e2m1", false,
                  "--fp4-param-gather"};
  if (!s.on("--fp8-param-gather")) return {};
  if (!s.given("--fp8-format"))
    return Breach{"--fp8-param-gather needs --fp8-format", "drop it, or add --fp8-format hybrid"};
  if (s.on("--use-distributed-optimizer") || fsdp(s)) return {};
  return Breach{"--fp8-param-gather needs the distributed optimizer or FSDP",
                "add --use-distributed-optimizer"};
}

/// Blackwell is the first that computes in FP4, and in MXFP8.
Broken narrow_on_device(const Settings& s, const StartFacts& f) {
  const bool blackwell = f.core.fp4.value > 0, mx = s.text("--fp8-recipe") == "mxfp8";
  const char* lacking = nullptr;
  if (s.given("--fp8-format")) lacking = mx && !blackwell ? "MXFP8" : f.core.fp8.value <= 0 ? "FP8" : nullptr;
  if (s.given("--fp4-format") && !blackwell) lacking = "FP4";
  if (lacking == nullptr) return {};
  return Breach{fmt::format("the device does not compute in {}", lacking),
                "drop it, or name another --instance"};
}

Broken wide_parts(const Settings& s, const StartFacts&) {
  if (s.on("--fp16-lm-cross-entropy") && !s.on("--fp16"))
    return Breach{"--fp16-lm-cross-entropy needs --fp16", "drop it"};
  if (s.on("--fp32-residual-connection") && !s.on("--fp16") && !s.on("--bf16"))
    return Breach{"--fp32-residual-connection needs --fp16 or --bf16", "drop it, or add --bf16", false,
                  "--fp32-residual-connection"};
  return {};
}

Broken fused_loss(const Settings& s, const StartFacts&) {
  if (!s.on("--cross-entropy-loss-fusion") || s.text("--cross-entropy-fusion-impl") != "te") return {};
  return Breach{"Transformer Engine's fused cross entropy is turned off",
                "write --cross-entropy-fusion-impl native"};
}

Broken one_activation(const Settings& s, const StartFacts&) {
  if (!s.on("--swiglu") || (!s.on("--squared-relu") && !s.on("--quick-geglu"))) return {};
  return Breach{"--swiglu excludes --squared-relu and --quick-geglu", "keep one of them"};
}

Broken latent_excludes_groups(const Settings& s, const StartFacts&) {
  if (!s.on("--multi-latent-attention") || !s.on("--group-query-attention")) return {};
  return Breach{"latent attention excludes query groups", "drop --group-query-attention"};
}

// Recompute.
Broken recompute_is_whole(const Settings& s, const StartFacts&) {
  if (granularity(s) != "full") return {};
  if (!s.given("--recompute-method") || !s.given("--recompute-num-layers")) {
    return Breach{"full needs a method and a number of layers",
                  "add --recompute-method uniform --recompute-num-layers 1"};
  }
  return {};
}

Broken selective_is_plain(const Settings& s, const StartFacts&) {
  if (granularity(s) != "selective") return {};
  if (s.given("--recompute-method")) return Breach{"is for full recompute", "drop it"};
  if (s.given("--recompute-num-layers")) return Breach{"a number of layers is for full recompute", "drop it"};
  return {};
}

/// Modules as they are named, up to the first word that is none.
Broken modules_are_known(const Settings& s, const StartFacts&) {
  static const std::vector<std::string> kModules = split_words(
      "core_attn moe_act layernorm mla_up_proj mlp moe shared_experts gdn_norm_out gdp_in_proj "
      "gdp_qkv mhc");
  if (granularity(s) != "selective" || !s.given("--recompute-modules")) return {};
  for (const std::string& m : s.list("--recompute-modules")) {
    if (m.find_first_of("$/.") != std::string::npos || m == "torchrun") break;
    if (std::find(kModules.begin(), kModules.end(), m) == kModules.end())
      return Breach{in_quotes(m) + " is not a module that can be recomputed",
                    "write core_attn, layernorm, mlp or moe"};
    if (m == "moe_act" && !s.on("--moe-grouped-gemm"))
      return Breach{"moe_act needs --moe-grouped-gemm", "add --moe-grouped-gemm, or drop it"};
    if (m == "mla_up_proj" && !s.on("--multi-latent-attention"))
      return Breach{"mla_up_proj needs --multi-latent-attention", "drop it"};
    const bool delayed = s.given("--fp8-format") && s.text("--fp8-recipe") == "delayed";
    if (delayed && (m == "moe_act" || m == "layernorm"))
      return Breach{m + " is not recomputed with FP8's delayed scaling",
                    "drop it, or write --fp8-recipe tensorwise"};
  }
  return {};
}

Broken shared_activations(const Settings& s, const StartFacts&) {
  if (!s.on("--distribute-saved-activations")) return {};
  if (tensor(s) > 1 && granularity(s) == "full" && s.given("--recompute-method") &&
      !s.on("--sequence-parallel"))
    return {};
  return Breach{"needs TP above 1, full recompute with a method, and no sequence parallel", "drop it"};
}

Broken offload_alone(const Settings& s, const StartFacts&) {
  const std::int64_t layers = s.whole("--cpu-offloading-num-layers");
  if (layers == 0) return {};
  if (!granularity(s).empty()) return Breach{"offload excludes recompute", "drop one of the two"};
  if (stages(s) > 1) return Breach{"offload excludes pipeline parallel", "drop it"};
  if (layers >= s.whole("--num-layers"))
    return Breach{"offload of every layer", "write fewer than the layers"};
  return {};
}

}  // namespace

const std::vector<StartRule>& program_rules() {
  static const std::vector<StartRule> all = {
      {"zero1", "overlap of gathers",
       "--overlap-param-gather --use-distributed-optimizer --use-megatron-fsdp --overlap-grad-reduce "
       "--optimizer",
       gather_needs_shards, kArguments},
      {"fsdp", "format of Megatron's", "--use-megatron-fsdp --ckpt-format", fsdp_format, kArguments},
      {"fsdp", "optimizer of Megatron's",
       "--use-megatron-fsdp --optimizer --megatron-fsdp-version --use-distributed-optimizer", fsdp_optimizer,
       kArguments},
      {"fsdp", "PyTorch's",
       "--use-torch-fsdp2 --pipeline-model-parallel-size --expert-model-parallel-size "
       "--use-distributed-optimizer --no-gradient-accumulation-fusion --ckpt-format "
       "--untie-embeddings-and-output-weights --fp16",
       torch_fsdp_alone, kArguments},
      {"fsdp", "format of PyTorch's",
       "--ckpt-format --use-torch-fsdp2 --tensor-model-parallel-size --pipeline-model-parallel-size",
       dcp_needs_torch_fsdp, kArguments},
      {"precision", "one of two", "--fp16 --bf16", one_precision, kConfig},
      {"precision", "one narrow format", "--fp8-format --fp4-format", one_narrow_format, kArguments},
      {"precision", "gathers in FP8",
       "--fp8-param-gather --fp4-param-gather --fp8-format --fp4-format --use-distributed-optimizer",
       narrow_gather, kArguments},
      {"precision", "formats of the device", "--fp8-format --fp4-format --fp8-recipe", narrow_on_device,
       kEngine},
      {"precision", "parts", "--fp16-lm-cross-entropy --fp32-residual-connection --fp16 --bf16", wide_parts,
       kArguments},
      {"fused-loss", "Transformer Engine's", "--cross-entropy-fusion-impl --cross-entropy-loss-fusion",
       fused_loss, kArguments},
      {"activation", "one of three", "--swiglu --squared-relu --quick-geglu", one_activation, kBuilder},
      {"heads", "latent attention", "--multi-latent-attention --group-query-attention",
       latent_excludes_groups, kArguments},
      {"recompute", "full", "--recompute-granularity --recompute-method --recompute-num-layers",
       recompute_is_whole, kConfig, true},
      {"recompute", "selective",
       "--recompute-method --recompute-num-layers --recompute-granularity --recompute-activations",
       selective_is_plain, kConfig, true},
      {"recompute", "modules",
       "--recompute-modules --recompute-granularity --recompute-activations --moe-grouped-gemm "
       "--multi-latent-attention --fp8-format --fp8-recipe",
       modules_are_known, kConfig},
      {"recompute", "shared activations",
       "--distribute-saved-activations --tensor-model-parallel-size --recompute-granularity "
       "--recompute-method "
       "--sequence-parallel",
       shared_activations, kArguments},
      {"recompute", "offload",
       "--cpu-offloading-num-layers --num-layers --recompute-granularity --pipeline-model-parallel-size",
       offload_alone, kConfig},
  };
  return all;
}

}  // namespace trnplan::targets::pretrain_gpt
