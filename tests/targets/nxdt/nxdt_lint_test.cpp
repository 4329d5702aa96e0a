// The linter: a clean config is clean, and each rule fires on a config that breaks it, with key, line and
// fix.
#include <algorithm>
#include <initializer_list>

#include "targets/nxdt/nxdt_config.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/planner/architectures.h"

using namespace trnplan;
using models::Architecture;
using targets::Finding;
using targets::NxdtConfig;
using targets::Severity;

namespace {

/// One leaf to change or add. "-" as text removes it; a leading quote makes it a quoted string.
struct Edit {
  std::string key;
  std::string text;
};

void number_lines(NxdtConfig& c) {
  c.file = "c.yaml";
  for (std::size_t i = 0; i < c.keys.size(); ++i) c.keys[i].at = {c.file, static_cast<int>(i) + 1, 1};
}

void apply(NxdtConfig& c, const Edit& e) {
  const auto same = [&](const targets::NxdtKey& k) { return k.key == e.key; };
  if (e.text == "-") {
    std::erase_if(c.keys, [&](const auto& k) { return same(k) || k.key.starts_with(e.key + '.'); });
    return;
  }
  const bool quoted = e.text.starts_with('\'');
  const std::string text = quoted ? e.text.substr(1) : e.text;
  const auto found = std::find_if(c.keys.begin(), c.keys.end(), same);
  if (found == c.keys.end())
    c.keys.push_back({e.key, text, quoted, {}});
  else
    *found = {e.key, text, quoted, {}};
}

/// The planner's own config for Llama-3 8B, TP 8 x DP 4 on one node.
NxdtConfig clean() {
  models::Job job;
  job.architecture = llama3_8b();
  job.training = {.sequence = 8192, .global_batch = 1024};
  job.cluster.instance.family = "trn1";
  job.cluster.instance.chips = 16;
  job.cluster.instance.cores_per_chip = 2;
  models::Strategy s;
  s.tensor_parallel = 8;
  s.data_parallel = 4;
  s.sequence_parallel = true;
  s.recompute = {.core_attention = true, .mlp = true};
  NxdtConfig c = targets::to_nxdt(job, s);
  number_lines(c);
  return c;
}

NxdtConfig edited(std::initializer_list<Edit> edits) {
  NxdtConfig c = clean();
  for (const Edit& e : edits) apply(c, e);
  number_lines(c);
  return c;
}

const Finding* find(const std::vector<Finding>& all, std::string_view rule, Severity severity,
                    std::string_view key) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const Finding& f) {
    return f.rule == rule && f.severity == severity && f.key == key;
  });
  return it == all.end() ? nullptr : &*it;
}

std::string shown(const std::vector<Finding>& all) {
  std::string text;
  for (const Finding& f : all) text += f.rule + ':' + std::string(to_string(f.severity)) + ' ' + f.key + "; ";
  return text;
}

struct Case {
  std::string_view rule;
  Severity severity;
  std::string_view key;  ///< the key that must be named
  std::vector<Edit> edits;
};

constexpr Severity E = Severity::error;
constexpr Severity W = Severity::warning;
constexpr Severity N = Severity::note;

constexpr const char* kTp = "distributed_strategy.tensor_model_parallel_size";
constexpr const char* kPp = "distributed_strategy.pipeline_model_parallel_size";
constexpr const char* kVpp = "distributed_strategy.virtual_pipeline_model_parallel_size";
constexpr const char* kCp = "distributed_strategy.context_parallel_size";
constexpr const char* kEp = "distributed_strategy.expert_model_parallel_size";
constexpr const char* kZero1 = "distributed_strategy.zero1";
constexpr const char* kKv = "distributed_strategy.kv_replicator";
constexpr const char* kFlash = "model.fusions.flash_attention";
constexpr const char* kRing = "model.fusions.ring_attention";
constexpr const char* kSeq = "model.encoder_seq_length";
constexpr const char* kGranularity = "model.activations_checkpoint_granularity";
constexpr const char* kRecompute = "model.activations_checkpoint_recompute";

/// A case as a Megatron config: no KV replication, no flash attention.
std::vector<Edit> megatron(std::vector<Edit> more) {
  std::vector<Edit> edits{
      {"model_source", "megatron"}, {"name", "megatron_llama"}, {"model.num_kv_heads", "8"}};
  edits.insert(edits.end(), more.begin(), more.end());
  return edits;
}

