#include "tests/api/start_breaks.h"

namespace trnplan {

std::function<void(Start&)> with(std::vector<std::pair<std::string, std::string>> settings,
                                 std::vector<std::string> without) {
  return [settings = std::move(settings), without = std::move(without)](Start& s) {
    for (const std::string& key : without) s.settings.erase(key);
    for (const auto& [key, value] : settings) s.settings[key] = value;
  };
}

const std::vector<Break>& script_breaks() {
  static const std::vector<Break> all = {
      {"heads", "--hidden-size", with({{"--hidden-size", "4095"}})},
      {"heads", "--num-attention-heads", with({{"--num-attention-heads", "33"}, {"--kv-channels", "128"}})},
      {"heads", "--num-query-groups", with({{"--num-query-groups", "64"}})},
      {"heads", "--num-query-groups",
       with({{"--num-query-groups", "3"}, {"--num-attention-heads", "24"}, {"--kv-channels", "128"}})},
      {"divisibility", "--tensor-model-parallel-size", with({{"--tensor-model-parallel-size", "3"}})},
      {"divisibility", "--num-distributed-optimizer-instances",
       with({{"--num-distributed-optimizer-instances", "1024"}, {"--use-distributed-optimizer", ""}})},
      {"zero1", "--num-distributed-optimizer-instances",
       with({{"--num-distributed-optimizer-instances", "2"}},
            {"--use-distributed-optimizer", "--overlap-param-gather"})},
      {"batch", "--global-batch-size",
       [](Start& s) {
         s.settings["--global-batch-size"] = std::to_string(s.number("--global-batch-size") * 64 + 1);
         s.settings["--micro-batch-size"] = "2";
       }},
      {"value", "--global-batch-size", with({{"--global-batch-size", "0"}})},
      {"value", "--recompute-granularity", with({{"--recompute-granularity", "everything"}})},
      {"value", "--lr-decay-style", with({{"--lr-decay-style", "cosin"}})},
      {"value", "--save-interval", with({{"--save", "/here"}, {"--save-interval", "0"}})},
      {"checkpoint", "--save", with({{"--save", "/here"}}, {"--save-interval"})},
      {"precision", "--fp16", with({{"--fp16", ""}})},
      {"precision", "--fp8-format", with({{"--fp8-format", "hybrid"}, {"--fp4-format", "e2m1"}})},
      {"precision", "--fp8-format",
       [](Start& s) {
         s.instance = "p4de.24xlarge";
         s.settings["--fp8-format"] = "hybrid";
       }},
      {"precision", "--fp8-format",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         with({{"--fp8-format", "e4m3"}, {"--fp8-recipe", "mxfp8"}})(s);
       }},
      {"precision", "--fp8-param-gather", with({{"--fp8-param-gather", ""}}, {"--fp8-format"})},
      {"precision", "--fp8-param-gather",
       with({{"--fp8-param-gather", ""}, {"--fp8-format", "hybrid"}}, {"--use-distributed-optimizer"})},
      {"schedule", "--min-lr", with({{"--min-lr", "1"}})},
      {"schedule", "--train-samples", with({{"--train-samples", "6400"}})},
      {"schedule", "--train-iters", with({{"--lr-decay-samples", "640"}})},
      {"schedule", "--lr-warmup-iters", with({{"--lr-warmup-iters", "5000"}})},
      {"schedule", "--lr-decay-style", with({{"--lr-decay-style", "WSD"}})},
      {"weight-decay", "--weight-decay-incr-style", with({{"--weight-decay-incr-style", "linear"}})},
      {"layers", "--num-layers",
       with({{"--num-layers", "31"}, {"--pipeline-model-parallel-size", "2"}},
            {"--num-virtual-stages-per-pipeline-rank", "--num-layers-per-virtual-pipeline-stage"})},
      {"layers", "--num-layers-per-virtual-pipeline-stage",
       with({{"--pipeline-model-parallel-size", "2"}, {"--num-layers-per-virtual-pipeline-stage", "3"}},
            {"--num-virtual-stages-per-pipeline-rank"})},
      {"layers", "--num-virtual-stages-per-pipeline-rank",
       with({{"--pipeline-model-parallel-size", "2"}, {"--num-virtual-stages-per-pipeline-rank", "3"}},
            {"--num-layers-per-virtual-pipeline-stage"})},
      {"layers", "--decoder-first-pipeline-num-layers",
       with({{"--pipeline-model-parallel-size", "4"}, {"--decoder-first-pipeline-num-layers", "7"}},
            {"--num-virtual-stages-per-pipeline-rank", "--num-layers-per-virtual-pipeline-stage"})},
      {"interleaved", "--num-virtual-stages-per-pipeline-rank",
       with({{"--pipeline-model-parallel-size", "1"}, {"--num-virtual-stages-per-pipeline-rank", "2"}},
            {"--num-layers-per-virtual-pipeline-stage"})},
      {"interleaved", "--num-virtual-stages-per-pipeline-rank",
       with({{"--num-virtual-stages-per-pipeline-rank", "2"},
             {"--num-layers-per-virtual-pipeline-stage", "1"}})},
      {"interleaved", "--global-batch-size",
       [](Start& s) {
         with({{"--tensor-model-parallel-size", "2"},
               {"--pipeline-model-parallel-size", "4"},
               {"--context-parallel-size", "1"},
               {"--num-virtual-stages-per-pipeline-rank", "2"},
               {"--micro-batch-size", "1"}},
              {"--num-layers-per-virtual-pipeline-stage"})(s);
         s.settings["--global-batch-size"] = std::to_string(s.ranks() / 8 * 6);
       }},
      {"context-parallel", "--seq-length",
       with({{"--seq-length", "4098"}, {"--context-parallel-size", "2"}})},
      {"sequence-parallel", "--seq-length",
       with({{"--seq-length", "4095"}, {"--context-parallel-size", "1"}})},
      {"sequence-parallel", "--tp-comm-overlap", with({{"--tp-comm-overlap", ""}}, {"--sequence-parallel"})},
      {"positions", "--max-position-embeddings", with({{"--max-position-embeddings", "1024"}})},
      {"zero1", "--overlap-param-gather",
       with({{"--overlap-param-gather", ""}}, {"--use-distributed-optimizer"})},
      {"zero1", "--overlap-param-gather", with({{"--overlap-param-gather", ""}}, {"--overlap-grad-reduce"})},
      {"fsdp", "--use-megatron-fsdp", with({{"--use-megatron-fsdp", ""}})},
      {"fsdp", "--ckpt-format", with({{"--ckpt-format", "fsdp_dtensor"}})},
      {"fsdp", "--use-torch-fsdp2", with({{"--use-torch-fsdp2", ""}})},
      {"fsdp", "--ckpt-format", with({{"--ckpt-format", "torch_dcp"}})},
      {"environment", "CUDA_DEVICE_MAX_CONNECTIONS",
       [](Start& s) {
         s.connections = true;
         with({{"--use-megatron-fsdp", ""}, {"--ckpt-format", "fsdp_dtensor"}})(s);
       }},
      {"environment", "--tensor-model-parallel-size",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         s.connections = false;
       }},
      {"recompute", "--recompute-granularity",
       with({{"--recompute-granularity", "full"}}, {"--recompute-method", "--recompute-num-layers"})},
      {"recompute", "--recompute-method",
       with({{"--recompute-granularity", "selective"}, {"--recompute-method", "uniform"}},
            {"--recompute-num-layers"})},
      {"recompute", "--recompute-num-layers",
       with({{"--recompute-granularity", "selective"}, {"--recompute-num-layers", "1"}},
            {"--recompute-method"})},
      {"recompute", "--recompute-modules",
       with({{"--recompute-granularity", "selective"}, {"--recompute-modules", "core_attn attention"}},
            {"--recompute-method", "--recompute-num-layers"})},
      {"batch", "--step-batch-size-schedule", with({{"--step-batch-size-schedule", "0:16"}}), true},
      {"recompute", "--recompute-modules",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         with({{"--recompute-granularity", "selective"},
               {"--recompute-modules", "layernorm"},
               {"--fp8-format", "hybrid"}},
              {"--recompute-method", "--recompute-num-layers"})(s);
       }},
      {"heads", "--multi-latent-attention", with({{"--multi-latent-attention", ""}})},
      {"context-parallel", "--transformer-impl",
       with({{"--transformer-impl", "local"}, {"--context-parallel-size", "2"}})},
      {"fsdp", "--use-megatron-fsdp",
       with({{"--use-megatron-fsdp", ""}, {"--ckpt-format", "fsdp_dtensor"}, {"--optimizer", "lion"}})},
      {"precision", "--fp16-lm-cross-entropy", with({{"--fp16-lm-cross-entropy", ""}})},
      {"activation", "--swiglu", with({{"--squared-relu", ""}})},
      {"recompute", "--distribute-saved-activations", with({{"--distribute-saved-activations", ""}})},
      {"recompute", "--cpu-offloading-num-layers",
       with({{"--cpu-offloading-num-layers", "4"}, {"--recompute-granularity", "selective"}},
            {"--recompute-method", "--recompute-num-layers"})},
      {"schedule", "--lr-warmup-init", with({{"--lr-warmup-init", "1"}})},
      {"logging", "--log-memory-interval", with({{"--log-memory-interval", "150"}})},
      {"moe", "--moe-expert-capacity-factor",
       with({{"--num-experts", "8"},
             {"--moe-expert-capacity-factor", "1"},
             {"--moe-router-load-balancing-type", "sinkhorn"}})},
      {"moe", "--moe-ffn-hidden-size", with({{"--moe-ffn-hidden-size", "1024"}})},
      {"moe", "--overlap-moe-expert-parallel-comm", with({{"--overlap-moe-expert-parallel-comm", ""}})},
      {"moe", "--overlap-moe-expert-parallel-comm",
       with({{"--overlap-moe-expert-parallel-comm", ""},
             {"--num-experts", "8"},
             {"--expert-model-parallel-size", "2"},
             {"--moe-token-dispatcher-type", "alltoall"},
             {"--recompute-granularity", "selective"},
             {"--recompute-modules", "moe"}})},
      {"moe", "--overlap-moe-expert-parallel-comm",
       with({{"--overlap-moe-expert-parallel-comm", ""},
             {"--num-experts", "8"},
             {"--expert-model-parallel-size", "2"}})},
      {"gone", "--warmup", with({{"--warmup", "100"}})},
      {"gone", "--checkpoint-activations", with({{"--checkpoint-activations", ""}})},
      {"attention", "--position-embedding-type", with({{"--position-embedding-type", "mrope"}})},
      {"divisibility", "--expert-model-parallel-size",
       with({{"--num-experts", "30"}, {"--expert-model-parallel-size", "3"}})},
      {"moe", "--expert-model-parallel-size", with({{"--expert-model-parallel-size", "2"}})},
      {"moe", "--expert-model-parallel-size",
       with({{"--expert-model-parallel-size", "2"}, {"--num-experts", "7"}})},
      {"moe", "--moe-router-topk", with({{"--num-experts", "8"}, {"--moe-router-topk", "1"}})},
      {"moe", "--moe-router-topk", with({{"--num-experts", "8"}, {"--moe-router-topk", "9"}})},
      {"gone", "--batch-size", with({{"--batch-size", "4"}})},
      {"gone", "--model-parallel-size", with({{"--model-parallel-size", "4"}})},
      {"attention", "--attention-backend", with({{"--attention-backend", "local"}})},
      {"fused-loss", "--cross-entropy-fusion-impl",
       with({{"--cross-entropy-fusion-impl", "te"}, {"--cross-entropy-loss-fusion", ""}})},
  };
  return all;
}

/// It runs, but not as the file says, or what it lacks may stand elsewhere.
const std::vector<Break>& script_doubts() {
  static const std::vector<Break> all = {
      {"sequence-parallel", "--sequence-parallel",
       with({{"--tensor-model-parallel-size", "1"}, {"--pipeline-model-parallel-size", "4"}})},
      {"schedule", "--train-iters", with({}, {"--train-iters"})},
      {"schedule", "--lr", with({}, {"--lr"})},
      // 65536 x 65536 bytes, 4.3 GB of 80 GiB.
      {"attention", "--seq-length",
       with({{"--seq-length", "65536"},
             {"--max-position-embeddings", "131072"},
             {"--micro-batch-size", "1"}})},
  };
  return all;
}

}  // namespace trnplan
