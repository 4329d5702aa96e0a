#include "targets/nxdt/nxdt_schema.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "targets/start/settings.h"
#include "text/diagnostic.h"

namespace trnplan::targets {

namespace {

/// A section and its keys: "key" takes any value, "key:kind" a value of that kind.
struct Section {
  std::string_view name;
  const char* keys;
};

// NxDT: examples/training_orchestrator.py, lightning_modules/nlp_overrides.py, utils/exp_manager.py,
// examples/conf. run, hydra and defaults are blocks of the launchers that wrap it (HyperPod recipes, Hydra),
// activations_checkpoint_recompute_mlp is from old HyperPod recipes, fp32_grads_cc from the shipped Mixtral
// configs. NeMo 2.1: nemo/utils/exp_manager.py (ExpManagerConfig, CallbackParams); each of its schedulers
// (model.optim.sched) has its own arguments.
constexpr Section kSections[] = {
    {"",
     "run:free hydra:free defaults name model_source seed compiler_flags compiler_cache_url "
     "aync_exec_max_inflight_requests:whole bucket_size_collectives:whole "
     "neuron_rt_exec_timeout:whole neuron_experimental_compress_rg:boolean"},
    {"trainer",
     "devices lnc:whole num_nodes:count max_epochs:whole max_steps:whole log_every_n_steps:whole "
     "val_check_interval:number check_val_every_n_epoch:whole num_sanity_val_steps:whole "
     "limit_val_batches:number limit_test_batches:number gradient_clip_val "
     "sequential_move_factor:whole logger:free enable_checkpointing:boolean callbacks:free "
     "default_root_dir gradient_clip_algorithm num_processes:whole enable_progress_bar:boolean "
     "overfit_batches:number track_grad_norm fast_dev_run accumulate_grad_batches min_epochs:whole "
     "min_steps:whole max_time:free limit_train_batches:number limit_predict_batches:number "
     "accelerator strategy sync_batchnorm:boolean precision enable_model_summary:boolean profiler "
     "benchmark deterministic reload_dataloaders_every_n_epochs:whole auto_lr_find "
     "detect_anomaly:boolean auto_scale_batch_size plugins move_metrics_to_cpu:boolean "
     "multiple_trainloader_mode inference_mode:boolean barebones:boolean "
     "use_distributed_sampler:boolean"},
    {"exp_manager",
     "log_local_rank_0_only:boolean log_global_rank_0_only:boolean "
     "create_tensorboard_logger:boolean summary_writer_kwargs:free create_wandb_logger:boolean "
     "wandb_logger_kwargs:free create_mlflow_logger:boolean mlflow_logger_kwargs:free "
     "create_dllogger_logger:boolean dllogger_logger_kwargs:free create_clearml_logger:boolean "
     "clearml_logger_kwargs:free create_neptune_logger:boolean neptune_logger_kwargs:free "
     "explicit_log_dir exp_dir name version use_datetime_version:boolean resume_if_exists:boolean "
     "resume_past_end:boolean resume_ignore_no_checkpoint:boolean resume_from_checkpoint "
     "create_checkpoint_callback:boolean create_early_stopping_callback:boolean "
     "early_stopping_callback_params:free create_preemption_callback:boolean "
     "create_straggler_detection_callback:boolean straggler_detection_params:free "
     "create_fault_tolerance_callback:boolean fault_tolerance:free files_to_copy "
     "log_step_timing:boolean log_delta_step_timing:boolean step_timing_kwargs:free "
     "log_tflops_per_sec_per_gpu:boolean model_parallel_size:whole ema:free max_time "
     "max_time_per_run seconds_to_sleep:number log_parameter_norm:boolean "
     "log_gradient_norm:boolean enable_recovery_time_instrumentation:boolean save_xser:boolean "
     "load_xser:boolean save_bf16:boolean async_checkpointing:boolean ckpt_ptl_version"},
    {"exp_manager.checkpoint_callback_params",
     "filepath dirpath filename monitor verbose:boolean save_last:boolean save_top_k:whole "
     "save_weights_only:boolean mode auto_insert_metric_name:boolean every_n_epochs:whole "
     "every_n_train_steps:whole train_time_interval prefix postfix save_best_model:boolean "
     "always_save_nemo:boolean save_nemo_on_train_end:boolean save_on_train_epoch_end:boolean "
     "model_parallel_size:whole async_save:boolean save_last_n_optim_states:whole "
     "use_master_weights_in_ckpt:boolean enable_version_counter:boolean"},
    {"distributed_strategy",
     "tensor_model_parallel_size:count pipeline_model_parallel_size:count "
     "virtual_pipeline_model_parallel_size:count context_parallel_size:count "
     "expert_model_parallel_size:count token_shuffle_group_size:count zero1:boolean "
     "sequence_parallel:boolean kv_replicator:count pipeline_model_parallel_split_rank:whole"},
    {"data",
     "micro_batch_size:count global_batch_size:count train_dir val_dir test_dir "
     "dev_choose_samples:whole seq_length:count packing:boolean use_sft_style_data_module:boolean "
     "fine_tuning:boolean data_prefix:free index_mapping_dir data_impl splits_string "
     "skip_warmup:boolean num_workers:whole dataloader_type reset_position_ids:boolean "
     "reset_attention_mask:boolean eod_mask_loss:boolean validation_drop_last:boolean "
     "no_seqlen_plus_one_input_tokens:boolean pad_samples_to_global_batch_size:boolean"},
    {"data.tokenizer",
     "library type model vocab_file merge_file delimiter sentencepiece_legacy:boolean "
     "use_fast:boolean"},
    {"model",
     "model_config encoder_seq_length:count max_position_embeddings:whole num_layers:whole "
     "hidden_size:whole qkv_linear:boolean fuse_qkv:boolean rope_theta:number pipeline_cuts:list "
     "transpose_nki_inputs:boolean use_cpu_initialization:boolean weight_init_only:boolean "
     "save_logits:boolean activations_checkpoint_granularity activations_checkpoint_recompute:list "
     "activations_checkpoint_recompute_mlp:boolean"},
    {"model.fusions", "softmax:boolean flash_attention:boolean ring_attention:boolean"},
    {"model", "do_layer_norm_weight_decay:boolean"},
    {"model.optim", "name lr:number weight_decay:number capturable:boolean betas:list eps:number sched:free"},
    {"model",
     "ffn_hidden_size:count num_attention_heads:count num_kv_heads:count init_method_std:number "
     "use_scaled_init_method:boolean hidden_dropout:number attention_dropout:number "
     "ffn_dropout:number kv_channels:whole apply_query_key_layer_scaling:boolean normalization "
     "layernorm_epsilon:number make_vocab_size_divisible_by:count persist_layer_norm:boolean "
     "share_embeddings_and_output_weights:boolean position_embedding_type rotary_percentage:number "
     "activation transformer_block_type has_bias:boolean sliding_window_size:whole "
     "megatron_amp_o2:boolean megatron_amp_O2:boolean gradient_accumulation_fusion:boolean "
     "use_emha:boolean activations_checkpoint_num_layers:whole "
     "num_micro_batches_with_partial_activation_checkpoints "
     "activations_checkpoint_layers_per_pipeline disable_layer_norm_checkpointing:boolean "
     "activations_checkpoint_method bias_dropout_add_fusion:boolean bias_activation_fusion:boolean "
     "moe_dropout"},
    {"model.moe",
     "num_experts:count frequency:count dropout:number capacity_factor:number dropless:boolean "
     "routing_algorithm router_activation sinkhorn_iterations:whole sinkhorn_tol top_k:count "
     "output_router_logits:boolean router_aux_loss_coef:number normalize_top_k_affinities:boolean"},
    {"model_alignment_strategy.dpo",
     "kl_beta:number loss_type max_prompt_length:whole precompute_ref_log_probs:boolean "
     "truncation_mode"},
    {"model_alignment_strategy.sft", "packing:boolean"},
    {"model_alignment_strategy.orpo", "beta:number max_prompt_length:whole truncation_mode"},
    {"model_alignment_strategy.peft",
     "lora_rank:count lora_alpha:number lora_dropout:number lora_bias lora_verbose:boolean "
     "target_modules:list load_lora_from_ckpt:boolean save_lora_base:boolean merge_lora:boolean "
     "save_lora_config_adapter:boolean merge_sharded_lora:boolean"},
    {"precision",
     "type master_weights:boolean fp32_grad_acc:boolean fp32_grads_cc:boolean xla_use_bf16 "
     "xla_downcast_bf16 neuron_rt_stochastic_rounding_en parallel_layers_reduce_dtype"},
};

struct KindWord {
  std::string_view word;
  Kind kind;
};
constexpr KindWord kKindWords[] = {{"count", Kind::count},   {"whole", Kind::whole},
                                   {"number", Kind::number}, {"boolean", Kind::boolean},
                                   {"list", Kind::list},     {"free", Kind::free}};

struct KnownKey {
  std::string key;
  Kind kind = Kind::any;
};
const std::vector<KnownKey>& known_keys() {
  static const std::vector<KnownKey> all = [] {
    std::vector<KnownKey> keys;
    for (const Section& section : kSections) {
      for (const std::string& word : split_words(section.keys)) {
        const std::size_t colon = std::min(word.find(':'), word.size());
        KnownKey& key = keys.emplace_back();
        key.key = std::string(section.name) + (section.name.empty() ? "" : ".") + word.substr(0, colon);
        for (const KindWord& k : kKindWords) {
          if (word.substr(std::min(colon + 1, word.size())) == k.word) key.kind = k.kind;
        }
      }
    }
    return keys;
  }();
  return all;
}

constexpr std::string_view kRequired[] = {"name",
                                          "model_source",
                                          "seed",
                                          "trainer",
                                          "exp_manager",
                                          "distributed_strategy",
                                          "data",
                                          "model",
                                          "precision",
                                          "compiler_flags",
                                          "compiler_cache_url",
                                          "aync_exec_max_inflight_requests",
                                          "bucket_size_collectives",
                                          "neuron_rt_exec_timeout",
                                          "neuron_experimental_compress_rg"};

/// Names that NxDT looks up anywhere in the tree, and the sections where they belong.
struct Homed {
  std::string_view name;
  std::string_view home;  ///< "" = the top level
};
constexpr Homed kLookedUpAnywhere[] = {
    {"context_parallel_size", "distributed_strategy"},
    {"ring_attention", "model.fusions"},
    {"hidden_size", "model"},
    {"model_alignment_strategy", ""},
    {"dpo", "model_alignment_strategy"},
    {"orpo", "model_alignment_strategy"},
    {"peft", "model_alignment_strategy"},
    {"lora_rank", "model_alignment_strategy.peft"},
    {"lora_alpha", "model_alignment_strategy.peft"},
    {"lora_dropout", "model_alignment_strategy.peft"},
    {"lora_bias", "model_alignment_strategy.peft"},
    {"lora_verbose", "model_alignment_strategy.peft"},
    {"target_modules", "model_alignment_strategy.peft"},
    {"load_lora_from_ckpt", "model_alignment_strategy.peft"},
    {"save_lora_base", "model_alignment_strategy.peft"},
    {"merge_lora", "model_alignment_strategy.peft"},
    {"save_lora_config_adapter", "model_alignment_strategy.peft"},
    {"merge_sharded_lora", "model_alignment_strategy.peft"},
};

}  // namespace

bool under(std::string_view key, std::string_view section) {
  return key.size() > section.size() && key.starts_with(section) && key[section.size()] == '.';
}

std::string_view parent_of(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string_view last_of(std::string_view key) {
  return key.substr(key.rfind('.') + 1);
}

std::span<const std::string_view> required_at_top() {
  return kRequired;
}

const std::string_view* home_of(std::string_view name) {
  const auto it = std::find_if(std::begin(kLookedUpAnywhere), std::end(kLookedUpAnywhere),
                               [&](const Homed& homed) { return homed.name == name; });
  return it == std::end(kLookedUpAnywhere) ? nullptr : &it->home;
}

LookedUp look_up(std::string_view key) {
  bool section = false;
  for (const KnownKey& known : known_keys()) {
    if (known.key == key) return {Known::yes, known.kind};
    if (known.kind == Kind::free && under(key, known.key)) return {Known::yes, Kind::any};
    section = section || under(known.key, key);
  }
  return {section ? Known::section : Known::no, Kind::any};
}

std::string most_like(std::string_view key) {
  std::vector<std::string> siblings;
  const std::string_view parent = parent_of(key);
  for (const KnownKey& known : known_keys()) {
    if (!parent.empty() && !under(known.key, parent)) continue;
    const std::size_t from = parent.empty() ? 0 : parent.size() + 1;
    const std::string_view sibling = std::string_view(known.key).substr(0, known.key.find('.', from));
    if (siblings.empty() || siblings.back() != sibling) siblings.emplace_back(sibling);
  }
  const std::string near = nearest(key, siblings);
  if (!near.empty()) return near;
  for (const KnownKey& known : known_keys()) {
    if (last_of(known.key) == last_of(key)) return known.key;
  }
  return "";
}

std::string_view wanted(Kind kind) {
  switch (kind) {
    case Kind::count:
      return "a whole number of at least 1";
    case Kind::whole:
      return "a whole number";
    case Kind::number:
      return "a number";
    case Kind::boolean:
      return "True or False";
    case Kind::list:
      return "a list";
    case Kind::any:
    case Kind::free:
      return "anything";
  }
  return "";
}

bool fits(const NxdtConfig& c, std::string_view key, Kind kind) {
  switch (kind) {
    case Kind::count:
      return c.whole(key).value_or(0) >= 1;
    case Kind::whole:
      return c.whole(key).has_value();
    case Kind::number:
      return c.number(key).has_value();
    case Kind::boolean:
      return c.boolean(key).has_value();
    case Kind::list:
      return c.text(key).starts_with('[') && !c.find(key)->quoted;
    case Kind::any:
    case Kind::free:
      return true;
  }
  return true;
}

}  // namespace trnplan::targets