std::vector<Case> schema_cases() {
  return {
      {"schema", E, "seed", {{"seed", "-"}}},
      {"schema", E, "precision", {{"precision", "-"}}},
      {"schema", E, "aync_exec_max_inflight_requests", {{"aync_exec_max_inflight_requests", "-"}}},
      {"schema", W, "async_exec_max_inflight_requests", {{"async_exec_max_inflight_requests", "5"}}},
      {"schema", E, "data.global_batch_size", {{"data.global_batch_size", "-"}}},
      {"schema", E, "data.micro_batch_size", {{"data.micro_batch_size", "-"}}},
      {"schema", E, kSeq, {{kSeq, "-"}}},
      {"schema", E, "model.model_config", {{"model.model_config", "-"}}},
      {"schema", E, kFlash, {{kFlash, "-"}}},
      {"schema", E, "trainer.max_step", {{"trainer.max_step", "10"}}},
      {"schema", E, "exp_manager.save_xsr", {{"exp_manager.save_xsr", "True"}}},
      {"schema", W, "model.fuse_qvk", {{"model.fuse_qvk", "True"}}},
      {"schema", W, "distributed_strategy.zero_1", {{"distributed_strategy.zero_1", "True"}}},
      {"schema", E, kTp, {{kTp, "eight"}}},
      {"schema", E, kTp, {{kTp, "0"}}},
      {"schema", E, kTp, {{kTp, "'8"}}},
      {"schema", W, kTp, {{kTp, "${oc.env:TP}"}}},
      {"schema", W, kZero1, {{kZero1, "'False"}}},
      {"schema", W, "model.optim.lr", {{"model.optim.lr", "fast"}}},
      {"schema", E, "trainer", {{"trainer", "5"}}},
      {"schema", E, "model_source", {{"model_source", "nemo"}}},
      {"schema", E, "seed", {{"seed", "0"}}},
      {"schema", E, "trainer.accumulate_grad_batches", {{"trainer.accumulate_grad_batches", "4"}}},
      {"schema", E, "trainer.enable_model_summary", {{"trainer.enable_model_summary", "True"}}},
      {"schema", E, "trainer.gradient_clip_algorithm", {{"trainer.gradient_clip_algorithm", "norm"}}},
      {"schema", E, "trainer.precision", megatron({{"trainer.precision", "'bf16"}})},
      {"schema", E, "exp_manager.log_global_rank_0_only", {{"exp_manager.log_global_rank_0_only", "True"}}},
      {"validation", E, "trainer.limit_val_batches", megatron({{"trainer.limit_val_batches", "2.0"}})},
      {"validation", W, "trainer.check_val_every_n_epoch", {{"trainer.check_val_every_n_epoch", "1"}}},
      {"lookup", W, "run.hidden_size", {{"run.hidden_size", "1"}}},
      {"lookup", W, "data.dpo", {{"data.dpo.beta", "1"}}},
      {"name", W, "name", {{"model.moe.top_k", "2"}}},
      {"name", N, "name", {{"name", "qwen"}}},
      {"architecture", N, "model.num_layers", {{"model.num_layers", "4"}}},
  };
}

std::vector<Case> shape_cases() {
  return {
      {"devices", E, "trainer.devices", {{"trainer.devices", "-"}}},
      {"devices", E, "trainer.devices", {{"trainer.devices", "16"}}},
      {"devices", E, "trainer.devices", {{"trainer.devices", "'32"}}},
      {"devices", W, "trainer.devices", {{"trainer.devices", "8"}, {"trainer.num_nodes", "2"}}},
      {"devices", E, "run.devices", {{"run.devices", "32"}}},
      {"devices", E, "run.note", {{"run.note", "'devices: 8"}}},
      {"divisibility", W, kTp, {{kTp, "64"}}},
      {"divisibility", E, kTp, {{kPp, "3"}}},
      {"divisibility", E, kEp, {{kEp, "3"}}},
      {"heads", E, kTp, {{"trainer.num_nodes", "3"}, {kTp, "3"}}},
      {"heads", E, kTp, {{"trainer.num_nodes", "3"}, {kTp, "12"}}},
      {"heads", E, "model.hidden_size", {{"model.hidden_size", "4097"}}},
      {"heads", E, "model.num_kv_heads", megatron({{"model.num_kv_heads", "5"}})},
      {"kv-replicator", E, kTp, megatron({{kTp, "32"}})},
      {"kv-replicator", W, kKv, megatron({{kKv, "4"}})},
      {"kv-replicator", E, kKv, {{kTp, "32"}, {kKv, "1"}}},
      {"kv-replicator", E, kKv, {{kKv, "3"}}},
      {"kv-replicator", W, kKv, {{kKv, "2"}}},
      {"kv-replicator", E, "model.qkv_linear", {{kTp, "32"}, {kKv, "4"}, {"model.qkv_linear", "False"}}},
      {"kv-replicator", W, kKv, {{kKv, "2"}, {"model.qkv_linear", "False"}}},
      {"vocabulary", E, kTp, {{"trainer.num_nodes", "7"}, {kTp, "7"}}},
      {"layers", E, kPp, {{kPp, "4"}, {"model.num_layers", "3"}}},
      {"layers", E, kPp, megatron({{kPp, "4"}, {"model.num_layers", "30"}})},
      {"layers", E, kVpp, megatron({{kPp, "4"}, {kVpp, "3"}})},
      {"layers", N, kPp, {{kPp, "4"}, {"model.num_layers", "30"}}},
      {"layers", E, "model.pipeline_cuts", {{kPp, "4"}, {"model.pipeline_cuts", "[\"model.layers.8\"]"}}},
      {"layers", E, "model.pipeline_cuts", {{kPp, "2"}, {"model.pipeline_cuts", "[\"model.layers.31\"]"}}},
      {"layers", E, "model.pipeline_cuts", {{kPp, "2"}, {"model.pipeline_cuts", "[layer8]"}}},
      {"layers",
       E,
       "model.pipeline_cuts",
       {{kPp, "4"}, {"model.pipeline_cuts", "[model.layers.8, model.layers.8, model.layers.9]"}}},
      {"pipeline-parity", W, kPp, {{"trainer.num_nodes", "3"}, {kPp, "3"}}},
      {"batch", E, "data.global_batch_size", {{"data.global_batch_size", "3"}}},
      {"batch", W, "data.global_batch_size", {{"data.global_batch_size", "1026"}}},
      // 14 / 4 replicas = 3 sequences in int(14 / (2 * 4)) = 1 micro-batch is whole; 30 / 4 = 7 in 3 is not.
      {"batch",
       E,
       "data.global_batch_size",
       {{kTp, "2"}, {kPp, "4"}, {"data.global_batch_size", "30"}, {"data.micro_batch_size", "2"}}},
      {"interleaved", E, kVpp, {{kPp, "4"}, {kVpp, "2"}, {"data.global_batch_size", "1023"}}},
      {"sequence", W, "data.seq_length", {{"data.seq_length", "4096"}}},
      {"sequence",
       W,
       "data.seq_length",
       {{"data.seq_length", "4096"}, {"model_alignment_strategy.sft.packing", "True"}}},
      {"sequence",
       E,
       "data.seq_length",
       {{"data.seq_length", "4096"}, {"model_alignment_strategy.dpo.kl_beta", "0.01"}}},
      {"sequence",
       N,
       "data.seq_length",
       {{"data.seq_length", "4096"}, {"data.use_sft_style_data_module", "True"}}},
      {"tied-embeddings", E, "model.share_embeddings_and_output_weights",
       megatron({{kPp, "2"}, {"model.share_embeddings_and_output_weights", "True"}})},
      {"trn2", W, "trainer.lnc", {{"trainer.lnc", "2"}}},
      {"trn2", W, "compiler_flags", {{"trainer.devices", "128"}, {"trainer.lnc", "1"}}},
      {"trn2", W, "trainer.lnc", {{"trainer.devices", "128"}}},
      {"trn2", E, "trainer.lnc", {{"trainer.devices", "64"}, {"trainer.lnc", "4"}}},
      {"trn2", W, "trainer.sequential_move_factor", {{"trainer.sequential_move_factor", "64"}}},
  };
}

