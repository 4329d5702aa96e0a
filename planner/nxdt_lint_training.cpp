// Lint rules on precision, optimizer, schedule, recompute, checkpoints and runtime; on what only Megatron,
// MoE, alignment and trn2 configs have; and on the end of support.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/nxdt_lint_rules.h"
#include "units/parse.h"

namespace trnplan::planner {

namespace {

// ---- precision, optimizer, schedule

void precision_type(const Context& x, Report& report) {
  if (!x.config.has_section("precision")) return;
  const std::string type = x.config.text("precision.type");
  if (models::precision_from(type)) return;
  if (type == "mixed_precision_SR") {
    report.warning({"precision.type", "with this spelling master weights and fp32 gradients stay off",
                    "write manual with master_weights and fp32_grad_acc True, xla_downcast_bf16 '1', "
                    "neuron_rt_stochastic_rounding_en '1'",
                    nxdt("lightning_modules/model/base.py:124-125")});
    return;
  }
  report.error({"precision.type", x.shown("precision.type") + " raises ValueError",
                type == "mixed_precisionSR" ? "write manual with the five values, or mixed_precision"
                                            : "write mixed_precision, autocast, bf16SR, fp32 or manual",
                nxdt_examples("training_orchestrator.py")});
}

void precision_values(const Context& x, Report& report) {
  for (const std::string_view key : {"precision.xla_use_bf16", "precision.xla_downcast_bf16",
                                     "precision.neuron_rt_stochastic_rounding_en"}) {
    const NxdtKey* leaf = x.config.find(key);
    if (leaf == nullptr || !x.states(key) || (leaf->quoted && one_of(leaf->text, {"0", "1"}))) continue;
    report.warning({key, "becomes an environment variable and must be the text '0' or '1'",
                    "write '0' or '1', in quotes", nxdt_examples("conf")});
  }
  const std::string reduce = x.config.text("precision.parallel_layers_reduce_dtype", "bf16");
  if (!one_of(reduce, {"bf16", "fp32", "fp16"})) {
    report.warning({"precision.parallel_layers_reduce_dtype", "unknown type",
                    "write 'bf16', 'fp32' or 'fp16'", nxdt_examples("conf")});
  }
}

/// What `manual` takes from the file, and what the others ignore.
void precision_manual(const Context& x, Report& report) {
  if (x.config.text("precision.type") != "manual") return;
  for (const std::string_view key :
       {"precision.master_weights", "precision.fp32_grad_acc", "precision.xla_use_bf16",
        "precision.xla_downcast_bf16", "precision.neuron_rt_stochastic_rounding_en"}) {
    if (x.states(key)) continue;
    report.warning({key, "precision type manual takes this value from the file, and it is missing",
                    key.ends_with("weights") || key.ends_with("acc") ? "write True or False"
                                                                     : "write '0' or '1', in quotes",
                    nxdt_examples("training_orchestrator.py")});
  }
}

void precision_reduce(const Context& x, Report& report) {
  constexpr std::string_view key = "precision.parallel_layers_reduce_dtype";
  if (!x.states(key) || x.hf_llama()) return;
  report.note({key, "only HF Llama models pass it on; here it has no effect", "remove it",
               nxdt("models/hf_models/modeling_llama.py")});
}

void precision_flags(const Context& x, Report& report) {
  const bool mixed =
      x.config.text("precision.type") == "manual" && x.config.text("precision.xla_downcast_bf16") == "1";
  const bool flag = x.contains("compiler_flags", "--enable-mixed-precision-accumulation");
  if (!mixed || flag) return;
  report.warning({"compiler_flags", "precision type manual appends no compiler flag",
                  "add --enable-mixed-precision-accumulation", nxdt_examples("training_orchestrator.py")});
}

void zero1(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const bool lora = x.config.has_section("model_alignment_strategy.peft");
  const std::string type = x.config.text("precision.type");
  const bool asks = x.is_true("precision.master_weights") || x.is_true("precision.fp32_grad_acc");
  const bool loses = one_of(type, {"mixed_precision", "autocast"}) || (type == "manual" && asks);
  if (!s.zero1 && x.megatron) {
    report.error({kZero1, "Megatron models refuse to train without ZeRO-1", "write zero1: True",
                  nxdt("lightning_modules/model/megatron/megatron_base_model.py:71-129")});
  } else if (!s.zero1 && !lora && loses) {
    report.warning({kZero1, "False also turns off master weights and fp32 gradients", "write zero1: True",
                    nxdt("lightning_modules/model/base.py:124-125")});
  }
  if (s.zero1 && s.expert_parallel > 1 && s.context_parallel > 1) {
    report.error({kZero1, "ZeRO-1 with expert and context parallel raises ValueError", "set one of them to 1",
                  nxd("optimizer/zero_redundancy_optimizer.py:172")});
  }
}

void gradient_clip(const Context& x, Report& report) {
  constexpr std::string_view key = "trainer.gradient_clip_val";
  if (!x.states(key)) return;
  const std::optional<double> value = x.config.number(key);
  if (!value) {
    report.error({key, "must be a number or null; anything else raises TypeError", "write 1.0",
                  nxdt("lightning_modules/nlp_overrides.py:890-938")});
  } else if (*value != 1.0 && x.strategy().zero1) {
    report.warning(
        {key,
         fmt::format("{} is not passed on with ZeRO-1: gradients are clipped at 1.0", x.config.text(key)),
         "write 1.0",
         nxd("trainer/trainer.py:250-255") +
             ", pytorch/xla torch_xla/distributed/zero_redundancy_optimizer.py:104"});
  }
}

void weight_decay(const Context& x, Report& report) {
  const std::optional<double> decay = x.config.number("model.optim.weight_decay");
  if (!x.megatron && decay && *decay != 0.01) {
    report.warning({"model.optim.weight_decay",
                    fmt::format("{} is ignored for HF models: 0.01 is built in",
                                x.config.text("model.optim.weight_decay")),
                    "write 0.01, so that the file says what happens", nxdt("utils/model_utils.py:12-20")});
  }
  if (!x.megatron && x.is_false("model.do_layer_norm_weight_decay")) {
    report.note({"model.do_layer_norm_weight_decay",
                 "for HF models the meaning is inverted: False decays the norm weights",
                 "write True to leave norms out of the decay",
                 nxdt("lightning_modules/model/hf_models/base_model.py:39-44")});
  }
}

void optimizer_name(const Context& x, Report& report) {
  const std::string name = x.config.text("model.optim.name");
  const std::string source = nxdt("lightning_modules/model/megatron/megatron_base_model.py");
  if (x.megatron && name == "distributed_fused_adam") {
    report.error(
        {"model.optim.name", "distributed_fused_adam raises", "write adamw_fp32OptState or adamw", source});
  } else if (!name.empty() &&
             !one_of(name, {"adamw", "adamw_fp32OptState", "sgd", "adam", "adadelta", "adamax", "adagrad",
                            "rmsprop", "rprop", "novograd", "adafactor", "distributed_fused_adam"})) {
    report.warning({"model.optim.name", x.shown("model.optim.name") + " is no optimizer NeMo registers",
                    "write adamw_fp32OptState or adamw", source});
  }
}

void schedule(const Context& x, Report& report) {
  const std::string source = nxdt_examples("conf");
  const std::string name = x.config.text("model.optim.sched.name");
  if (!name.empty() &&
      !one_of(name, {"LinearAnnealingWithWarmUp", "CosineAnnealing", "WarmupPolicy", "WarmupHoldPolicy",
                     "SquareAnnealing", "NoamAnnealing", "WarmupAnnealing", "StepLR", "ExponentialLR"})) {
    report.warning({"model.optim.sched.name",
                    x.shown("model.optim.sched.name") + " is no scheduler NxDT or NeMo registers",
                    "write LinearAnnealingWithWarmUp or CosineAnnealing", source});
  }
  const std::optional<int> steps = x.config.whole("trainer.max_steps");
  const std::optional<int> annealed = x.config.whole("model.optim.sched.max_steps");
  if (steps && annealed && *steps > 0 && *steps != *annealed) {
    report.warning({"model.optim.sched.max_steps",
                    fmt::format("the schedule ends at {}, the run at {}", *annealed, *steps),
                    "write the same number in both places", source});
  }
  const int warmup = x.config.whole("model.optim.sched.warmup_steps").value_or(0);
  if (steps && *steps > 0 && warmup >= *steps) {
    report.warning({"model.optim.sched.warmup_steps",
                    fmt::format("the warm-up of {} steps outlasts the run of {}", warmup, *steps),
                    "use fewer warm-up steps", source});
  }
}

// ---- recompute

/// Does NxDT resolve this class name for the model? Names it does not resolve are dropped silently.
bool resolves(const Context& x, std::string_view name) {
  if (x.megatron) return one_of(name, {"CoreAttention", "NeuronSwitchMLP"});
  if (x.moe) {
    return one_of(name, {"CoreAttention", "MixtralDecoderLayer", "MixtralRMSNorm", "LlamaMLP", "MoE",
                         "ColumnParallelLinear", "RowParallelLinear"});
  }
  return one_of(name, {"CoreAttention", "LlamaDecoderLayer", "LlamaForCausalLM", "LlamaRMSNorm", "LlamaMLP",
                       "ActivationMultiplyMLP", "LlamaRotaryEmbedding"});
}

std::string recompute_source() {
  return nxd("trainer/trainer.py:227");
}

void recompute_missing(const Context& x, Report& report) {
  constexpr std::string_view fix = "name classes, for example [CoreAttention, LlamaMLP]";
  if (x.has(kRecompute)) {
    report.error({kRecompute,
                  x.states(kRecompute) ? "selective with an empty list fails an assertion"
                                       : "selective with null raises TypeError",
                  std::string(fix), recompute_source()});
    return;
  }
  // HyperPod recipes were written for older releases, where selective alone was enough.
  report.add(x.recipe ? Severity::warning : Severity::error,
             {kRecompute, "selective without a list fails an assertion (NxDT 1.6)", std::string(fix),
              recompute_source()});
}

void recompute_classes(const Context& x, Report& report) {
  if (x.config.text(kGranularity) != "selective") return;
  const std::vector<std::string> names = x.config.list(kRecompute);
  if (names.empty()) {
    recompute_missing(x, report);
    return;
  }
  std::string dropped;
  std::size_t kept = 0;
  for (const std::string& name : names) {
    if (resolves(x, name))
      ++kept;
    else
      dropped += (dropped.empty() ? "" : ", ") + printable(name, 60);
  }
  if (dropped.empty()) return;
  report.add(kept == 0 ? Severity::error : Severity::warning,
             {kRecompute,
              fmt::format("{}: no class of this model{}", dropped,
                          kept == 0 ? "; the empty rest fails an assertion" : "; dropped silently"),
              x.hf_llama() ? "use CoreAttention, LlamaMLP, LlamaRMSNorm or ActivationMultiplyMLP"
                           : "use CoreAttention",
              recompute_source()});
}

void recompute_effect(const Context& x, Report& report) {
  const std::string granularity = x.config.text(kGranularity);
  const std::vector<std::string> names = x.config.list(kRecompute);
  const bool fused = !x.megatron && (x.is_true(kFlash) || x.is_true(kRing));
  const std::string source = nxdt("lightning_modules/model/hf_models/llama_model.py");
  if (!granularity.empty() && !one_of(granularity, {"full", "selective"})) {
    report.warning({kGranularity, x.shown(kGranularity) + " is none of full, selective, null",
                    "write full, selective or null", source});
  }
  const bool attention_alone = std::find(names.begin(), names.end(), "CoreAttention") != names.end() &&
                               std::none_of(names.begin(), names.end(), [&](const std::string& n) {
                                 return n != "CoreAttention" && resolves(x, n);
                               });
  if (granularity == "selective" && fused && attention_alone) {
    report.note({kRecompute, "with flash attention CoreAttention is never called: nothing is recomputed",
                 "add LlamaMLP to save memory", nxdt("models/hf_models/modeling_llama.py")});
  }
  if (granularity != "selective" && !names.empty()) {
    report.note({kRecompute, "is read only with granularity selective",
                 "write activations_checkpoint_granularity: selective, or remove the list", source});
  }
  if (granularity.empty() && x.hf_llama() && !fused) {
    report.note({kGranularity, "without flash attention NxDT recomputes CoreAttention even so",
                 "write selective and [CoreAttention]", source});
  }
  if (x.is_true("model.activations_checkpoint_recompute_mlp")) {
    report.note({"model.activations_checkpoint_recompute_mlp", "an old key that NxDT 1.6 does not read",
                 "add LlamaMLP to activations_checkpoint_recompute", source});
  }
}

// ---- checkpoints, runtime

void checkpoint(const Context& x, Report& report) {
  if (x.is_false("exp_manager.create_checkpoint_callback")) return;
  constexpr std::string_view interval = "exp_manager.checkpoint_callback_params.every_n_train_steps";
  constexpr std::string_view filename = "exp_manager.checkpoint_callback_params.filename";
  const int steps = x.config.whole(interval).value_or(0);
  if (steps > 0 && steps < 100) {
    report.warning({interval, fmt::format("a checkpoint every {} steps", steps),
                    "use some hundred steps, for example 200",
                    nxdt_examples("conf/hf_llama3_8B_config.yaml")});
  }
  if (x.has(interval) && steps <= 0 && x.config.whole(interval)) {
    report.note({interval,
                 "0 and -1 turn off periodic checkpoints; one is still written when the training ends",
                 "create_checkpoint_callback: False turns off that one too", nxdt("utils/exp_manager.py")});
  }
  const int run = x.config.whole("trainer.max_steps").value_or(-1);
  if (run > 0 && steps > run) {
    report.note(
        {interval,
         fmt::format("more than the {} steps of the run: only the checkpoint at its end is written", run),
         "use some hundred steps, for example 200", nxdt("utils/exp_manager.py")});
  }
  const bool params = x.config.has_section("exp_manager.checkpoint_callback_params");
  if ((params || x.states(filename)) && !x.contains(filename, "{consumed_samples}")) {
    report.warning({filename, "without {consumed_samples} a resumed run starts the data from the beginning",
                    "end it in --{step}-{consumed_samples}", nxdt("lightning_modules/data/base.py:42")});
  }
}

void checkpoint_size(const Context& x, Report& report) {
  constexpr std::string_view key = "exp_manager.checkpoint_callback_params.model_parallel_size";
  const models::Strategy& s = x.strategy();
  const std::int64_t size = static_cast<std::int64_t>(s.tensor_parallel) * s.pipeline_parallel;
  const std::optional<int> stated = x.config.whole(key);
  if (!stated || *stated == size || unresolved_degree(x.config) != nullptr) return;
  report.warning({key, fmt::format("{} is not TP x PP = {}", *stated, size), fmt::format("write {}", size),
                  nxdt_examples("conf")});
}

void checkpoint_host_memory(const Context& x, Report& report) {
  if (x.is_false("exp_manager.save_xser")) {
    report.warning(
        {"exp_manager.save_xser",
         "every rank copies its whole state to the host at once: a large model exhausts its memory",
         "write save_xser: True and load_xser: True", nxd("trainer/checkpoint.py")});
  }
  if (x.is_true("exp_manager.async_checkpointing")) {
    report.note({"exp_manager.async_checkpointing",
                 "every process is forked to save: about twice the host memory; recommended from 64 nodes on",
                 "write False unless the host has the memory", kKnownIssues});
  }
}

/// Where a run finds its checkpoint again.
void resume(const Context& x, Report& report) {
  constexpr std::string_view again = "exp_manager.resume_if_exists";
  constexpr std::string_view folder = "exp_manager.explicit_log_dir";
  constexpr std::string_view from = "exp_manager.resume_from_checkpoint";
  const std::string setup = nxdt_examples("train_setup.sh");
  if (x.is_true(again) && x.states(folder)) {
    report.note({folder, "examples/train.sh sets it to null on Slurm", "use a launcher that keeps it",
                 nxdt_examples("train.sh")});
  } else if (x.is_true(again) && !x.states(from)) {
    report.note(
        {again,
         "examples/train.sh gives every Slurm job a folder of its own: a requeued job resumes, a new job "
         "starts from the beginning",
         "use a launcher that sets exp_manager.explicit_log_dir, or write resume_from_checkpoint", setup});
  }
  const models::Strategy& s = x.strategy();
  if (x.states(from)) {
    report.note(
        {from,
         fmt::format("must have been written with TP {}, PP {} and kv_replicator {}, on the same kind of "
                     "chip",
                     s.tensor_parallel, s.pipeline_parallel, s.kv_replicator),
         "convert the checkpoint if it was not", nxd("modules/qkv_linear.py:80-86")});
  } else if (x.is_true("model.weight_init_only")) {
    report.note({"model.weight_init_only", "loads nothing without exp_manager.resume_from_checkpoint",
                 "name the checkpoint there", nxdt_examples("conf/hf_llama3_8B_SFT_config.yaml")});
  }
}

void collectives_bucket(const Context& x, Report& report) {
  const int megabytes = x.config.whole("bucket_size_collectives").value_or(1024);
  if (megabytes == 1024 || !x.strategy().zero1) return;
  report.warning({"bucket_size_collectives", "has no effect with ZeRO-1: nothing reads it",
                  "set ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB in the environment instead",
                  nxd("optimizer/zero_redundancy_optimizer.py")});
}

void async_inflight(const Context& x, Report& report) {
  constexpr std::string_view key = "aync_exec_max_inflight_requests";
  const int requests = x.config.whole(key).value_or(0);
  if (requests <= 5) return;  // 5 is what most shipped configs use
  report.note(
      {key,
       fmt::format("{} requests in flight: the runtime guide recommends 3, more may run out of memory",
                   requests),
       "use 3 to 5", sdk("neuron-runtime/guides/configuration-guide.rst:232")});
}

void compiler_flags(const Context& x, Report& report) {
  const bool kernels = !x.megatron && (x.is_true(kFlash) || x.is_true(kRing));
  if (kernels && x.contains("compiler_flags", "llm-training")) {
    report.warning(
        {"compiler_flags",
         "--distribution-strategy=llm-training must not be combined with NKI kernels (flash attention)",
         "remove --distribution-strategy=llm-training", sdk("release-notes/components/nxd-training.rst")});
  }
}

void compiler_cache(const Context& x, Report& report) {
  const std::string path = x.config.text("compiler_cache_url");
  if (x.reading.nodes == 1 ||
      !(path.starts_with("/tmp") || path.starts_with("/var/tmp") || path.starts_with("/dev/shm")))
    return;
  report.warning({"compiler_cache_url", "a local folder: every node would compile on its own",
                  "use shared storage or s3://", nxdt_examples("conf")});
}

void compress_groups(const Context& x, Report& report) {
  constexpr std::string_view key = "neuron_experimental_compress_rg";
  if (!x.is_true(key) || x.strategy().tensor_parallel != 4) return;
  report.warning({key, "not with TP 4, whose groups are strided", "write False",
                  nxd("parallel_layers/parallel_state.py:341-371")});
}

void logging(const Context& x, Report& report) {
  if (x.config.whole("trainer.log_every_n_steps").value_or(10) != 1) return;
  report.note({"trainer.log_every_n_steps", "the host waits for the devices at every logged step", "write 10",
               nxdt_examples("conf/hf_llama3_8B_config.yaml")});
}

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
  const std::string source = nxdt_examples("conf/megatron_gpt_config.yaml");
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
    report.warning({choice.key, x.shown(choice.key) + " is none of the values NxDT documents",
                    fmt::format("write one of {}", fmt::join(values, ", ")), source});
  }
  const std::string loader = x.config.text("data.dataloader_type", "single");
  if (!one_of(loader, {"single", "cyclic"})) {
    report.error({"data.dataloader_type", x.shown("data.dataloader_type") + " raises ValueError",
                  "write single or cyclic", source});
  }
  if (x.is_true("data.fine_tuning")) {
    report.warning({"data.fine_tuning", "must be absent or False", "remove it", kNxdt});
  }
  const double rotary = x.config.number("model.rotary_percentage").value_or(1.0);
  if (!(rotary > 0 && rotary <= 1)) {
    report.warning({"model.rotary_percentage", "must lie above 0 and at most at 1", "write 1", source});
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
  const std::string source = nxdt_examples("conf/hf_mixtral_8x7b_config.yaml");
  const std::optional<double> capacity = x.config.number("model.moe.capacity_factor");
  if (capacity && *capacity <= 0 && !x.is_true("model.moe.dropless")) {
    report.error({"model.moe.capacity_factor", "must be above 0 unless dropless",
                  "write 2.0, or dropless: True", source});
  }
  const std::string routing = x.config.text("model.moe.routing_algorithm", "top_k");
  if (!one_of(routing, {"top_k", "sinkhorn"})) {
    report.warning({"model.moe.routing_algorithm", "unknown algorithm", "write top_k or sinkhorn", source});
  }
  if (routing == "sinkhorn" && x.config.whole("model.moe.top_k").value_or(1) != 1) {
    report.warning({"model.moe.top_k", "sinkhorn routing goes with top_k 1",
                    "write top_k: 1 or routing_algorithm: top_k", source});
  }
  const int shuffle = x.config.whole("distributed_strategy.token_shuffle_group_size").value_or(1);
  if (shuffle > x.strategy().data_parallel) {
    report.warning({"distributed_strategy.token_shuffle_group_size",
                    fmt::format("more than DP {}", x.strategy().data_parallel),
                    "use at most the data-parallel degree", source});
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
    report.warning({precompute, "only True is supported", "write True",
                    nxdt_examples("conf/hf_llama3_8B_DPO_config.yaml")});
  }
}

void lora(const Context& x, Report& report) {
  if (!x.config.has_section("model_alignment_strategy.peft")) return;
  const std::string source = nxdt_examples("conf/hf_llama3_8B_SFT_lora_config.yaml");
  if (x.config.text("precision.type") != "autocast") {
    report.warning({"precision.type", "LoRA needs autocast", "write 'autocast'", source});
  }
  if (x.strategy().zero1)
    report.warning({kZero1, "LoRA does not go with ZeRO-1", "write zero1: False", source});
  constexpr std::string_view bias = "model_alignment_strategy.peft.lora_bias";
  if (x.states(bias) && !one_of(x.config.text(bias), {"none", "all", "lora_only"})) {
    report.warning({bias, "unknown value", "write none, all or lora_only", source});
  }
  constexpr std::string_view targets = "model_alignment_strategy.peft.target_modules";
  for (const std::string& name : x.config.list(targets)) {
    if (one_of(name, {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"})) continue;
    report.warning({targets, fmt::format("\"{}\" is no module LoRA can be put on", printable(name, 60)),
                    "use qkv_proj, o_proj, gate_up_proj or down_proj", source});
  }
}

// ---- trn2, end of support

void trn2_values(const Context& x, Report& report) {
  if (!x.trn2) return;
  const int devices = x.reading.devices;
  const int lnc = x.lnc();
  const std::string source = nxdt("utils/utils.py:32-39");
  const bool goes = lnc == 1 ? devices == 128 : devices <= 64 && devices != 32;
  if (lnc != 1 && lnc != 2) {
    report.error({"trainer.lnc", fmt::format("{}: a logical core has 1 or 2 physical ones", lnc),
                  "trn2: 64 devices with lnc: 2, or 128 with lnc: 1",
                  sdk("about-neuron/arch/neuron-features/logical-neuroncore-config.rst")});
  } else if (!goes) {
    report.warning({"trainer.lnc", fmt::format("{} devices do not go with lnc {}", devices, lnc),
                    "trn2: 64 devices with lnc: 2, or 128 with lnc: 1", source});
  }
  if (lnc == 1 && !x.contains("compiler_flags", "--logical-nc-config=1")) {
    report.warning({"compiler_flags", "lnc 1 needs the same setting in the compiler and the runtime",
                    "add --logical-nc-config=1 here and set NEURON_LOGICAL_NC_CONFIG=1", source});
  }
}

void sequential_move(const Context& x, Report& report) {
  constexpr std::string_view key = "trainer.sequential_move_factor";
  if (x.config.whole(key).value_or(0) <= x.reading.devices) return;
  report.warning({key, fmt::format("more than the {} devices of a node", x.reading.devices),
                  "use at most trainer.devices", nxdt_examples("conf/hf_llama3_70B_trn2_config.yaml")});
}

/// What the simulator does not cover: one note each.
void not_modelled(const Context& x, Report& report) {
  for (const std::string& feature : x.reading.not_modelled) {
    report.note({feature.starts_with("model") ? "model_alignment_strategy" : "trainer.devices",
                 feature + " is not modelled yet",
                 "check judges the file, its groups and its memory; there is no prediction",
                 "trnplan docs/rules.md, not-modelled"});
  }
}

/// Is the release at least 2.30, the first in maintenance?
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
              "NxDT is in maintenance since Neuron 2.30 and last supported in 2.31; runtime 2.31 drops "
              "async execution, and the XLA_DOWNCAST_BF16 behind mixed_precision is deprecated",
              "stay on Neuron SDK 2.28 with PyTorch 2.9 until you migrate to native PyTorch",
              sdk("about-neuron/announcements/neuron2.x/"
                  "announce-maintenance-nxdt-nxd-core-training.rst")});
}

constexpr Rule kRules[] = {
    {"precision", precision_type},
    {"precision", precision_values},
    {"precision", precision_manual},
    {"precision", precision_reduce},
    {"precision", precision_flags},
    {"zero1", zero1},
    {"gradient-clip", gradient_clip},
    {"weight-decay", weight_decay},
    {"optimizer", optimizer_name},
    {"schedule", schedule},
    {"recompute", recompute_classes},
    {"recompute", recompute_effect},
    {"checkpoint", checkpoint},
    {"checkpoint", checkpoint_size},
    {"checkpoint", checkpoint_host_memory},
    {"resume", resume},
    {"collectives-bucket", collectives_bucket},
    {"async-inflight", async_inflight},
    {"compiler-flags", compiler_flags},
    {"compiler-cache", compiler_cache},
    {"compress-groups", compress_groups},
    {"logging", logging},
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

std::span<const Rule> training_rules() {
  return kRules;
}

}  // namespace trnplan::planner
