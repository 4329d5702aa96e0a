// Lint rules for kinds of configs: Megatron, MoE, alignment, trn2. Also for features that are not modelled,
// and for the end of support.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "targets/nxdt/nxdt_lint_rules.h"
#include "text/parse.h"

namespace trnplan::targets {

namespace {

// ---- Megatron, MoE, alignment

struct Rejected {
  std::string_view key;
  bool (*fails)(const Context&, std::string_view key);
  std::string_view fix;
};

bool when_true(const Context& x, std::string_view key) {
  return x.is_true(key);
}
bool when_false(const Context& x, std::string_view key) {
  return x.is_false(key);
}
bool when_stated(const Context& x, std::string_view key) {
  return x.states(key);
}
bool above_one(const Context& x, std::string_view key) {
  return x.config.whole(key).value_or(0) > 1;
}
bool when_block(const Context& x, std::string_view key) {
  return x.config.text(key) == "block";
}

constexpr Rejected kMegatronRejects[] = {
    {"model.megatron_amp_o2", when_true, "write False"},
    {"model.megatron_amp_O2", when_true, "write False"},
    {"model.gradient_accumulation_fusion", when_true, "write False"},
    {"model.use_emha", when_true, "write False"},
    {"model.activations_checkpoint_num_layers", above_one, "write 1 or remove it"},
    {"model.num_micro_batches_with_partial_activation_checkpoints", when_stated, "remove it"},
    {"model.activations_checkpoint_layers_per_pipeline", when_stated, "remove it"},
    {"model.disable_layer_norm_checkpointing", when_false, "remove it"},
    {"model.activations_checkpoint_method", when_block, "remove it"},
    {"model.bias_dropout_add_fusion", when_true, "write False"},
    {"model.bias_activation_fusion", when_true, "write False"},
    {"model.moe_dropout", when_true, "write False"},
};

void megatron_rejects(const Context& x, Report& report) {
  if (!x.megatron) return;
  for (const Rejected& r : kMegatronRejects) {
    if (!r.fails(x, r.key)) continue;
    report.error({r.key, fmt::format("{} raises ValueError on Trainium", printable(x.config.text(r.key), 60)),
                  std::string(r.fix),
                  nxdt("lightning_modules/model/megatron/megatron_base_model.py:71-129")});
  }
}

struct Choice {
  std::string_view key;
  std::vector<std::string_view> values;
};

void megatron_values(const Context& x, Report& report) {
  if (!x.megatron) return;
  const Choice choices[] = {
      {"model.normalization", {"rmsnorm", "layernorm"}},
      {"model.position_embedding_type", {"rope", "learned_absolute"}},
      {"model.activation", {"gelu", "geglu", "reglu", "swiglu"}},
      {"model.transformer_block_type", {"pre_ln", "post_ln", "normformer", "gpt_j"}},
  };
  for (const Choice& choice : choices) {
    const auto& values = choice.values;
    const bool known = std::find(values.begin(), values.end(), x.config.text(choice.key)) != values.end();
    if (!x.states(choice.key) || known) continue;
    report.warning({choice.key, x.shown(choice.key) + " is not one of the values that NxDT documents",
                    fmt::format("write one of {}", fmt::join(values, ", "))});
  }
  const std::string loader = x.config.text("data.dataloader_type", "single");
  if (!one_of(loader, {"single", "cyclic"})) {
    report.error({"data.dataloader_type", x.shown("data.dataloader_type") + " raises ValueError",
                  "write single or cyclic"});
  }
  if (x.is_true("data.fine_tuning")) {
    report.warning({"data.fine_tuning", "must be absent or False", "remove it", kNxdt});
  }
  const double rotary = x.config.number("model.rotary_percentage").value_or(1.0);
  if (!(rotary > 0 && rotary <= 1)) {
    report.warning({"model.rotary_percentage", "must be above 0 and at most 1", "write 1"});
  }
}

void moe_values(const Context& x, Report& report) {
  if (!x.moe) {
    if (x.strategy().expert_parallel > 1) {
      report.warning({kEp, "the model has no experts", "write expert_model_parallel_size: 1",
                      nxd("parallel_layers/parallel_state.py:582-589")});
    }
    return;
  }
  const std::optional<double> capacity = x.config.number("model.moe.capacity_factor");
  if (capacity && *capacity <= 0 && !x.is_true("model.moe.dropless")) {
    report.error(
        {"model.moe.capacity_factor", "must be above 0 unless dropless", "write 2.0, or dropless: True"});
  }
  const std::string routing = x.config.text("model.moe.routing_algorithm", "top_k");
  if (!one_of(routing, {"top_k", "sinkhorn"})) {
    report.warning({"model.moe.routing_algorithm", "unknown algorithm", "write top_k or sinkhorn"});
  }
  if (routing == "sinkhorn" && x.config.whole("model.moe.top_k").value_or(1) != 1) {
    report.warning(
        {"model.moe.top_k", "sinkhorn routing needs top_k 1", "write top_k: 1 or routing_algorithm: top_k"});
  }
  const int shuffle = x.config.whole("distributed_strategy.token_shuffle_group_size").value_or(1);
  if (shuffle > x.strategy().data_parallel) {
    report.warning({"distributed_strategy.token_shuffle_group_size",
                    fmt::format("more than DP {}", x.strategy().data_parallel),
                    "use at most the data-parallel degree"});
  }
}

void moe_dropless(const Context& x, Report& report) {
  if (!x.is_true("model.moe.dropless")) return;
  const std::string source = nxdt_examples("conf/megatron_mixtral_8x7b_dropless_config.yaml");
  const std::string activation = x.config.text("model.activation", "swiglu");
  if (!one_of(activation, {"swiglu", "silu"})) {
    report.warning(
        {"model.activation", "dropless experts need swiglu", "write 'swiglu', or dropless: False", source});
  }
  if (x.config.number("model.moe.capacity_factor").value_or(0) > 0) {
    report.note({"model.moe.capacity_factor", "dropless sets it to 0.0", "write 0.0", source});
  }
}

void moe_placement(const Context& x, Report& report) {
  if (x.strategy().expert_parallel == 1 || x.strategy().tensor_parallel != 4) return;
  report.warning({kEp, "not with TP 4, whose groups are strided",
                  "use another TP, or expert_model_parallel_size: 1",
                  nxd("parallel_layers/parallel_state.py:341-371")});
}

void truncation(const Context& x, Report& report) {
  for (const std::string_view key :
       {"model_alignment_strategy.dpo.truncation_mode", "model_alignment_strategy.orpo.truncation_mode"}) {
    if (!x.states(key) || one_of(x.config.text(key), {"keep_start", "keep_end"})) continue;
    report.warning({key, "unknown mode", "write keep_start or keep_end",
                    nxdt_examples("conf/hf_llama3_8B_DPO_config.yaml")});
  }
}

void alignment(const Context& x, Report& report) {
  if (!x.alignment) return;
  for (const std::string_view key : {"data.train_dir", "data.val_dir"}) {
    const std::string path = x.config.text(key);
    if (path.empty() || path.ends_with(".jsonl") || path.ends_with(".json") || path.ends_with(".arrow"))
      continue;
    report.warning({key, "alignment data must be a .jsonl, .json or .arrow file", "give such a file",
                    nxdt_examples("conf/hf_llama3_8B_SFT_config.yaml")});
  }
  constexpr std::string_view precompute = "model_alignment_strategy.dpo.precompute_ref_log_probs";
  if (x.is_false(precompute)) {
    report.error({precompute, "only True is supported", "write True",
                  nxdt_examples("conf/hf_llama3_8B_DPO_config.yaml")});
  }
}

void lora(const Context& x, Report& report) {
  if (!x.config.has_section("model_alignment_strategy.peft")) return;
  if (x.config.text("precision.type") != "autocast") {
    report.warning({"precision.type", "LoRA needs autocast", "write 'autocast'"});
  }
  if (x.strategy().zero1) report.warning({kZero1, "LoRA does not work with ZeRO-1", "write zero1: False"});
  constexpr std::string_view bias = "model_alignment_strategy.peft.lora_bias";
  if (x.states(bias) && !one_of(x.config.text(bias), {"none", "all", "lora_only"})) {
    report.warning({bias, "unknown value", "write none, all or lora_only"});
  }
  constexpr std::string_view targets = "model_alignment_strategy.peft.target_modules";
  for (const std::string& name : x.config.list(targets)) {
    if (one_of(name, {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"})) continue;
    report.warning({targets, fmt::format("\"{}\" is not a module LoRA can be put on", printable(name, 60)),
                    "use qkv_proj, o_proj, gate_up_proj or down_proj"});
  }
}

// ---- trn2, end of support

void trn2_values(const Context& x, Report& report) {
  if (!x.trn2) return;
  const int devices = x.reading.devices;
  const int lnc = x.lnc();
  const bool goes = lnc == 1 ? devices == 128 : devices <= 64 && devices != 32;
  if (lnc != 1 && lnc != 2) {
    report.error({"trainer.lnc", fmt::format("{}: a logical core has 1 or 2 physical ones", lnc),
                  "trn2: 64 devices with lnc: 2, or 128 with lnc: 1",
                  sdk("about-neuron/arch/neuron-features/logical-neuroncore-config.rst")});
  } else if (!goes) {
    report.warning({"trainer.lnc", fmt::format("{} devices do not match lnc {}", devices, lnc),
                    "trn2: 64 devices with lnc: 2, or 128 with lnc: 1"});
  }
  if (lnc == 1 && !x.contains("compiler_flags", "--logical-nc-config=1")) {
    report.warning({"compiler_flags", "lnc 1 needs the same setting in the compiler and the runtime",
                    "add --logical-nc-config=1 here and set NEURON_LOGICAL_NC_CONFIG=1"});
  }
}

void sequential_move(const Context& x, Report& report) {
  constexpr std::string_view key = "trainer.sequential_move_factor";
  if (x.config.whole(key).value_or(0) <= x.reading.devices) return;
  report.warning({key, fmt::format("more than the {} devices of a node", x.reading.devices),
                  "use at most trainer.devices", nxdt_examples("conf/hf_llama3_70B_trn2_config.yaml")});
}

/// Work of an alignment step that a pre-training step does not have.
std::string why_alignment(const Context& x) {
  const auto asks = [&](const char* kind) {
    return x.config.has_section(std::string("model_alignment_strategy.") + kind);
  };
  std::string why;
  const auto add = [&](const char* part) { why += (why.empty() ? "" : "; ") + std::string(part); };
  if (asks("sft")) add("SFT pads or packs samples, so the work of a step depends on the data");
  if (asks("dpo"))
    add("a DPO step runs the chosen and the rejected response of each prompt, twice the batch, after a pass "
        "of the reference model over all data");
  if (asks("orpo")) add("an ORPO step runs the chosen and the rejected response of each prompt");
  if (asks("peft")) add("LoRA trains adapters, so most weights have neither gradients nor optimizer states");
  return why.empty() ? "its steps differ from those of pre-training" : why;
}

/// Features that the simulator does not cover, one note each.
void not_modelled(const Context& x, Report& report) {
  for (const std::string& feature : x.reading.not_modelled) {
    const bool alignment = feature.starts_with("model");
    report.note({alignment ? "model_alignment_strategy" : "trainer.devices",
                 feature + " is not modelled yet" + (alignment ? ": " + why_alignment(x) : ""),
                 "check judges the file, its groups and its memory; there is no prediction",
                 "trnplan docs/rules.md, not-modelled"});
  }
}

/// True if the release is 2.30 or later; 2.30 is the first in maintenance.
bool in_maintenance(const std::string& release) {
  const std::size_t dot = release.find('.');
  if (dot == std::string::npos) return false;
  const std::string_view text = release;
  const std::string_view rest = text.substr(dot + 1);
  const int major = parse_whole(text.substr(0, dot)).value_or(0);
  const int minor = parse_whole(rest.substr(0, rest.find('.'))).value_or(0);
  return major > 2 || (major == 2 && minor >= 30);
}

void end_of_support(const Context& x, Report& report) {
  const bool late = in_maintenance(x.release);
  report.add(late ? Severity::warning : Severity::note,
             {"",
              "NxDT has been in maintenance since Neuron 2.30 and is supported up to 2.31; runtime 2.31 "
              "drops async execution, and the XLA_DOWNCAST_BF16 behind mixed_precision is deprecated",
              "stay on Neuron SDK 2.28 with PyTorch 2.9 until you migrate to native PyTorch",
              sdk("about-neuron/announcements/neuron2.x/"
                  "announce-maintenance-nxdt-nxd-core-training.rst")});
}

constexpr Rule kKindsRules[] = {
    {"megatron", megatron_rejects},
    {"megatron", megatron_values},
    {"moe", moe_values},
    {"moe", moe_dropless},
    {"moe", moe_placement},
    {"alignment", alignment},
    {"alignment", truncation},
    {"alignment", lora},
    {"trn2", trn2_values},
    {"trn2", sequential_move},
    {"not-modelled", not_modelled},
    {"end-of-support", end_of_support},
};

}  // namespace

std::span<const Rule> kind_rules() {
  return kKindsRules;
}

}  // namespace trnplan::targets
