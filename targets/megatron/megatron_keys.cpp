#include "models/architecture/limits.h"
#include "models/job/limits.h"
#include "targets/megatron/megatron_rules.h"

namespace trnplan::targets {

using models::model_limits, models::run_limits;

// Kinds, usual values and choices: NVIDIA/Megatron-LM@d98e8a6 megatron/training/arguments.py, megatron/training/config
// and megatron/core/transformer/transformer_config.py.
namespace {

using enum KeyKind;

/// Of these and of the rows below a prediction is made.
constexpr const char* kDecidingToggles =
    "--sequence-parallel --group-query-attention --multi-latent-attention --use-distributed-optimizer "
    "--use-megatron-fsdp --use-torch-fsdp2 --untie-embeddings-and-output-weights --bf16 --fp16 "
    "--fp8-param-gather --recompute-activations --tp-comm-overlap --moe-pad-expert-input-to-capacity "
    "--swiglu --use-flash-attn --disable-bias-linear --add-qkv-bias --qk-layernorm "
    "--grad-reduce-in-bf16 --account-for-embedding-in-pipeline-split "
    "--account-for-loss-in-pipeline-split --overlap-moe-expert-parallel-comm";
constexpr const char* kOtherToggles =
    "--no-create-attention-mask-in-dataloader --dataloader-inter-document-masking "
    "--overlap-param-gather --overlap-grad-reduce --no-gradient-accumulation-fusion "
    "--no-overlap-p2p-communication --fp16-lm-cross-entropy --fp32-residual-connection "
    "--fp4-param-gather --distribute-saved-activations --moe-grouped-gemm --moe-router-pre-softmax "
    "--squared-relu --quick-geglu --cross-entropy-loss-fusion --decrease-batch-size-if-needed";

std::vector<StartKey> with_toggles(std::vector<StartKey> keys, const std::vector<std::string>& toggles) {
  for (const std::string& name : toggles) keys.push_back({name.c_str(), toggle});
  return keys;
}

const std::vector<StartKey>& other_keys() {
  static const std::vector<std::string> toggles = split_words(kOtherToggles);
  static const std::vector<StartKey> all = with_toggles(
      {
          {"--microbatch-group-size-per-virtual-pipeline-stage", whole, "", "", 1},
          {"--moe-aux-loss-coeff", number, "0"},
          {"--cpu-offloading-num-layers", whole, "0"},
          {"--lr-decay-iters", whole, "", "", 1},
          {"--lr-decay-samples", whole, "", "", 1},
          {"--lr-warmup-iters", whole, "0"},
          {"--lr-warmup-samples", whole, "0"},
          {"--lr-wsd-decay-iters", whole},
          {"--lr-wsd-decay-samples", whole},
          {"--save-interval", whole, "", "", 1},
          {"--save-retain-interval", whole, "", "", 1},
          {"--log-interval", whole, "100", "", 1},
          {"--log-memory-interval", whole, "", "", 1},
          {"--lr", number},
          {"--min-lr", number, "0"},
          {"--lr-warmup-init", number, "0"},
          {"--lr-warmup-fraction", number},
          {"--weight-decay", number, "0.01"},
          {"--start-weight-decay", number},
          {"--end-weight-decay", number},
          {"--pipeline-model-parallel-comm-backend", text, "", "nccl ucc"},
          {"--cross-entropy-fusion-impl", text, "native", "native te"},
          {"--tp-comm-bootstrap-backend", text, "nccl", "nccl mpi gloo"},
          {"--flash-attention-version", text, "", "2 3 4"},
          {"--softmax-type", text, "vanilla", "vanilla off-by-one learnable"},
          {"--experimental-attention-variant", text, "", "gdn gdn2 dsa gated_delta_net"},
          {"--dsa-kernel-backend", text, "none", "none tilelang cudnn"},
          {"--fp8-recipe", text, "delayed", "tensorwise delayed mxfp8 blockwise custom"},
          {"--fp8-amax-compute-algo", text, "most_recent", "most_recent max"},
          {"--kitchen-attention-backend", text, "sdpa", "sdpa fa"},
          {"--fp4-format", text, "", "e2m1"},
          {"--fp4-recipe", text, "nvfp4", "nvfp4 custom"},
          {"--moe-router-score-function", text, "softmax", "softmax sigmoid sqrtsoftplus"},
          {"--moe-router-dtype", text, "", "fp32 fp64"},
          {"--moe-token-dispatcher-type", text, "allgather", "allgather alltoall flex"},
          {"--moe-flex-dispatcher-backend", text, "deepep", "deepep hybridep ncclep"},
          {"--moe-token-drop-policy", text, "probs", "probs position"},
          {"--moe-dispatch-fwd-dtype", text, "bf16", "bf16 mxfp8"},
          {"--moe-combine-bwd-dtype", text, "bf16", "bf16 mxfp8"},
          {"--moe-router-load-balancing-type", text, "aux_loss",
           "aux_loss seq_aux_loss global_aux_loss sinkhorn quantile_balancing none"},
          {"--cuda-graph-impl", text, "none", "none local transformer_engine full_iteration"},
          {"--inference-cuda-graph-scope", text, "", "none layer block"},
          {"--batch-invariant-backend", text, "te_native", "te_native deepgemm triton"},
          {"--symmetric-ar-type", text, "", "two_shot one_shot multimem_all_reduce"},
          {"--inference-grouped-gemm-backend", text, "vllm", "flashinfer torch vllm"},
          {"--inference-moe-token-dispatcher-type", text, "nvls", "nccl nvls"},
          {"--transformer-impl", text, "transformer_engine", "local transformer_engine inference_optimized"},
          {"--timing-log-level", text, "0", "0 1 2"},
          {"--timing-log-option", text, "minmax", "max minmax all"},
          {"--muon-scale-mode", text, "spectral", "spectral unit_rms_norm shape_scaling"},
          {"--muon-fp32-matmul-prec", text, "medium", "low medium high"},
          {"--muon-tp-mode", text, "duplicated", "blockwise duplicated distributed"},
          {"--muon-scalar-optimizer", text, "adam", "adam lion"},
          {"--no-weight-decay-cond-type", text, "", "apply_wd_to_qk_layernorm"},
          {"--rope-type", text, "", "rope yarn"},
          {"--optimizer", text, "adam", "adam sgd muon dist_muon lion soap adaptive_muon"},
          {"--dataloader-type", text, "", "single cyclic external"},
          {"--empty-unused-memory-level", text, "0", "0 1 2"},
          {"--lr-decay-style", text, "linear", "constant linear cosine inverse-square-root WSD"},
          {"--lr-wsd-decay-style", text, "exponential", "exponential linear cosine minus_sqrt"},
          {"--weight-decay-incr-style", text, "constant", "constant linear cosine"},
          {"--non-persistent-ckpt-type", text, "", "global local in_memory"},
          {"--non-persistent-local-ckpt-algo", text, "fully_parallel", "fully_parallel atomic"},
          {"--ckpt-format", text, "torch_dist", "torch torch_dist torch_dcp fsdp_dtensor"},
          {"--ckpt-convert-format", text, "", "torch torch_dist"},
          {"--async-strategy", text, "nvrx", "nvrx mcore"},
          {"--ckpt-fully-parallel-load-exchange-algo", text, "broadcast",
           "broadcast gather_rounds gather_object"},
          {"--ckpt-fully-parallel-save-process-group", text, "dp", "dp ep_dp"},
          {"--ckpt-fully-parallel-load-process-group", text, "dp", "dp ep_dp"},
          {"--dist-ckpt-strictness", text, "assume_ok_unexpected",
           "assume_ok_unexpected log_unexpected log_all raise_unexpected raise_all return_unexpected "
           "return_all "
           "ignore_all"},
          {"--output-logit-dtype", text, "", "bf16 fp32"},
          {"--mamba-training-ssm-states-dtype", text, "", "fp32 bf16"},
          {"--megatron-fsdp-version", text, "1", "1 2"},
          {"--data-parallel-sharding-strategy", text, "optim_grads_params",
           "no_shard optim optim_grads optim_grads_params"},
          {"--outer-dp-sharding-strategy", text, "no_shard", "no_shard optim"},
          {"--distributed-backend", text, "nccl", "nccl gloo"},
          {"--sharp-enabled-group", text, "", "dp dp_replica"},
          {"--error-injection-type", text, "transient_error",
           "correct_result transient_error persistent_error"},
          {"--rerun-mode", text, "validate_results", "disabled validate_results report_stats"},
          {"--tiktoken-pattern", text, "", "v1 v2"},
      },
      toggles);
  return all;
}

}  // namespace

const std::vector<StartKey>& megatron_deciding_keys() {
  static const std::vector<std::string> toggles = split_words(kDecidingToggles);
  static const std::vector<StartKey> all = with_toggles(
      {
          {"--tensor-model-parallel-size", whole, "1", "", 1, run_limits.ranks},
          {"--pipeline-model-parallel-size", whole, "1", "", 1, run_limits.ranks},
          {"--context-parallel-size", whole, "1", "", 1, run_limits.ranks},
          {"--expert-model-parallel-size", whole, "1", "", 1, run_limits.ranks},
          {"--expert-tensor-parallel-size", whole, "", "", 1},
          {"--num-virtual-stages-per-pipeline-rank", whole, "", "", 1, model_limits.layers},
          {"--num-layers-per-virtual-pipeline-stage", whole, "", "", 1, model_limits.layers},
          {"--decoder-first-pipeline-num-layers", whole, "", "", 1, model_limits.layers},
          {"--decoder-last-pipeline-num-layers", whole, "", "", 1, model_limits.layers},
          {"--num-distributed-optimizer-instances", whole, "1", "", 1, run_limits.ranks},
          {"--micro-batch-size", whole, "", "", 1, run_limits.micro_batch},
          {"--global-batch-size", whole, "", "", 1, run_limits.global_batch},
          {"--num-layers", whole, "", "", 1, model_limits.layers},
          {"--hidden-size", whole, "", "", 1, model_limits.hidden},
          {"--ffn-hidden-size", whole, "", "", 1, model_limits.intermediate},
          {"--num-attention-heads", whole, "", "", 1, model_limits.heads},
          {"--num-query-groups", whole, "1", "", 1, model_limits.heads},
          {"--kv-channels", whole, "", "", 1, model_limits.hidden},
          {"--seq-length", whole, "", "", 1, run_limits.sequence},
          {"--max-position-embeddings", whole, "", "", 1, model_limits.positions},
          {"--num-experts", whole, "0", "", 0, model_limits.experts},
          {"--moe-router-topk", whole, "2", "", 1, model_limits.experts},
          {"--moe-expert-capacity-factor", number, "", "", 0,
           static_cast<std::int64_t>(model_limits.capacity_factor)},
          {"--recompute-num-layers", whole, "", "", 1},
          {"--train-iters", whole, "0"},
          {"--train-samples", whole, "0"},
          {"--rotary-base", whole, "10000", "", 1, static_cast<std::int64_t>(model_limits.rope_theta)},
          {"--norm-epsilon", number, "1e-5", "", 0, 1},
          {"--vocab-size", whole, "", "", 1, model_limits.vocabulary},
          {"--padded-vocab-size", whole, "", "", 1, model_limits.vocabulary},
          {"--moe-ffn-hidden-size", whole, "", "", 1, model_limits.intermediate},
          {"--attention-dropout", number, "0.1", "", 0, 1},
          {"--position-embedding-type", text, "learned_absolute",
           "learned_absolute rope yarn mrope relative none"},
          {"--attention-backend", text, "auto", "flash fused unfused local auto"},
          {"--normalization", text, "LayerNorm", "LayerNorm RMSNorm"},
          {"--recompute-granularity", text, "", "full selective"},
          {"--recompute-method", text, "", "uniform block"},
          {"--fp8-format", text, "", "e4m3 hybrid"},
          {"--tokenizer-type", text, "",
           "BertWordPieceLowerCase BertWordPieceCase GPT2BPETokenizer SentencePieceTokenizer "
           "GPTSentencePieceTokenizer HuggingFaceTokenizer Llama2Tokenizer TikTokenizer MultimodalTokenizer "
           "NullTokenizer NullMultimodalTokenizer SFTTokenizer"},
          {"--recompute-modules", any},
          {"--moe-shared-expert-intermediate-size", any},
          {"--moe-layer-freq", any},
          {"--mtp-num-layers", any},
          {"--window-size", any},
          {"--window-attn-skip-freq", any},
          {"--vocab-file", any},
          {"--merge-file", any},
          {"--pipeline-model-parallel-layout", any},
      },
      toggles);
  return all;
}

const std::vector<StartKey>& megatron_start_keys() {
  static const std::vector<StartKey> all = [] {
    std::vector<StartKey> keys = megatron_deciding_keys();
    keys.insert(keys.end(), other_keys().begin(), other_keys().end());
    return keys;
  }();
  return all;
}

}  // namespace trnplan::targets