std::vector<Case> attention_cases() {
  return {
      {"context-parallel", E, kRing, {{kRing, "True"}}},
      {"context-parallel", E, kCp, {{kCp, "2"}}},
      {"context-parallel", E, kSeq, {{kCp, "4"}, {kRing, "True"}, {kFlash, "False"}, {kSeq, "8190"}}},
      {"context-parallel", E, kSeq, {{kCp, "4"}, {kRing, "True"}, {kFlash, "False"}, {kSeq, "2048"}}},
      {"context-parallel", W, kSeq, {{kCp, "4"}, {kRing, "True"}, {kFlash, "False"}, {kSeq, "65536"}}},
      {"context-parallel", W, kCp, megatron({{kCp, "2"}})},
      {"context-parallel", W, kCp, {{kCp, "2"}, {"trainer.devices", "64"}}},
      {"flash-attention", E, kSeq, {{kSeq, "5120"}}},
      {"flash-attention", W, kFlash, megatron({})},
      {"flash-attention", W, kTp, {{"trainer.devices", "64"}, {"trainer.lnc", "2"}, {kTp, "32"}, {kKv, "4"}}},
      {"sequence-parallel", E, "distributed_strategy.sequence_parallel", {{kSeq, "8196"}}},
      {"sequence-parallel", W, "distributed_strategy.sequence_parallel", {{kTp, "1"}}},
      {"recompute", E, kRecompute, {{kRecompute, "null"}}},
      {"recompute", E, kRecompute, {{kRecompute, "[]"}}},
      {"recompute", E, kRecompute, {{kRecompute, "-"}}},
      {"recompute", W, kRecompute, {{kRecompute, "-"}, {"run.name", "recipe"}}},
      {"recompute", E, kRecompute, {{kRecompute, "[LlamaMPL]"}}},
      {"recompute", W, kRecompute, {{kRecompute, "[LlamaMPL, LlamaMLP]"}}},
      {"recompute", E, kRecompute, megatron({{kRecompute, "[LlamaMLP]"}})},
      {"recompute", N, kRecompute, {{kRecompute, "[CoreAttention]"}}},
      {"recompute", N, kRecompute, {{kRecompute, "[CoreAttention, LlamaMPL]"}}},
      {"recompute", N, kRecompute, {{kGranularity, "full"}, {kRecompute, "[LlamaMLP]"}}},
      {"recompute", W, kGranularity, {{kGranularity, "some"}}},
      {"recompute", N, kGranularity, {{kGranularity, "null"}, {kFlash, "False"}}},
      {"recompute",
       N,
       "model.activations_checkpoint_recompute_mlp",
       {{"model.activations_checkpoint_recompute_mlp", "True"}}},
  };
}

