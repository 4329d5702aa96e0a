#include "targets/nxdt/nxdt_schema.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::targets {

namespace {

struct KnownKey {
  std::string_view key;
  Kind kind;
};

// NxDT: examples/training_orchestrator.py, lightning_modules/nlp_overrides.py, utils/exp_manager.py,
// examples/conf. NeMo 2.1: nemo/utils/exp_manager.py (ExpManagerConfig, CallbackParams).
constexpr KnownKey kKnownKeys[] = {
    // Blocks of the launchers that wrap NxDT (HyperPod recipes, Hydra).
    {"run", Kind::free},
    {"hydra", Kind::free},
    {"defaults", Kind::any},

    {"name", Kind::any},
    {"model_source", Kind::any},
    {"seed", Kind::any},
    {"compiler_flags", Kind::any},
    {"compiler_cache_url", Kind::any},
    {"aync_exec_max_inflight_requests", Kind::whole},
    {"bucket_size_collectives", Kind::whole},
    {"neuron_rt_exec_timeout", Kind::whole},
    {"neuron_experimental_compress_rg", Kind::boolean},

    {"trainer.devices", Kind::any},
    {"trainer.lnc", Kind::whole},
    {"trainer.num_nodes", Kind::count},
    {"trainer.max_epochs", Kind::whole},
    {"trainer.max_steps", Kind::whole},
    {"trainer.log_every_n_steps", Kind::whole},
    {"trainer.val_check_interval", Kind::number},
    {"trainer.check_val_every_n_epoch", Kind::whole},
    {"trainer.num_sanity_val_steps", Kind::whole},
    {"trainer.limit_val_batches", Kind::number},
    {"trainer.limit_test_batches", Kind::number},
    {"trainer.gradient_clip_val", Kind::any},
    {"trainer.sequential_move_factor", Kind::whole},
    {"trainer.logger", Kind::free},
    {"trainer.enable_checkpointing", Kind::boolean},
    {"trainer.callbacks", Kind::free},
    {"trainer.default_root_dir", Kind::any},
    {"trainer.gradient_clip_algorithm", Kind::any},
    {"trainer.num_processes", Kind::whole},
    {"trainer.enable_progress_bar", Kind::boolean},
    {"trainer.overfit_batches", Kind::number},
    {"trainer.track_grad_norm", Kind::any},
    {"trainer.fast_dev_run", Kind::any},
    {"trainer.accumulate_grad_batches", Kind::any},
    {"trainer.min_epochs", Kind::whole},
    {"trainer.min_steps", Kind::whole},
    {"trainer.max_time", Kind::free},
    {"trainer.limit_train_batches", Kind::number},
    {"trainer.limit_predict_batches", Kind::number},
    {"trainer.accelerator", Kind::any},
    {"trainer.strategy", Kind::any},
    {"trainer.sync_batchnorm", Kind::boolean},
    {"trainer.precision", Kind::any},
    {"trainer.enable_model_summary", Kind::boolean},
    {"trainer.profiler", Kind::any},
    {"trainer.benchmark", Kind::any},
    {"trainer.deterministic", Kind::any},
    {"trainer.reload_dataloaders_every_n_epochs", Kind::whole},
    {"trainer.auto_lr_find", Kind::any},
    {"trainer.detect_anomaly", Kind::boolean},
    {"trainer.auto_scale_batch_size", Kind::any},
    {"trainer.plugins", Kind::any},
    {"trainer.move_metrics_to_cpu", Kind::boolean},
    {"trainer.multiple_trainloader_mode", Kind::any},
    {"trainer.inference_mode", Kind::boolean},
    {"trainer.barebones", Kind::boolean},
    {"trainer.use_distributed_sampler", Kind::boolean},

    {"exp_manager.log_local_rank_0_only", Kind::boolean},
    {"exp_manager.log_global_rank_0_only", Kind::boolean},
    {"exp_manager.create_tensorboard_logger", Kind::boolean},
    {"exp_manager.summary_writer_kwargs", Kind::free},
    {"exp_manager.create_wandb_logger", Kind::boolean},
    {"exp_manager.wandb_logger_kwargs", Kind::free},
    {"exp_manager.create_mlflow_logger", Kind::boolean},
    {"exp_manager.mlflow_logger_kwargs", Kind::free},
    {"exp_manager.create_dllogger_logger", Kind::boolean},
    {"exp_manager.dllogger_logger_kwargs", Kind::free},
    {"exp_manager.create_clearml_logger", Kind::boolean},
    {"exp_manager.clearml_logger_kwargs", Kind::free},
    {"exp_manager.create_neptune_logger", Kind::boolean},
    {"exp_manager.neptune_logger_kwargs", Kind::free},
    {"exp_manager.explicit_log_dir", Kind::any},
    {"exp_manager.exp_dir", Kind::any},
    {"exp_manager.name", Kind::any},
    {"exp_manager.version", Kind::any},
    {"exp_manager.use_datetime_version", Kind::boolean},
    {"exp_manager.resume_if_exists", Kind::boolean},
    {"exp_manager.resume_past_end", Kind::boolean},
    {"exp_manager.resume_ignore_no_checkpoint", Kind::boolean},
    {"exp_manager.resume_from_checkpoint", Kind::any},
    {"exp_manager.create_checkpoint_callback", Kind::boolean},
    {"exp_manager.create_early_stopping_callback", Kind::boolean},
    {"exp_manager.early_stopping_callback_params", Kind::free},
    {"exp_manager.create_preemption_callback", Kind::boolean},
    {"exp_manager.create_straggler_detection_callback", Kind::boolean},
    {"exp_manager.straggler_detection_params", Kind::free},
    {"exp_manager.create_fault_tolerance_callback", Kind::boolean},
    {"exp_manager.fault_tolerance", Kind::free},
    {"exp_manager.files_to_copy", Kind::any},
    {"exp_manager.log_step_timing", Kind::boolean},
    {"exp_manager.log_delta_step_timing", Kind::boolean},
    {"exp_manager.step_timing_kwargs", Kind::free},
    {"exp_manager.log_tflops_per_sec_per_gpu", Kind::boolean},
    {"exp_manager.model_parallel_size", Kind::whole},
    {"exp_manager.ema", Kind::free},
    {"exp_manager.max_time", Kind::any},
    {"exp_manager.max_time_per_run", Kind::any},
    {"exp_manager.seconds_to_sleep", Kind::number},
    {"exp_manager.log_parameter_norm", Kind::boolean},
    {"exp_manager.log_gradient_norm", Kind::boolean},
    {"exp_manager.enable_recovery_time_instrumentation", Kind::boolean},
    {"exp_manager.save_xser", Kind::boolean},
    {"exp_manager.load_xser", Kind::boolean},
    {"exp_manager.save_bf16", Kind::boolean},
    {"exp_manager.async_checkpointing", Kind::boolean},
    {"exp_manager.ckpt_ptl_version", Kind::any},
    {"exp_manager.checkpoint_callback_params.filepath", Kind::any},
    {"exp_manager.checkpoint_callback_params.dirpath", Kind::any},
    {"exp_manager.checkpoint_callback_params.filename", Kind::any},
    {"exp_manager.checkpoint_callback_params.monitor", Kind::any},
    {"exp_manager.checkpoint_callback_params.verbose", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.save_last", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.save_top_k", Kind::whole},
    {"exp_manager.checkpoint_callback_params.save_weights_only", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.mode", Kind::any},
    {"exp_manager.checkpoint_callback_params.auto_insert_metric_name", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.every_n_epochs", Kind::whole},
    {"exp_manager.checkpoint_callback_params.every_n_train_steps", Kind::whole},
    {"exp_manager.checkpoint_callback_params.train_time_interval", Kind::any},
    {"exp_manager.checkpoint_callback_params.prefix", Kind::any},
    {"exp_manager.checkpoint_callback_params.postfix", Kind::any},
    {"exp_manager.checkpoint_callback_params.save_best_model", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.always_save_nemo", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.save_nemo_on_train_end", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.save_on_train_epoch_end", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.model_parallel_size", Kind::whole},
    {"exp_manager.checkpoint_callback_params.async_save", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.save_last_n_optim_states", Kind::whole},
    {"exp_manager.checkpoint_callback_params.use_master_weights_in_ckpt", Kind::boolean},
    {"exp_manager.checkpoint_callback_params.enable_version_counter", Kind::boolean},

    {"distributed_strategy.tensor_model_parallel_size", Kind::count},
    {"distributed_strategy.pipeline_model_parallel_size", Kind::count},
    {"distributed_strategy.virtual_pipeline_model_parallel_size", Kind::count},
    {"distributed_strategy.context_parallel_size", Kind::count},
    {"distributed_strategy.expert_model_parallel_size", Kind::count},
    {"distributed_strategy.token_shuffle_group_size", Kind::count},
    {"distributed_strategy.zero1", Kind::boolean},
    {"distributed_strategy.sequence_parallel", Kind::boolean},
    {"distributed_strategy.kv_replicator", Kind::count},
    {"distributed_strategy.pipeline_model_parallel_split_rank", Kind::whole},

    {"data.micro_batch_size", Kind::count},
    {"data.global_batch_size", Kind::count},
    {"data.train_dir", Kind::any},
    {"data.val_dir", Kind::any},
    {"data.test_dir", Kind::any},
    {"data.dev_choose_samples", Kind::whole},
    {"data.seq_length", Kind::count},
    {"data.packing", Kind::boolean},
    {"data.use_sft_style_data_module", Kind::boolean},
    {"data.fine_tuning", Kind::boolean},
    {"data.data_prefix", Kind::free},
    {"data.index_mapping_dir", Kind::any},
    {"data.data_impl", Kind::any},
    {"data.splits_string", Kind::any},
    {"data.skip_warmup", Kind::boolean},
    {"data.num_workers", Kind::whole},
    {"data.dataloader_type", Kind::any},
    {"data.reset_position_ids", Kind::boolean},
    {"data.reset_attention_mask", Kind::boolean},
    {"data.eod_mask_loss", Kind::boolean},
    {"data.validation_drop_last", Kind::boolean},
    {"data.no_seqlen_plus_one_input_tokens", Kind::boolean},
    {"data.pad_samples_to_global_batch_size", Kind::boolean},
    {"data.tokenizer.library", Kind::any},
    {"data.tokenizer.type", Kind::any},
    {"data.tokenizer.model", Kind::any},
    {"data.tokenizer.vocab_file", Kind::any},
    {"data.tokenizer.merge_file", Kind::any},
    {"data.tokenizer.delimiter", Kind::any},
    {"data.tokenizer.sentencepiece_legacy", Kind::boolean},
    {"data.tokenizer.use_fast", Kind::boolean},

    {"model.model_config", Kind::any},
    {"model.encoder_seq_length", Kind::count},
    {"model.max_position_embeddings", Kind::whole},
    {"model.num_layers", Kind::whole},
    {"model.hidden_size", Kind::whole},
    {"model.qkv_linear", Kind::boolean},
    {"model.fuse_qkv", Kind::boolean},
    {"model.rope_theta", Kind::number},
    {"model.pipeline_cuts", Kind::list},
    {"model.transpose_nki_inputs", Kind::boolean},
    {"model.use_cpu_initialization", Kind::boolean},
    {"model.weight_init_only", Kind::boolean},
    {"model.save_logits", Kind::boolean},
    {"model.activations_checkpoint_granularity", Kind::any},
    {"model.activations_checkpoint_recompute", Kind::list},
    {"model.activations_checkpoint_recompute_mlp", Kind::boolean},  // old HyperPod recipes
    {"model.fusions.softmax", Kind::boolean},
    {"model.fusions.flash_attention", Kind::boolean},
    {"model.fusions.ring_attention", Kind::boolean},
    {"model.do_layer_norm_weight_decay", Kind::boolean},
    {"model.optim.name", Kind::any},
    {"model.optim.lr", Kind::number},
    {"model.optim.weight_decay", Kind::number},
    {"model.optim.capturable", Kind::boolean},
    {"model.optim.betas", Kind::list},
    {"model.optim.eps", Kind::number},
    {"model.optim.sched", Kind::free},  // every NeMo scheduler has its own arguments

    {"model.ffn_hidden_size", Kind::count},
    {"model.num_attention_heads", Kind::count},
    {"model.num_kv_heads", Kind::count},
    {"model.init_method_std", Kind::number},
    {"model.use_scaled_init_method", Kind::boolean},
    {"model.hidden_dropout", Kind::number},
    {"model.attention_dropout", Kind::number},
    {"model.ffn_dropout", Kind::number},
    {"model.kv_channels", Kind::whole},
    {"model.apply_query_key_layer_scaling", Kind::boolean},
    {"model.normalization", Kind::any},
    {"model.layernorm_epsilon", Kind::number},
    {"model.make_vocab_size_divisible_by", Kind::count},
    {"model.persist_layer_norm", Kind::boolean},
    {"model.share_embeddings_and_output_weights", Kind::boolean},
    {"model.position_embedding_type", Kind::any},
    {"model.rotary_percentage", Kind::number},
    {"model.activation", Kind::any},
    {"model.transformer_block_type", Kind::any},
    {"model.has_bias", Kind::boolean},
    {"model.sliding_window_size", Kind::whole},
    {"model.megatron_amp_o2", Kind::boolean},
    {"model.megatron_amp_O2", Kind::boolean},
    {"model.gradient_accumulation_fusion", Kind::boolean},
    {"model.use_emha", Kind::boolean},
    {"model.activations_checkpoint_num_layers", Kind::whole},
    {"model.num_micro_batches_with_partial_activation_checkpoints", Kind::any},
    {"model.activations_checkpoint_layers_per_pipeline", Kind::any},
    {"model.disable_layer_norm_checkpointing", Kind::boolean},
    {"model.activations_checkpoint_method", Kind::any},
    {"model.bias_dropout_add_fusion", Kind::boolean},
    {"model.bias_activation_fusion", Kind::boolean},
    {"model.moe_dropout", Kind::any},

    {"model.moe.num_experts", Kind::count},
    {"model.moe.frequency", Kind::count},
    {"model.moe.dropout", Kind::number},
    {"model.moe.capacity_factor", Kind::number},
    {"model.moe.dropless", Kind::boolean},
    {"model.moe.routing_algorithm", Kind::any},
    {"model.moe.router_activation", Kind::any},
    {"model.moe.sinkhorn_iterations", Kind::whole},
    {"model.moe.sinkhorn_tol", Kind::any},
    {"model.moe.top_k", Kind::count},
    {"model.moe.output_router_logits", Kind::boolean},
    {"model.moe.router_aux_loss_coef", Kind::number},
    {"model.moe.normalize_top_k_affinities", Kind::boolean},

    {"model_alignment_strategy.dpo.kl_beta", Kind::number},
    {"model_alignment_strategy.dpo.loss_type", Kind::any},
    {"model_alignment_strategy.dpo.max_prompt_length", Kind::whole},
    {"model_alignment_strategy.dpo.precompute_ref_log_probs", Kind::boolean},
    {"model_alignment_strategy.dpo.truncation_mode", Kind::any},
    {"model_alignment_strategy.sft.packing", Kind::boolean},
    {"model_alignment_strategy.orpo.beta", Kind::number},
    {"model_alignment_strategy.orpo.max_prompt_length", Kind::whole},
    {"model_alignment_strategy.orpo.truncation_mode", Kind::any},
    {"model_alignment_strategy.peft.lora_rank", Kind::count},
    {"model_alignment_strategy.peft.lora_alpha", Kind::number},
    {"model_alignment_strategy.peft.lora_dropout", Kind::number},
    {"model_alignment_strategy.peft.lora_bias", Kind::any},
    {"model_alignment_strategy.peft.lora_verbose", Kind::boolean},
    {"model_alignment_strategy.peft.target_modules", Kind::list},
    {"model_alignment_strategy.peft.load_lora_from_ckpt", Kind::boolean},
    {"model_alignment_strategy.peft.save_lora_base", Kind::boolean},
    {"model_alignment_strategy.peft.merge_lora", Kind::boolean},
    {"model_alignment_strategy.peft.save_lora_config_adapter", Kind::boolean},
    {"model_alignment_strategy.peft.merge_sharded_lora", Kind::boolean},

    {"precision.type", Kind::any},
    {"precision.master_weights", Kind::boolean},
    {"precision.fp32_grad_acc", Kind::boolean},
    {"precision.fp32_grads_cc", Kind::boolean},  // in the shipped Mixtral configs
    {"precision.xla_use_bf16", Kind::any},
    {"precision.xla_downcast_bf16", Kind::any},
    {"precision.neuron_rt_stochastic_rounding_en", Kind::any},
    {"precision.parallel_layers_reduce_dtype", Kind::any},
};

constexpr std::string_view kRequired[] = {
    "name",
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
    "neuron_experimental_compress_rg",
};

/// Names NxDT looks up anywhere in the tree, and where they belong.
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
  for (const KnownKey& known : kKnownKeys) {
    if (known.key == key) return {Known::yes, known.kind};
    if (known.kind == Kind::free && under(key, known.key)) return {Known::yes, Kind::any};
    section = section || under(known.key, key);
  }
  return {section ? Known::section : Known::no, Kind::any};
}

std::string most_like(std::string_view key) {
  std::vector<std::string> siblings;
  const std::string_view parent = parent_of(key);
  for (const KnownKey& known : kKnownKeys) {
    if (!parent.empty() && !under(known.key, parent)) continue;
    const std::size_t from = parent.empty() ? 0 : parent.size() + 1;
    const std::string_view sibling = known.key.substr(0, known.key.find('.', from));
    if (siblings.empty() || siblings.back() != sibling) siblings.emplace_back(sibling);
  }
  const std::string near = nearest(key, siblings);
  if (!near.empty()) return near;
  for (const KnownKey& known : kKnownKeys) {
    if (last_of(known.key) == last_of(key)) return std::string(known.key);
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
