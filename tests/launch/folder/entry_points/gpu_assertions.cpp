#include "tests/launch/folder/entry_points/gpu_assertions.h"

#include <algorithm>
#include <sstream>

#include "models/framework/partition.h"
#include "targets/megatron/megatron_rules.h"
#include "targets/torchtitan/titan_rules.h"
#include "text/document.h"

namespace trnplan {

namespace {

std::string text(std::int64_t n) {
  return std::to_string(n);
}
std::string truth(bool b) {
  return b ? "true" : "false";
}

/// Assertions of the table with the rule of the target for each, by hand.
const std::vector<GpuAssertion>& megatron_assertions() {
  static const std::vector<GpuAssertion> all = {
      {"world % (TP*PP*CP)", {"ranks"}},
      {"gbs % (mbs*DP)", {"batch"}},
      {"--sequence-parallel is turned off", {"off with TP 1"}},
      {"seq % (2*CP)", {"sequence by 2 CP"}},
      {"layers % PP", {"layers by PP", "ends"}},
      {"VPP needs PP > 1", {"chunks need stages"}},
      {"--overlap-param-gather needs", {"overlap of gathers"}},
      {"recompute selective:", {"selective", "full"}},
      {"--fp8-param-gather needs", {"gathers in FP8"}},
      {"--fp8-format excludes", {"one narrow format"}},
      {"--tp-comm-overlap needs", {"overlap of TP"}},
      {"samples and iters flags", {"iterations or samples"}},
      {"--save needs --save-interval", {"interval"}},
      {"--use-megatron-fsdp needs", {"format of Megatron's"}},
      {"num_experts % EP", {"experts by EP"}},
      {"min_lr <= lr", {"least rate"}},
      {"max_position_embeddings >=", {"positions"}},
  };
  return all;
}

const std::vector<GpuAssertion>& titan_assertions() {
  static const std::vector<GpuAssertion> all = {
      {"dp_replicate*dp_shard*cp*tp*pp", {"mesh"}},
      {"global_batch_size %", {"batch"}},
      {"seq_len % (tp", {"sequence"}},
      {"PP: local_batch_size", {"micro-batches"}},
      {"async TP needs", {"asynchronous TP"}},
      {"float8 needs SM89+", {"float8 on the device", "recipe of float8"}},
      {"memory_budget AC needs", {"budget"}},
      {"checkpoint.keep_latest_k", {"kept"}},
      {"expert_tensor_parallel_degree in", {"TP of experts"}},
      {"DDP (dp_replicate with", {"replicas alone"}},
  };
  return all;
}

const std::string kParallel = "--parallelism.";

/// A value as a file would state it: a list in brackets, or words.
targets::Stated stated(const std::string& value) {
  targets::Stated one;
  if (!value.starts_with('[')) {
    one.values = targets::split_words(value);
    return one;
  }
  one.list = one.quoted = true;
  std::istringstream in(value.substr(1, value.size() - 2));
  for (std::string item; std::getline(in, item, ',');) one.values.push_back(item);
  return one;
}

/// Value of a key in a recipe of the table.
std::string of_recipe(const EntryPoint& entry, const std::string& recipe, const char* key) {
  const Node* found = entry.recipes().find(recipe);
  if (found != nullptr) found = found->find(key);
  return found == nullptr ? "" : found->scalar;
}

}  // namespace

const std::vector<GpuAssertion>& gpu_assertions_of(const std::string& entry) {
  static const std::vector<GpuAssertion> none;
  if (entry == "megatron-lm") return megatron_assertions();
  if (entry == "torchtitan-toml") return titan_assertions();
  return none;
}

const targets::StartTable& start_table_of(const std::string& entry) {
  return entry == "megatron-lm" ? targets::megatron_start_table() : targets::titan_start_table();
}

std::vector<planner::StartFault> start_faults_of(const std::string& entry, const Settings& settings,
                                                 const Run& run) {
  const targets::StartTable& table = start_table_of(entry);
  targets::StatedByName all;
  const std::size_t dashes = entry == "megatron-lm" ? 0 : 2;
  for (const auto& [name, value] : settings) {
    const std::string key = name.substr(dashes);
    const auto known = std::find_if(table.keys.begin(), table.keys.end(),
                                    [&](const targets::StartKey& k) { return key == k.name; });
    const bool off =
        value == "false" && (known == table.keys.end() || known->kind == targets::KeyKind::toggle);
    // The table stores an empty list as an empty text.
    if (value != "null" && !value.empty() && !off) all[key] = stated(value);
  }
  // Another test checks each folder's environment.
  all[targets::kMaxConnections] = stated("1");
  const targets::StartFacts facts{run.world, run.job.cluster.instance.core, run.job.architecture, true};
  return targets::start_faults(table, targets::Settings(all, table.keys), facts, "run");
}

Settings asked_of_megatron(const EntryPoint& entry, const Run& run, const std::string& recipe) {
  const models::Job& job = run.job;
  const models::Strategy& s = run.strategy;
  const models::Architecture& m = job.architecture;
  Settings a;
  a["--tensor-model-parallel-size"] = text(s.tensor_parallel);
  a["--pipeline-model-parallel-size"] = text(s.pipeline_parallel);
  a["--context-parallel-size"] = text(s.context_parallel);
  a["--num-virtual-stages-per-pipeline-rank"] = s.virtual_pipeline > 1 ? text(s.virtual_pipeline) : "null";
  const int parts = s.pipeline_parallel * s.virtual_pipeline, missing = (parts - m.layers % parts) % parts;
  if (s.virtual_pipeline > 1 && missing > 0 && missing <= 2) {
    a["--account-for-loss-in-pipeline-split"] = "true";
    a["--account-for-embedding-in-pipeline-split"] = truth(missing == 2);
  } else if (m.layers % parts != 0) {
    std::vector<int> layers = models::layers_per_chunk(m, s);
    for (int& of_stage : layers) of_stage *= s.virtual_pipeline;
    a["--decoder-first-pipeline-num-layers"] = text(layers.front());
    a["--decoder-last-pipeline-num-layers"] = text(layers.back());
  }
  a["--sequence-parallel"] = truth(s.sequence_parallel);
  a["--micro-batch-size"] = text(s.micro_batch);
  a["--global-batch-size"] = text(job.training.global_batch);
  a["--use-distributed-optimizer"] = a["--overlap-param-gather"] = truth(s.zero1);
  a["--overlap-grad-reduce"] = a["--bf16"] = "true";
  a["--recompute-granularity"] = s.recompute.full ? "full" : "null";
  a["--recompute-method"] = s.recompute.full ? "uniform" : "null";
  a["--recompute-num-layers"] = s.recompute.full ? "1" : "null";
  std::string modules;
  if (!s.recompute.full) {
    if (s.recompute.core_attention && !s.flash_attention) modules += "core_attn ";
    if (s.recompute.rms_norm) modules += "layernorm ";
    if (s.recompute.mlp) modules += m.experts > 0 ? "moe " : "mlp ";
  }
  if (!modules.empty()) {
    modules.pop_back();
    a["--recompute-granularity"] = "selective";
    a["--recompute-modules"] = modules;
  }
  const bool eight = s.precision == models::Precision::fp8;
  a["--fp8-format"] = eight ? "hybrid" : "null";
  a["--fp8-amax-history-len"] = eight ? "1024" : "1";
  a["--fp8-amax-compute-algo"] = eight ? "max" : "most_recent";
  const bool llama = recipe.starts_with("llama");
  a["--attention-backend"] = !s.flash_attention ? "unfused" : llama ? "fused" : "auto";
  a["--num-layers"] = text(m.layers);
  a["--hidden-size"] = text(m.hidden);
  a["--ffn-hidden-size"] = text(m.intermediate);
  a["--num-attention-heads"] = text(m.heads);
  a["--group-query-attention"] = truth(m.kv_heads < m.heads);
  a["--num-query-groups"] = m.kv_heads < m.heads ? text(m.kv_heads) : "1";
  a["--seq-length"] = text(job.training.sequence);
  a["--max-position-embeddings"] = text(std::max(job.training.sequence, m.max_positions));
  a["--position-embedding-type"] = m.learned_positions ? "learned_absolute" : "rope";
  if (!m.learned_positions) a["--rotary-base"] = text(static_cast<std::int64_t>(m.rope_theta));
  a["--use-rope-scaling"] = truth(!m.rope_scaling.empty());
  a["--rope-scaling-factor"] = "8";
  a["--normalization"] = m.norm == models::Norm::rms ? "RMSNorm" : "LayerNorm";
  a["--norm-epsilon"] = std::to_string(m.rms_norm_eps);
  a["--swiglu"] = truth(m.mlp == models::Mlp::gated);
  a["--disable-bias-linear"] = truth(!m.biases);
  a["--untie-embeddings-and-output-weights"] = truth(!m.tied_embeddings);
  a["--attention-dropout"] = a["--hidden-dropout"] = "0";
  if (m.experts > 0) {
    a["--num-experts"] = text(m.experts);
    a["--expert-model-parallel-size"] = text(s.expert_parallel);
    a["--moe-router-topk"] = text(m.experts_per_token);
    a["--moe-token-dispatcher-type"] = s.framework.starts_with("megatron-flex") ? "flex" : "alltoall";
    a["--overlap-moe-expert-parallel-comm"] = truth(s.framework.ends_with("-ep-overlap"));
    a["--moe-router-load-balancing-type"] = "aux_loss";
    a["--moe-aux-loss-coeff"] = "0.01";
    a["--moe-grouped-gemm"] = "true";
  }
  a["--optimizer"] = "adam";
  a["--data-path"] = "/data";
  a["--split"] = "100,0,0";
  a["--eval-iters"] = "0";
  a["--tokenizer-type"] = "HuggingFaceTokenizer";
  a["--tokenizer-model"] = "/tokenizer";
  a["--save"] = a["--load"] = "/plan/run/checkpoints";
  a["--tensorboard-dir"] = "/plan/run/tensorboard";
  a["--exit-signal-handler"] = a["--log-throughput"] = "true";
  a["--log-interval"] = "1";
  a["--no-create-attention-mask-in-dataloader"] = "true";
  a["--vocab-size"] = text(m.vocabulary);
  const char *beta1 = "0.9", *beta2 = "0.95", *clip = "1";
  // NVIDIA/Megatron-LM@d98e8a6 examples/mixtral/train_mixtral_8x7b_distributed.sh; for a Llama the script for
  // Llama 3 with the rates of TorchTitan's configs, to a tenth, and initializer_range of its config.json.
  const std::string script = llama ? "llama3-8B fp8 8xH100" : "gpt3-175B";
  if (recipe == "mixtral") {
    a["--lr"] = "1e-4";
    a["--min-lr"] = "1e-5";
    a["--init-method-std"] = "0.01";
    beta2 = "0.999";
  } else if (llama) {
    const EntryPoint titan(entry_point_table(), "torchtitan-toml");
    a["--lr"] = of_recipe(titan, recipe, "lr");
    a["--min-lr"] = recipe == "llama3_8b" ? "3e-5" : recipe == "llama3_70b" ? "1.5e-5" : "8e-6";
    a["--init-method-std"] = "0.02";
  } else {
    a["--lr"] = of_recipe(entry, script, "lr");
    a["--min-lr"] = of_recipe(entry, script, "min_lr");
    a["--init-method-std"] = of_recipe(entry, script, "init_std");
  }
  a["--weight-decay"] = of_recipe(entry, script, "weight_decay");
  a["--lr-decay-style"] = of_recipe(entry, script, "lr_decay_style");
  // Samples of 8192 tokens over the job's batch; for the other scripts 0.001 of their steps.
  const std::int64_t per_step = std::int64_t{run.job.training.sequence} * run.job.training.global_batch;
  const std::int64_t steps = llama ? 1953125000LL * 8192 / per_step : 500000;
  a["--train-iters"] = text(steps);
  a["--lr-warmup-iters"] = text(llama ? 3906252LL * 8192 / per_step : 500);
  // The last number from 100 to 200 that divides the steps, so that the last step is saved too; 200 if none
  // does.
  int every = 200;
  while (every > 100 && steps % every != 0) --every;
  const std::int64_t saved = steps % every == 0 ? every : 200;
  a["--save-interval"] = text(saved);
  std::int64_t retained = saved;  // the first beyond half of the run: that one and the last stay
  while (2 * retained <= steps) retained += saved;
  a["--save-retain-interval"] = text(retained);
  a["--lr-decay-iters"] = a["--train-iters"];
  a["--adam-beta1"] = beta1;
  a["--adam-beta2"] = beta2;
  a["--clip-grad"] = clip;
  std::erase_if(a, [](const auto& one) { return one.second == "null"; });
  return a;
}

Settings asked_of_torchtitan(const EntryPoint& entry, const Run& run, const std::string& recipe) {
  const models::Job& job = run.job;
  const models::Strategy& s = run.strategy;
  const bool eight = s.precision == models::Precision::fp8;
  const int batches = job.training.global_batch / s.data_parallel / s.micro_batch;
  const int ranks = s.data_parallel * s.context_parallel;
  const int group = !s.zero1 ? 1 : s.shard_ranks > 0 ? s.shard_ranks : ranks;
  Settings a;
  a["--job.config_file"] = "/plan/torchtitan.toml";
  a["--job.dump_folder"] = "/plan/run";
  a["--model.name"] = "llama3";
  a["--model.flavor"] = job.architecture.layers == 32 ? "8B" : job.architecture.layers == 80 ? "70B" : "405B";
  a["--model.hf_assets_path"] = "/tokenizer";
  if (eight) a["--model.converters"] = "[quantize.linear.float8]";
  if (eight) a["--quantize.linear.float8.filter_fqns"] = "[output]";
  if (eight) a["--quantize.linear.float8.enable_fsdp_float8_all_gather"] = "false";
  a["--metrics.log_freq"] = "10";
  a["--metrics.enable_tensorboard"] = a["--metrics.disable_color_printing"] = "true";
  a["--comm.init_timeout_seconds"] = a["--comm.train_timeout_seconds"] = "1800";
  a["--training.dataset"] = "c4";
  a["--training.dataset_path"] = "/data";
  a["--training.dtype"] = a["--training.mixed_precision_reduce"] = "float32";
  a["--training.mixed_precision_param"] = "bfloat16";
  a["--training.max_norm"] = "1";
  a["--training.seq_len"] = text(job.training.sequence);
  a["--training.global_batch_size"] = text(job.training.global_batch);
  a["--training.local_batch_size"] = text(s.pipeline_parallel > 1 ? batches * s.micro_batch : s.micro_batch);
  a[kParallel + "data_parallel_replicate_degree"] = text(ranks / group);
  a[kParallel + "data_parallel_shard_degree"] = text(s.zero1 ? group / s.context_parallel : 1);
  a[kParallel + "tensor_parallel_degree"] = text(s.tensor_parallel);
  a[kParallel + "context_parallel_degree"] = text(s.context_parallel);
  a[kParallel + "pipeline_parallel_degree"] = text(s.pipeline_parallel);
  if (s.context_parallel > 1) a[kParallel + "context_parallel_load_balancer"] = "headtail";
  a[kParallel + "disable_loss_parallel"] = "false";
  // The prediction is for the loop that runs: of the three loops one is not compiled, and one splits TP's
  // collectives.
  a[kParallel + "enable_async_tensor_parallel"] = s.framework == "fsdp-async-tp" ? "true" : "false";
  a["--compile.enable"] = s.framework == "fsdp-eager" ? "false" : "true";
  a["--compile.components"] = "[model,loss]";
  a["--compile.backend"] = "inductor";
  a[kParallel + "fsdp_reshard_after_forward"] =
      s.sharding == models::Sharding::gradients ? "never" : "default";
  if (s.pipeline_parallel > 1) {
    const models::Schedule schedule = models::effective_schedule(s);
    a[kParallel + "pipeline_parallel_schedule"] =
        schedule == models::Schedule::gpipe           ? "GPipe"
        : schedule == models::Schedule::interleaved   ? "Interleaved1F1B"
        : schedule == models::Schedule::zero_bubble_v ? "ZBVZeroBubble"
                                                      : "1F1B";
    a[kParallel + "pipeline_parallel_layers_per_stage"] =
        text(job.architecture.layers / s.pipeline_parallel / s.virtual_pipeline);
    a[kParallel + "pipeline_parallel_first_stage_less_layers"] =
        a[kParallel + "pipeline_parallel_last_stage_less_layers"] = "0";
    a[kParallel + "pipeline_parallel_microbatch_size"] = text(s.micro_batch);
  }
  a["--checkpoint.enable"] = "true";
  a["--checkpoint.folder"] = "checkpoint";
  a["--checkpoint.interval"] = "200";
  a["--checkpoint.keep_latest_k"] = "10";
  a["--checkpoint.last_save_model_only"] = "false";
  const bool some_layers = s.recompute.full && s.recompute.every > 1;
  a["--activation_checkpoint.mode"] = s.recompute.alternate || some_layers ? "selective"
                                      : s.recompute.full                   ? "full"
                                                                           : "none";
  if (s.recompute.alternate) a["--activation_checkpoint.selective_ac_option"] = "op";
  if (some_layers) a["--activation_checkpoint.selective_ac_option"] = text(s.recompute.every);
  a["--optimizer.name"] = "AdamW";
  a["--optimizer.lr"] = of_recipe(entry, recipe, "lr");
  a["--optimizer.beta1"] = "0.9";
  a["--optimizer.beta2"] = "0.95";
  a["--optimizer.weight_decay"] = of_recipe(entry, "all", "weight_decay");
  a["--lr_scheduler.warmup_steps"] = of_recipe(entry, recipe, "warmup_steps");
  a["--lr_scheduler.total_steps"] = a["--training.steps"] = of_recipe(entry, recipe, "steps");
  a["--lr_scheduler.decay_type"] = "linear";
  a["--lr_scheduler.min_lr_factor"] = "0";
  return a;
}

namespace {

void add_words(const Node& node, const std::string& path, const std::vector<std::string>& command_line,
               std::vector<std::string>& words) {
  for (const Node::Entry& e : node.entries) {
    const std::string key = path.empty() ? e.key : path + "." + e.key;
    if (e.value.is_map()) {
      add_words(e.value, key, command_line, words);
      continue;
    }
    const std::string flag = "--" + key;
    if (std::find(command_line.begin(), command_line.end(), flag) != command_line.end()) continue;
    std::string value = e.value.scalar;
    if (e.value.kind == Node::Kind::sequence) {
      value = "[";
      for (const Node& item : e.value.items) value += (value.size() > 1 ? "," : "") + item.scalar;
      value += "]";
    }
    words.push_back(flag);
    words.push_back(value);
  }
}

}  // namespace

std::vector<std::string> with_toml(const std::string& toml, const std::vector<std::string>& command_line) {
  std::vector<std::string> words = command_line;
  add_words(parse_document(toml, "torchtitan.toml"), "", command_line, words);
  return words;
}

}  // namespace trnplan