std::vector<Case> training_cases() {
  const char* clip = "trainer.gradient_clip_val";
  const char* filename = "exp_manager.checkpoint_callback_params.filename";
  const char* interval = "exp_manager.checkpoint_callback_params.every_n_train_steps";
  const char* size = "exp_manager.checkpoint_callback_params.model_parallel_size";
  return {
      {"precision", E, "precision.type", {{"precision.type", "'mixed_precisionSR"}}},
      {"precision", E, "precision.type", {{"precision.type", "'fp8"}}},
      {"precision", W, "precision.type", {{"precision.type", "'mixed_precision_SR"}}},
      {"precision", W, "precision.xla_use_bf16", {{"precision.xla_use_bf16", "0"}}},
      {"precision",
       W,
       "precision.parallel_layers_reduce_dtype",
       {{"precision.parallel_layers_reduce_dtype", "'fp8"}}},
      {"precision",
       W,
       "compiler_flags",
       {{"precision.type", "'manual"}, {"precision.xla_downcast_bf16", "'1"}}},
      {"precision",
       W,
       "precision.fp32_grad_acc",
       {{"precision.type", "'manual"}, {"precision.fp32_grad_acc", "-"}}},
      {"precision", N, "precision.parallel_layers_reduce_dtype",
       megatron({{"precision.parallel_layers_reduce_dtype", "'fp32"}})},
      {"zero1", E, kZero1, megatron({{kZero1, "False"}})},
      {"zero1", W, kZero1, {{kZero1, "False"}}},
      {"zero1",
       W,
       kZero1,
       {{kZero1, "False"}, {"precision.type", "'manual"}, {"precision.fp32_grad_acc", "True"}}},
      {"zero1", E, kZero1, {{kEp, "2"}, {kCp, "2"}}},
      {"gradient-clip", W, clip, {{clip, "0.5"}}},
      {"gradient-clip", E, clip, {{clip, "some"}}},
      {"weight-decay", W, "model.optim.weight_decay", {{"model.optim.weight_decay", "0.1"}}},
      {"weight-decay",
       N,
       "model.do_layer_norm_weight_decay",
       {{"model.do_layer_norm_weight_decay", "False"}}},
      {"optimizer", E, "model.optim.name", megatron({{"model.optim.name", "distributed_fused_adam"}})},
      {"optimizer", W, "model.optim.name", {{"model.optim.name", "lion"}}},
      {"schedule", W, "model.optim.sched.name", {{"model.optim.sched.name", "Cosine"}}},
      {"schedule", W, "model.optim.sched.max_steps", {{"model.optim.sched.max_steps", "99"}}},
      {"schedule", W, "model.optim.sched.warmup_steps", {{"model.optim.sched.warmup_steps", "10000"}}},
      {"checkpoint", W, interval, {{interval, "10"}}},
      {"checkpoint", W, interval, {{interval, "19"}}},
      {"checkpoint", N, interval, {{interval, "-1"}}},
      {"checkpoint", N, interval, {{interval, "0"}}},
      {"checkpoint", N, interval, {{interval, "10001"}}},
      {"checkpoint", W, filename, {{filename, "-"}}},
      {"checkpoint", W, "exp_manager.save_xser", {{"exp_manager.save_xser", "False"}}},
      {"checkpoint", N, "exp_manager.async_checkpointing", {{"exp_manager.async_checkpointing", "True"}}},
      {"resume", N, "exp_manager.resume_if_exists", {}},
      {"resume", N, "exp_manager.explicit_log_dir", {{"exp_manager.explicit_log_dir", "/fsx/run"}}},
      {"resume",
       N,
       "exp_manager.resume_from_checkpoint",
       {{"exp_manager.resume_from_checkpoint", "/fsx/ckpt"}}},
      {"resume", N, "model.weight_init_only", {{"model.weight_init_only", "True"}}},
      {"checkpoint", W, filename, {{filename, "'run--{step}"}}},
      {"checkpoint", W, size, {{size, "32"}}},
      {"collectives-bucket", W, "bucket_size_collectives", {{"bucket_size_collectives", "512"}}},
      {"async-inflight", N, "aync_exec_max_inflight_requests", {{"aync_exec_max_inflight_requests", "7"}}},
      {"compiler-flags",
       W,
       "compiler_flags",
       {{"compiler_flags", "'--model-type transformer --distribution-strategy=llm-training"}}},
      {"compiler-cache",
       W,
       "compiler_cache_url",
       {{"compiler_cache_url", "/tmp/cache"}, {"trainer.num_nodes", "2"}}},
      {"compress-groups",
       W,
       "neuron_experimental_compress_rg",
       {{"neuron_experimental_compress_rg", "True"}, {kTp, "4"}}},
      {"logging", N, "trainer.log_every_n_steps", {{"trainer.log_every_n_steps", "1"}}},
      {"end-of-support", N, "", {}},
  };
}

