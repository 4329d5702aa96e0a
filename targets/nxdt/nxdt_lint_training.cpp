// Lint rules on precision, optimizer, schedule, recompute, checkpoints and runtime.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "targets/nxdt/nxdt_lint_rules.h"

namespace trnplan::targets {

namespace {

// ---- precision, optimizer, schedule

void precision_type(const Context& x, Report& report) {
  if (!x.config.has_section("precision")) return;
  const std::string type = x.config.text("precision.type");
  const auto known = models::precision_from(type);
  if (known && !models::is_fp8(*known)) return;
  if (type == "mixed_precision_SR") {
    report.warning({"precision.type", "with this spelling master weights and fp32 gradients stay off",
                    "write manual with master_weights and fp32_grad_acc True, xla_downcast_bf16 '1', "
                    "neuron_rt_stochastic_rounding_en '1'",
                    nxdt("lightning_modules/model/base.py:124-125")});
    return;
  }
  report.error({"precision.type", x.shown("precision.type") + " raises ValueError",
                type == "mixed_precisionSR" ? "write manual with the five values, or mixed_precision"
                                            : "write mixed_precision, autocast, bf16SR, fp32 or manual"});
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
  if (!one_of(reduce, {"bf16", "fp32", "fp16"}))
    report.warning({"precision.parallel_layers_reduce_dtype", "unknown type",
                    "write 'bf16', 'fp32' or 'fp16'", nxdt_examples("conf")});
}

/// Settings that `manual` takes from the file, and those that the other precisions ignore.
void precision_manual(const Context& x, Report& report) {
  if (x.config.text("precision.type") != "manual") return;
  for (const std::string_view key :
       {"precision.master_weights", "precision.fp32_grad_acc", "precision.xla_use_bf16",
        "precision.xla_downcast_bf16", "precision.neuron_rt_stochastic_rounding_en"}) {
    if (x.states(key)) continue;
    report.warning({key, "precision type manual takes this value from the file, and it is missing",
                    key.ends_with("weights") || key.ends_with("acc") ? "write True or False"
                                                                     : "write '0' or '1', in quotes"});
  }
}

void precision_reduce(const Context& x, Report& report) {
  constexpr std::string_view key = "precision.parallel_layers_reduce_dtype";
  if (!x.states(key) || x.hf_llama()) return;
  report.note({key, "only HF Llama models pass it on; it has no effect here", "remove it",
               nxdt("models/hf_models/modeling_llama.py")});
}

void precision_flags(const Context& x, Report& report) {
  const bool mixed =
      x.config.text("precision.type") == "manual" && x.config.text("precision.xla_downcast_bf16") == "1";
  const bool flag = x.contains("compiler_flags", "--enable-mixed-precision-accumulation");
  if (!mixed || flag) return;
  report.warning({"compiler_flags", "precision type manual appends no compiler flag",
                  "add --enable-mixed-precision-accumulation"});
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
    report.warning({kZero1, "False also turns off master weights and fp32 gradients", "write zero1: True"});
  }
  if (s.zero1 && s.expert_parallel > 1 && s.context_parallel > 1)
    report.error({kZero1, "ZeRO-1 with expert and context parallel raises ValueError", "set one of them to 1",
                  nxd("optimizer/zero_redundancy_optimizer.py:172")});
}

void gradient_clip(const Context& x, Report& report) {
  constexpr std::string_view key = "trainer.gradient_clip_val";
  if (!x.states(key)) return;
  const std::optional<double> value = x.config.number(key);
  if (!value) {
    report.error({key, "must be a number or null; anything else raises TypeError", "write 1.0"});
  } else if (*value != 1.0 && x.strategy().zero1) {
    report.warning(
        {key,
         fmt::format("{} is not passed on with ZeRO-1: gradients are clipped at 1.0", x.config.text(key)),
         "write 1.0",
         nxd("trainer/trainer.py:250-255") +
             "; pytorch/xla@41398bf:torch_xla/distributed/zero_redundancy_optimizer.py:104"});
  }
}

void weight_decay(const Context& x, Report& report) {
  const std::optional<double> decay = x.config.number("model.optim.weight_decay");
  if (!x.megatron && decay && *decay != 0.01) {
    report.warning({"model.optim.weight_decay",
                    fmt::format("{} is ignored for HF models: 0.01 is built in",
                                x.config.text("model.optim.weight_decay")),
                    "write 0.01, so that the file states what happens"});
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
  if (x.megatron && name == "distributed_fused_adam") {
    report.error({"model.optim.name", "distributed_fused_adam raises", "write adamw_fp32OptState or adamw"});
  } else if (!name.empty() &&
             !one_of(name, {"adamw", "adamw_fp32OptState", "sgd", "adam", "adadelta", "adamax", "adagrad",
                            "rmsprop", "rprop", "novograd", "adafactor", "distributed_fused_adam"})) {
    report.warning({"model.optim.name",
                    x.shown("model.optim.name") + " is not an optimizer that NeMo registers",
                    "write adamw_fp32OptState or adamw"});
  }
}

void schedule(const Context& x, Report& report) {
  const std::string name = x.config.text("model.optim.sched.name");
  if (!name.empty() &&
      !one_of(name, {"LinearAnnealingWithWarmUp", "CosineAnnealing", "WarmupPolicy", "WarmupHoldPolicy",
                     "SquareAnnealing", "NoamAnnealing", "WarmupAnnealing", "StepLR", "ExponentialLR"})) {
    report.warning({"model.optim.sched.name",
                    x.shown("model.optim.sched.name") + " is not a scheduler that NxDT or NeMo registers",
                    "write LinearAnnealingWithWarmUp or CosineAnnealing"});
  }
  const std::optional<int> steps = x.config.whole("trainer.max_steps");
  const std::optional<int> annealed = x.config.whole("model.optim.sched.max_steps");
  if (steps && annealed && *steps > 0 && *steps != *annealed)
    report.warning({"model.optim.sched.max_steps",
                    fmt::format("the schedule ends at {}, the run at {}", *annealed, *steps),
                    "write the same number in both places"});
  const int warmup = x.config.whole("model.optim.sched.warmup_steps").value_or(0);
  if (steps && *steps > 0 && warmup >= *steps)
    report.warning({"model.optim.sched.warmup_steps",
                    fmt::format("the warm-up of {} steps outlasts the run of {}", warmup, *steps),
                    "use fewer warm-up steps"});
}

// ---- recompute

/// True if NxDT resolves this class name for the model. It drops other names silently.
bool resolves(const Context& x, std::string_view name) {
  if (x.megatron) return one_of(name, {"CoreAttention", "NeuronSwitchMLP"});
  if (x.moe) {
    return one_of(name, {"CoreAttention", "MixtralDecoderLayer", "MixtralRMSNorm", "LlamaMLP", "MoE",
                         "ColumnParallelLinear", "RowParallelLinear"});
  }
  return one_of(name, {"CoreAttention", "LlamaDecoderLayer", "LlamaForCausalLM", "LlamaRMSNorm", "LlamaMLP",
                       "ActivationMultiplyMLP", "LlamaRotaryEmbedding"});
}

void recompute_missing(const Context& x, Report& report) {
  // HyperPod recipes were written for older releases, where selective alone was enough.
  report.add(x.recipe && !x.has(kRecompute) ? Severity::warning : Severity::error,
             {kRecompute,
              !x.has(kRecompute)     ? "selective without a list fails an assertion (NxDT 1.6)"
              : x.states(kRecompute) ? "selective with an empty list fails an assertion"
                                     : "selective with null raises TypeError",
              "name classes, for example [CoreAttention, LlamaMLP]"});
}

void recompute_classes(const Context& x, Report& report) {
  if (x.config.text(kGranularity) != "selective") return;
  const std::vector<std::string> names = x.config.list(kRecompute);
  if (names.empty()) return recompute_missing(x, report);
  std::vector<std::string> dropped;
  for (const std::string& name : names)
    if (!resolves(x, name)) dropped.push_back(printable(name, 60));
  if (dropped.empty()) return;
  const bool all = dropped.size() == names.size();
  report.add(all ? Severity::error : Severity::warning,
             {kRecompute,
              fmt::format("{}: not a class of this model{}", fmt::join(dropped, ", "),
                          all ? "; the empty rest fails an assertion" : "; dropped silently"),
              x.hf_llama() ? "use CoreAttention, LlamaMLP, LlamaRMSNorm or ActivationMultiplyMLP"
                           : "use CoreAttention"});
}

void recompute_effect(const Context& x, Report& report) {
  const std::string granularity = x.config.text(kGranularity);
  const std::vector<std::string> names = x.config.list(kRecompute);
  const bool fused = !x.megatron && (x.is_true(kFlash) || x.is_true(kRing));
  const std::string source = nxdt("lightning_modules/model/hf_models/llama_model.py");
  if (!granularity.empty() && !one_of(granularity, {"full", "selective"}))
    report.warning({kGranularity, x.shown(kGranularity) + " is not full, selective or null",
                    "write full, selective or null", source});
  const bool attention_alone = std::find(names.begin(), names.end(), "CoreAttention") != names.end() &&
                               std::none_of(names.begin(), names.end(), [&](const std::string& n) {
                                 return n != "CoreAttention" && resolves(x, n);
                               });
  if (granularity == "selective" && fused && attention_alone)
    report.note({kRecompute, "with flash attention CoreAttention is never called: nothing is recomputed",
                 "add LlamaMLP to save memory", nxdt("models/hf_models/modeling_llama.py")});
  if (granularity != "selective" && !names.empty())
    report.note({kRecompute, "is read only with granularity selective",
                 "write activations_checkpoint_granularity: selective, or remove the list", source});
  if (granularity.empty() && x.hf_llama() && !fused)
    report.note({kGranularity, "without flash attention NxDT recomputes CoreAttention all the same",
                 "write selective and [CoreAttention]", source});
  if (x.is_true("model.activations_checkpoint_recompute_mlp"))
    report.note({"model.activations_checkpoint_recompute_mlp", "an old key that NxDT 1.6 does not read",
                 "add LlamaMLP to activations_checkpoint_recompute", source});
}

// ---- checkpoints, runtime

/// Number of steps below which saving is called frequent. It is our choice: the cost of a save depends on the
/// time of a step, which a lint does not know; plan states the interval with the best goodput
/// (planner/cost/goodput.h).
constexpr int kOftenSteps = 20;

void checkpoint(const Context& x, Report& report) {
  if (x.is_false("exp_manager.create_checkpoint_callback")) return;
  constexpr std::string_view interval = "exp_manager.checkpoint_callback_params.every_n_train_steps";
  constexpr std::string_view filename = "exp_manager.checkpoint_callback_params.filename";
  const int steps = x.config.whole(interval).value_or(0);
  if (steps > 0 && steps < kOftenSteps)
    report.warning({interval, fmt::format("a checkpoint every {} steps", steps),
                    "use a few hundred steps, for example 200",
                    nxdt_examples("conf/hf_llama3_8B_config.yaml")});
  if (x.has(interval) && steps <= 0 && x.config.whole(interval))
    report.note({interval, "0 and -1 turn off periodic checkpoints; one is still written when training ends",
                 "create_checkpoint_callback: False turns off that one as well"});
  const int run = x.config.whole("trainer.max_steps").value_or(-1);
  if (run > 0 && steps > run) {
    report.note(
        {interval,
         fmt::format("more than the {} steps of the run: only the checkpoint at its end is written", run),
         "use a few hundred steps, for example 200"});
  }
  const bool params = x.config.has_section("exp_manager.checkpoint_callback_params");
  if ((params || x.states(filename)) && !x.contains(filename, "{consumed_samples}"))
    report.warning({filename, "without {consumed_samples} a resumed run reads the data from the beginning",
                    "end it in --{step}-{consumed_samples}", nxdt("lightning_modules/data/base.py:42")});
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
  if (x.is_true("exp_manager.async_checkpointing"))
    report.note({"exp_manager.async_checkpointing",
                 "every process is forked to save: about twice the host memory; recommended from 64 nodes on",
                 "write False unless the host has the memory", kKnownIssues});
}

/// Place where a run finds its checkpoint again.
void resume(const Context& x, Report& report) {
  constexpr std::string_view again = "exp_manager.resume_if_exists";
  constexpr std::string_view folder = "exp_manager.explicit_log_dir";
  constexpr std::string_view from = "exp_manager.resume_from_checkpoint";
  const std::string setup = nxdt_examples("train_setup.sh");
  if (x.is_true(again) && x.states(folder)) {
    report.note({folder, "examples/train.sh sets it to null on Slurm", "use a launcher that keeps it"});
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
                  "set ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB in the environment instead"});
}

void async_inflight(const Context& x, Report& report) {
  constexpr std::string_view key = "aync_exec_max_inflight_requests";
  const int requests = x.config.whole(key).value_or(0);
  if (requests <= 5) return;  // 5 is what most shipped configs use
  report.note(
      {key,
       fmt::format("{} requests in flight: the runtime guide recommends 3, more may run out of memory",
                   requests),
       "use 3 to 5"});
}

void compiler_flags(const Context& x, Report& report) {
  const bool kernels = !x.megatron && (x.is_true(kFlash) || x.is_true(kRing));
  if (kernels && x.contains("compiler_flags", "llm-training")) {
    report.warning(
        {"compiler_flags",
         "--distribution-strategy=llm-training must not be combined with NKI kernels (flash attention)",
         "remove --distribution-strategy=llm-training"});
  }
}

void compiler_cache(const Context& x, Report& report) {
  const std::string path = x.config.text("compiler_cache_url");
  if (x.reading.nodes == 1 ||
      !(path.starts_with("/tmp") || path.starts_with("/var/tmp") || path.starts_with("/dev/shm")))
    return;
  report.warning({"compiler_cache_url", "a local folder: every node would compile on its own",
                  "use shared storage or s3://"});
}

void compress_groups(const Context& x, Report& report) {
  constexpr std::string_view key = "neuron_experimental_compress_rg";
  if (!x.is_true(key) || x.strategy().tensor_parallel != 4) return;
  report.warning({key, "does not work with TP 4, whose groups are strided", "write False"});
}

void logging(const Context& x, Report& report) {
  if (x.config.whole("trainer.log_every_n_steps").value_or(10) != 1) return;
  report.note(
      {"trainer.log_every_n_steps", "the host waits for the devices at every logged step", "write 10"});
}

constexpr Rule kTrainingRules[] = {
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
};

}  // namespace

std::span<const Rule> training_rules() {
  return kTrainingRules;
}

}  // namespace trnplan::targets