std::vector<Case> megatron_and_moe_cases() {
  const char* capacity = "model.moe.capacity_factor";
  const Edit mixtral{"name", "hf_mixtral"};
  return {
      {"megatron", E, "model.megatron_amp_o2", megatron({{"model.megatron_amp_o2", "True"}})},
      {"megatron", E, "model.gradient_accumulation_fusion",
       megatron({{"model.gradient_accumulation_fusion", "True"}})},
      {"megatron", E, "model.use_emha", megatron({{"model.use_emha", "True"}})},
      {"megatron", E, "model.activations_checkpoint_num_layers",
       megatron({{"model.activations_checkpoint_num_layers", "2"}})},
      {"megatron", E, "model.disable_layer_norm_checkpointing",
       megatron({{"model.disable_layer_norm_checkpointing", "False"}})},
      {"megatron", E, "model.activations_checkpoint_method",
       megatron({{"model.activations_checkpoint_method", "'block"}})},
      {"megatron", E, "model.bias_dropout_add_fusion", megatron({{"model.bias_dropout_add_fusion", "True"}})},
      {"megatron", E, "model.moe_dropout", megatron({{"model.moe_dropout", "True"}})},
      {"megatron", E, "data.dataloader_type", megatron({{"data.dataloader_type", "random"}})},
      {"megatron", W, "data.fine_tuning", megatron({{"data.fine_tuning", "True"}})},
      {"megatron", W, "model.normalization", megatron({{"model.normalization", "'rms_norm"}})},
      {"megatron", W, "model.position_embedding_type",
       megatron({{"model.position_embedding_type", "'alibi"}})},
      {"megatron", W, "model.activation", megatron({{"model.activation", "'silu"}})},
      {"megatron", W, "model.transformer_block_type", megatron({{"model.transformer_block_type", "'post"}})},
      {"megatron", W, "model.rotary_percentage", megatron({{"model.rotary_percentage", "2"}})},
      {"moe", E, capacity, {mixtral, {capacity, "0.0"}}},
      {"moe",
       W,
       "model.moe.routing_algorithm",
       {mixtral, {"model.moe.top_k", "2"}, {"model.moe.routing_algorithm", "topk"}}},
      {"moe", E, capacity, {mixtral, {capacity, "0.0"}, {"model.moe.dropless", "False"}}},
      {"moe", N, capacity, {mixtral, {capacity, "2.0"}, {"model.moe.dropless", "True"}}},
      {"moe", W, "model.activation",
       megatron({{"model.moe.dropless", "True"}, {"model.activation", "'gelu"}})},
      {"moe",
       W,
       "model.moe.top_k",
       {mixtral, {"model.moe.routing_algorithm", "sinkhorn"}, {"model.moe.top_k", "2"}}},
      {"moe", W, kEp, {{kEp, "2"}}},
      {"moe", W, kEp, {mixtral, {"model.moe.top_k", "2"}, {kEp, "2"}, {kTp, "4"}}},
      {"moe",
       W,
       "distributed_strategy.token_shuffle_group_size",
       {mixtral, {"model.moe.top_k", "2"}, {"distributed_strategy.token_shuffle_group_size", "8"}}},
      {"kv-replicator", W, kKv, {mixtral, {"model.moe.top_k", "2"}, {kTp, "32"}, {kKv, "-"}}},
      {"not-modelled", N, "model_alignment_strategy", {{"model_alignment_strategy.sft.packing", "True"}}},
      {"alignment", W, "data.train_dir", {{"model_alignment_strategy.sft.packing", "True"}}},
      {"alignment",
       E,
       "model_alignment_strategy.dpo.precompute_ref_log_probs",
       {{"model_alignment_strategy.dpo.precompute_ref_log_probs", "False"}}},
      {"alignment",
       W,
       "model_alignment_strategy.orpo.truncation_mode",
       {{"model_alignment_strategy.orpo.truncation_mode", "both"}}},
      {"alignment", W, "precision.type", {{"model_alignment_strategy.peft.lora_rank", "16"}}},
      {"alignment", W, kZero1, {{"model_alignment_strategy.peft.lora_rank", "16"}}},
      {"alignment",
       W,
       "model_alignment_strategy.peft.lora_bias",
       {{"model_alignment_strategy.peft.lora_bias", "'some"}}},
      {"alignment",
       W,
       "model_alignment_strategy.peft.target_modules",
       {{"model_alignment_strategy.peft.target_modules", "[qkv_proj, lm_head]"}}},
  };
}

/// Line of the key, or of the first leaf of its nearest section; 0 for the whole file.
int expected_line(const NxdtConfig& c, std::string key) {
  if (const auto* leaf = c.find(key)) return leaf->at.line;
  while (!key.empty()) {
    for (const auto& k : c.keys) {
      if (k.key.starts_with(key + '.')) return k.at.line;
    }
    const std::size_t dot = key.rfind('.');
    key = dot == std::string::npos ? "" : key.substr(0, dot);
  }
  return 0;
}

void check_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    NxdtConfig config = clean();
    for (const Edit& e : c.edits) apply(config, e);
    number_lines(config);
    const std::vector<Finding> findings = targets::lint(config, llama3_8b());
    const std::string edit = c.edits.empty() ? "" : c.edits.back().key + " = " + c.edits.back().text;
    CAPTURE(c.rule, c.key, edit, shown(findings));
    const Finding* found = find(findings, c.rule, c.severity, c.key);
    REQUIRE(found != nullptr);
    CHECK(found->at.file == "c.yaml");
    CHECK(found->at.line == expected_line(config, std::string(c.key)));
    CHECK_FALSE(found->message.empty());
    CHECK_FALSE(found->fix.empty());
  }
}

}  // namespace

TEST_CASE("the planner's own config has only two general remarks against it", "[planner][lint]") {
  const std::vector<Finding> findings = targets::lint(clean(), llama3_8b());
  CAPTURE(shown(findings));
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].rule == "resume");
  CHECK(findings[1].rule == "end-of-support");
  for (const Finding& f : findings) CHECK(f.severity == Severity::note);
}

TEST_CASE("schema rules fire", "[planner][lint]") {
  check_cases(schema_cases());
}
TEST_CASE("device and shape rules fire", "[planner][lint]") {
  check_cases(shape_cases());
}
TEST_CASE("attention and recompute rules fire", "[planner][lint]") {
  check_cases(attention_cases());
}
TEST_CASE("precision, optimizer and runtime rules fire", "[planner][lint]") {
  check_cases(training_cases());
}
TEST_CASE("Megatron, expert and alignment rules fire", "[planner][lint]") {
  check_cases(megatron_and_moe_cases());
}

namespace {

/// What stands just inside each rule: no error and no warning of that name.
std::vector<Case> quiet_cases() {
  const char* interval = "exp_manager.checkpoint_callback_params.every_n_train_steps";
  const char* clip = "trainer.gradient_clip_val";
  const char* decay = "model.optim.weight_decay";
  const Edit mixtral{"name", "hf_mixtral"};
  return {
      {"schema", W, "seed", {{"seed", "1"}}},
      {"validation", W, "trainer.check_val_every_n_epoch", {{"trainer.val_check_interval", "1.0"}}},
      {"lookup", W, kRing, {{kRing, "False"}}},
      {"name", W, "name", {{"name", "my_llama"}}},
      {"devices", W, "trainer.devices", {{"trainer.devices", "8"}}},
      {"divisibility", W, kTp, {{kTp, "32"}, {kKv, "4"}}},
      {"heads", E, kTp, {{kTp, "16"}, {kKv, "2"}}},
      {"kv-replicator", W, kKv, {{kTp, "16"}, {kKv, "2"}}},
      {"kv-replicator", E, kTp, megatron({{kTp, "8"}, {kKv, "1"}})},
      {"vocabulary", E, kTp, megatron({{kTp, "7"}, {"trainer.num_nodes", "7"}})},
      {"layers", E, kPp, {{kPp, "4"}, {"model.num_layers", "4"}}},
      {"layers", E, "model.pipeline_cuts", {{kPp, "2"}, {"model.pipeline_cuts", "[\"model.layers.30\"]"}}},
      {"pipeline-parity", W, kPp, {{kPp, "2"}}},
      {"batch", W, "data.global_batch_size", {{"data.global_batch_size", "4"}}},
      {"interleaved", E, kVpp, {{kPp, "4"}, {kVpp, "2"}}},
      {"sequence", W, "data.seq_length", {{"data.seq_length", "8192"}}},
      {"context-parallel", E, kSeq, {{kCp, "4"}, {kRing, "True"}, {kFlash, "False"}, {kSeq, "4096"}}},
      {"flash-attention", E, kSeq, {{kSeq, "6144"}}},
      {"flash-attention", W, kTp, {{"trainer.devices", "64"}, {kTp, "16"}, {kKv, "2"}}},
      {"sequence-parallel", E, "distributed_strategy.sequence_parallel", {{kSeq, "6144"}}},
      {"tied-embeddings", E, "model.share_embeddings_and_output_weights",
       megatron({{kPp, "2"}, {"model.share_embeddings_and_output_weights", "False"}})},
      {"recompute", N, kRecompute, {{kRecompute, "[CoreAttention, LlamaMLP]"}}},
      {"recompute", N, kRecompute, {{kRecompute, "[CoreAttention]"}, {kFlash, "False"}}},
      {"recompute", N, kRecompute, megatron({{kRecompute, "[CoreAttention]"}})},  // never fused there
      {"precision", W, "precision.type", {{"precision.type", "'autocast"}}},
      {"precision",
       N,
       "precision.parallel_layers_reduce_dtype",
       {{"precision.parallel_layers_reduce_dtype", "'fp32"}}},
      {"zero1",
       W,
       kZero1,
       {{kZero1, "False"},
        {"precision.type", "'manual"},
        {"precision.master_weights", "False"},
        {"precision.fp32_grad_acc", "False"}}},
      {"gradient-clip", W, clip, {{clip, "1"}}},
      {"gradient-clip", W, clip, {{clip, "0.5"}, {kZero1, "False"}}},
      {"weight-decay", W, decay, {{decay, "0.01"}}},
      {"weight-decay", W, decay, megatron({{decay, "0.1"}})},
      {"optimizer", E, "model.optim.name", {{"model.optim.name", "distributed_fused_adam"}}},
      {"schedule", W, "model.optim.sched.warmup_steps", {{"model.optim.sched.warmup_steps", "9999"}}},
      {"checkpoint", W, interval, {{interval, "100"}}},
      {"checkpoint", N, interval, {{interval, "10000"}}},
      {"checkpoint", W, interval, {{interval, "10"}, {"exp_manager.create_checkpoint_callback", "False"}}},
      {"resume", N, "exp_manager.resume_if_exists", {{"exp_manager.resume_if_exists", "False"}}},
      {"resume",
       N,
       "model.weight_init_only",
       {{"model.weight_init_only", "True"}, {"exp_manager.resume_from_checkpoint", "/fsx/ckpt"}}},
      {"collectives-bucket",
       W,
       "bucket_size_collectives",
       {{"bucket_size_collectives", "512"}, {kZero1, "False"}}},
      {"async-inflight", N, "aync_exec_max_inflight_requests", {{"aync_exec_max_inflight_requests", "5"}}},
      {"compiler-flags",
       W,
       "compiler_flags",
       {{"compiler_flags", "'--distribution-strategy=llm-training"}, {kFlash, "False"}}},
      {"compiler-cache", W, "compiler_cache_url", {{"compiler_cache_url", "/tmp/cache"}}},
      {"compress-groups",
       W,
       "neuron_experimental_compress_rg",
       {{"neuron_experimental_compress_rg", "True"}}},
      {"logging", N, "trainer.log_every_n_steps", {{"trainer.log_every_n_steps", "2"}}},
      {"megatron", E, "model.use_emha", {{"model.use_emha", "True"}}},
      {"megatron", W, "model.activation", megatron({{"model.activation", "'geglu"}})},
      {"moe", E, "model.moe.capacity_factor", {mixtral, {"model.moe.capacity_factor", "2.0"}}},
      {"moe",
       E,
       "model.moe.capacity_factor",
       {mixtral, {"model.moe.capacity_factor", "0.0"}, {"model.moe.dropless", "True"}}},
      {"alignment",
       W,
       kZero1,
       {{"model_alignment_strategy.peft.lora_rank", "16"},
        {kZero1, "False"},
        {"precision.type", "'autocast"}}},
      {"alignment",
       W,
       "model_alignment_strategy.peft.target_modules",
       {{"model_alignment_strategy.peft.target_modules", "[qkv_proj, down_proj]"}}},
      {"trn2", W, "trainer.lnc", {{"trainer.devices", "64"}, {"trainer.lnc", "2"}}},
      {"trn2", W, "trainer.sequential_move_factor", {{"trainer.sequential_move_factor", "32"}}},
  };
}

}  // namespace

TEST_CASE("rules stay quiet just inside their limits", "[planner][lint]") {
  for (const Case& c : quiet_cases()) {
    NxdtConfig config = clean();
    for (const Edit& e : c.edits) apply(config, e);
    number_lines(config);
    const std::vector<Finding> findings = targets::lint(config, llama3_8b());
    const std::string edit = c.edits.empty() ? "" : c.edits.back().key + " = " + c.edits.back().text;
    CAPTURE(c.rule, c.key, edit, shown(findings));
    for (const Finding& f : findings) {
      if (f.rule == c.rule && f.key == c.key) CHECK(f.severity > c.severity);
    }
  }
}

TEST_CASE("train.sh greps comments too", "[planner][lint]") {
  NxdtConfig c = clean();
  const int line = c.find("trainer.devices")->at.line;
  c.devices_lines = {{{"c.yaml", line, 3}, "32"}};
  CHECK_FALSE(find(targets::lint(c, llama3_8b()), "devices", E, "trainer.devices"));
  c.devices_lines->push_back({{"c.yaml", 900, 3}, "64"});
  const auto findings = targets::lint(c, llama3_8b());
  const Finding* again = find(findings, "devices", E, "trainer.devices");
  REQUIRE(again != nullptr);
  CHECK(again->at.line == 900);
  c.devices_lines = {{{"c.yaml", line, 3}, "{devices:"}};  // trainer: {devices: 32}
  CHECK(find(targets::lint(c, llama3_8b()), "devices", E, "trainer.devices"));
  c.devices_lines->clear();  // "devices": 32
  CHECK(find(targets::lint(c, llama3_8b()), "devices", E, "trainer.devices"));
}

TEST_CASE("without qkv_linear the KV heads themselves are split", "[planner][lint]") {
  Architecture a = llama3_8b();
  a.kv_heads = 16;
  a.heads = 32;
  a.hidden = 4096;
  const auto uneven =
      edited({{"trainer.num_nodes", "3"}, {kTp, "12"}, {kKv, "3"}, {"model.qkv_linear", "False"}});
  CHECK(find(targets::lint(uneven, a), "kv-replicator", E, "model.qkv_linear"));
  const auto even = edited({{kTp, "16"}, {kKv, "1"}, {"model.qkv_linear", "False"}});
  CHECK_FALSE(find(targets::lint(even, a), "kv-replicator", E, "model.qkv_linear"));
}

TEST_CASE("a window that NxDT does not apply is a warning", "[planner][lint]") {
  Architecture a = llama3_8b();
  CHECK_FALSE(find(targets::lint(clean(), a), "architecture", W, "model.model_config"));
  a.sliding_window = 4096;
  CHECK(find(targets::lint(clean(), a), "architecture", W, "model.model_config"));
  a.sliding_window = 1'000'000;  // hides nothing
  CHECK_FALSE(find(targets::lint(clean(), a), "architecture", W, "model.model_config"));
}

TEST_CASE("degrees that cannot be resolved are not judged", "[planner][lint]") {
  const auto findings = targets::lint(edited({{kTp, "${oc.env:TP}"}, {kKv, "4"}}), llama3_8b());
  CAPTURE(shown(findings));
  CHECK(find(findings, "schema", W, kTp));
  CHECK_FALSE(find(findings, "kv-replicator", E, kKv));
  CHECK(find(targets::lint(edited({{kTp, "1"}, {kKv, "4"}}), llama3_8b()), "kv-replicator", E, kKv));
  CHECK_FALSE(targets::unresolved_degree(edited({{"name", "${oc.env:NAME}"}})));
}

TEST_CASE("the end of support is a warning on releases in maintenance", "[planner][lint]") {
  for (const char* release : {"2.30", "2.31.0", "3.0"}) {
    CAPTURE(release);
    CHECK(find(targets::lint(clean(), llama3_8b(), release), "end-of-support", W, ""));
  }
  for (const char* release : {"", "2.28", "2.9", "x"}) {
    CAPTURE(release);
    CHECK(find(targets::lint(clean(), llama3_8b(), release), "end-of-support", N, ""));
  }
}

TEST_CASE("tied embeddings, MHA and head size come from the model", "[planner][lint]") {
  Architecture tied = llama3_8b();
  tied.tied_embeddings = true;
  CHECK(find(targets::lint(edited({{kPp, "2"}}), tied), "tied-embeddings", E, kPp));
  CHECK_FALSE(find(targets::lint(clean(), tied), "tied-embeddings", E, kPp));

  Architecture mha = llama3_8b();
  mha.kv_heads = 32;
  CHECK(find(targets::lint(clean(), mha), "kv-replicator", W, "model.qkv_linear"));

  Architecture wide = llama3_8b();
  wide.head_dim = 256;
  CHECK(find(targets::lint(clean(), wide), "heads", W, "model.hidden_size"));

  Architecture odd = llama3_8b();
  odd.intermediate = 14337;
  CHECK(find(targets::lint(clean(), odd), "heads", E, kTp));
}

TEST_CASE("an unknown key is answered with the nearest known one", "[planner][lint]") {
  const auto fix = [](const char* key) {
    const auto findings = targets::lint(edited({{key, "1"}}), llama3_8b());
    const auto it =
        std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.key == key; });
    return it == findings.end() ? std::string() : it->fix;
  };
  CHECK(fix("trainer.num_node") == "did you mean trainer.num_nodes?");
  CHECK(fix("distributed_strategy.tensor_parallel_size") ==
        "did you mean distributed_strategy.tensor_model_parallel_size?");
  CHECK(fix("model.fusion.softmax") == "did you mean model.fusions.softmax?");
  CHECK(fix("tokenizers.x") == "remove it");
  CHECK(fix("model.kv_replicator") == "did you mean distributed_strategy.kv_replicator?");
  // One that is found by its name alone is not ignored.
  const auto findings = targets::lint(edited({{"model.peft.lora_rank", "8"}}), llama3_8b());
  CHECK(std::count_if(findings.begin(), findings.end(),
                      [](const Finding& f) { return f.key == "model.peft.lora_rank"; }) == 1);
}

TEST_CASE("a batch that does not divide names its neighbours", "[planner][lint]") {
  const auto findings = targets::lint(edited({{"data.global_batch_size", "1026"}}), llama3_8b());
  CHECK(find(findings, "batch", W, "data.global_batch_size")->fix == "use 1024 or 1028");
}

TEST_CASE("keys of the launchers around NxDT are no faults", "[planner][lint]") {
  const auto findings = targets::lint(edited({{"run.name", "llama"},
                                              {"run.time_limit", "'6-00:00:00"},
                                              {"exp_manager.summary_writer_kwargs.save_dir", "x"},
                                              {"exp_manager.create_wandb_logger", "False"},
                                              {"precision.fp32_grads_cc", "False"}}),
                                      llama3_8b());
  CAPTURE(shown(findings));
  CHECK(findings.size() == 2);
}

TEST_CASE("the end of support is said once, and a file of foreign keys is cut short", "[planner][lint]") {
  NxdtConfig c = clean();
  for (int i = 0; i < 1000; ++i) c.keys.push_back({"foreign.key" + std::to_string(i), "1", false, {}});
  const auto findings = targets::lint(c, llama3_8b());
  CHECK(findings.size() < 120);
  CHECK(std::count_if(findings.begin(), findings.end(),
                      [](const Finding& f) { return f.rule == "end-of-support"; }) == 1);
}

TEST_CASE("an empty config and an empty model are reported, not fatal", "[planner][lint]") {
  CHECK(find(targets::lint({}, {}), "schema", E, "trainer"));
  CHECK(find(targets::lint(clean(), {}), "end-of-support", N, ""));
}

TEST_CASE("what is not modelled of alignment is said in its own words", "[planner][lint]") {
  const auto said = [](const char* key) {
    const auto findings = targets::lint(edited({{key, "1"}}), llama3_8b());
    const auto it = std::find_if(findings.begin(), findings.end(),
                                 [](const Finding& f) { return f.rule == "not-modelled"; });
    return it == findings.end() ? std::string() : it->message;
  };
  CHECK(
      contains(said("model_alignment_strategy.sft.packing"), "model alignment (SFT) is not modelled yet: "));
  CHECK(contains(said("model_alignment_strategy.dpo.kl_beta"), "twice the batch"));
  CHECK(contains(said("model_alignment_strategy.orpo.beta"), "(ORPO)"));
  CHECK(contains(said("model_alignment_strategy.peft.lora_rank"), "adapters"));
}
