// check on random scripts of Megatron-LM and TOMLs of TorchTitan: values that the framework accepts, and
// values that each of its assertions refuses. Flags, keys and choices are drawn from the table of the entry
// points, made from the sources.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "api/check.h"
#include "io/catalog/catalog.h"
#include "targets/megatron/megatron_rules.h"
#include "targets/registry.h"
#include "targets/torchtitan/titan_rules.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/launch/folder/entry_points/entry_point.h"
#include "tests/seeds.h"

using namespace trnplan;

namespace {

/// Reproducible on every machine: the engine's numbers are in the standard, a distribution's are not.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  template <class T>
  T of(std::initializer_list<T> all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(engine_() % all.size()));
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }

 private:
  std::mt19937_64 engine_;
};

/// A run of a file: its settings by name, as they stand there.
struct Start {
  std::string instance;
  int nodes = 1;
  std::map<std::string, std::string> settings;
  bool connections = true;  ///< CUDA_DEVICE_MAX_CONNECTIONS=1 is exported
  int ranks() const { return 8 * nodes; }
  int number(const std::string& key) const { return std::stoi(settings.at(key)); }
};

std::string script_of(const Start& s) {
  std::string text = "#!/usr/bin/env bash\n";
  if (s.connections) text += "export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-1}\n";
  text += "torchrun --nproc_per_node 8 --nnodes " + std::to_string(s.nodes) + " pretrain_gpt.py";
  for (const auto& [flag, value] : s.settings) text += " \\\n  " + flag + (value.empty() ? "" : " " + value);
  return text + "\n";
}

std::string toml_of(const Start& s) {
  std::string text, section;
  // Of "a.b.c" the section is "a.b".
  std::map<std::string, std::map<std::string, std::string>> sections;
  for (const auto& [key, value] : s.settings) {
    const std::size_t dot = key.rfind('.');
    sections[key.substr(0, dot)][key.substr(dot + 1)] = value;
  }
  for (const auto& [name, keys] : sections) {
    text += "[" + name + "]\n";
    for (const auto& [key, value] : keys) text += key + " = " + value + "\n";
  }
  return text;
}

/// Choices of the table that no assertion asks about: any of them is taken.
void draw_choices(Dice& dice, Start& s, const std::string& entry, const std::vector<std::string>& asked) {
  const Node& flags = *entry_point_table().find(entry)->find("flags");
  std::vector<const Node::Entry*> free;
  for (const Node::Entry& e : flags.entries) {
    if (e.value.find("choices") == nullptr || s.settings.contains(e.key)) continue;
    if (std::find(asked.begin(), asked.end(), e.key) == asked.end()) free.push_back(&e);
  }
  for (int i = 0; i < 6; ++i) {
    const Node::Entry& e = *free[dice.below(free.size())];
    const std::vector<Node>& choices = e.value.find("choices")->items;
    const std::string& value = choices[dice.below(choices.size())].scalar;
    const bool toml = entry == "torchtitan-toml";
    s.settings[toml ? e.key.substr(2) : e.key] = toml ? "\"" + value + "\"" : value;
  }
}

Start legal_script(unsigned seed) {
  Dice dice(seed);
  Start s;
  s.instance = dice.of<const char*>({"p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p4de.24xlarge"});
  s.nodes = dice.of({2, 4, 8});
  const int tp = dice.of({2, 4, 8}), pp = dice.of({1, 2, 2, 4}), cp = dice.of({1, 1, 1, s.nodes > 2 ? 2 : 1});
  const int vpp = pp > 1 ? dice.of({1, 1, 2, 4}) : 1, micro = dice.of({1, 2});
  std::map<std::string, std::string>& f = s.settings;
  const auto put = [&](const char* key, int value) { f[key] = std::to_string(value); };
  if (s.ranks() % (tp * pp * cp) != 0) return legal_script(seed + 1'000'000);
  const int replicas = s.ranks() / tp / pp / cp;
  put("--tensor-model-parallel-size", tp);
  put("--pipeline-model-parallel-size", pp);
  put("--context-parallel-size", cp);
  if (vpp > 1 && dice.of({true, false}))
    put("--num-virtual-stages-per-pipeline-rank", vpp);
  else if (vpp > 1)
    put("--num-layers-per-virtual-pipeline-stage", 32 / pp / vpp);
  put("--micro-batch-size", micro);
  put("--global-batch-size", micro * replicas * pp * dice.of({1, 2, 4}));
  put("--num-layers", 32);
  put("--hidden-size", 4096);
  put("--ffn-hidden-size", 14336);
  put("--num-attention-heads", 32);
  put("--num-query-groups", 8);
  put("--seq-length", dice.of({2048, 4096, 8192}));
  put("--max-position-embeddings", dice.of({8192, 131072}));
  put("--vocab-size", 128256);
  put("--train-iters", dice.of({100, 5000}));
  put("--lr-warmup-iters", dice.of({0, 10}));
  for (const char* toggle :
       {"--group-query-attention", "--swiglu", "--bf16", "--sequence-parallel", "--use-distributed-optimizer",
        "--untie-embeddings-and-output-weights", "--disable-bias-linear", "--mock-data"})
    f[toggle] = "";
  f["--normalization"] = "RMSNorm";
  f["--position-embedding-type"] = "rope";
  f["--lr"] = dice.of<const char*>({"3e-4", "1.5e-4"});
  f["--min-lr"] = dice.of<const char*>({"3e-5", "0", "1.5e-4"});
  f["--tokenizer-type"] = "NullTokenizer";
  if (dice.of({true, false})) {
    f["--recompute-granularity"] = "full";
    f["--recompute-method"] = "uniform";
    f["--recompute-num-layers"] = "1";
  }
  if (dice.of({true, false})) f["--overlap-param-gather"] = f["--overlap-grad-reduce"] = "";
  if (dice.of({true, false})) f["--save"] = "/checkpoints", f["--save-interval"] = "100";
  if (!s.instance.starts_with("p4") && dice.of({true, false, false}))
    f["--fp8-format"] = "hybrid", f["--fp8-param-gather"] = "";
  s.connections = s.instance.starts_with("p6") ? dice.of({true, false}) : true;
  // What other settings decide of.
  draw_choices(dice, s, "megatron-lm",
               {"--optimizer",
                "--ckpt-format",
                "--attention-backend",
                "--recompute-granularity",
                "--recompute-method",
                "--fp8-format",
                "--fp4-format",
                "--position-embedding-type",
                "--transformer-impl",
                "--lr-decay-style",
                "--weight-decay-incr-style",
                "--cross-entropy-fusion-impl",
                "--experimental-attention-variant",
                "--fp8-recipe",
                "--fp4-recipe",
                "--normalization",
                "--tokenizer-type",
                "--cuda-graph-impl",
                "--inference-cuda-graph-scope",
                "--non-persistent-ckpt-type",
                "--ckpt-convert-format",
                "--moe-router-load-balancing-type",
                "--moe-router-score-function",
                "--flash-attention-version",
                "--batch-invariant-backend",
                "--rope-type",
                "--dataloader-type",
                "--ckpt-fully-parallel-save-process-group",
                "--ckpt-fully-parallel-load-process-group",
                "--no-weight-decay-cond-type"});
  return s;
}

Start legal_toml(unsigned seed) {
  Dice dice(seed);
  Start s;
  s.instance = dice.of<const char*>({"p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p4de.24xlarge"});
  s.nodes = dice.of({1, 2, 4});
  const int tp = dice.of({1, 1, 2, 4, 8}), pp = dice.of({1, 1, 2, 4}), cp = dice.of({1, 1, 2});
  std::map<std::string, std::string>& f = s.settings;
  const auto put = [&](const char* key, int value) { f[key] = std::to_string(value); };
  if (tp * pp * cp > s.ranks()) return legal_toml(seed + 1'000'000);
  const int left = s.ranks() / tp / pp / cp;
  const int copies = left >= 4 ? dice.of({1, 2}) : 1;
  f["model.name"] = "\"llama3\"";
  f["model.flavor"] = "\"8B\"";
  put("parallelism.tensor_parallel_degree", tp);
  put("parallelism.pipeline_parallel_degree", pp);
  put("parallelism.context_parallel_degree", cp);
  put("parallelism.data_parallel_replicate_degree", copies);
  put("parallelism.data_parallel_shard_degree", dice.of({-1, left / copies}));
  const bool twice = pp > 1 && dice.of({true, false});
  if (pp > 1) f["parallelism.pipeline_parallel_schedule"] = twice ? "\"Interleaved1F1B\"" : "\"1F1B\"";
  if (pp > 1 && dice.of({true, false})) {
    put("parallelism.pipeline_parallel_layers_per_stage", 32 / pp / (twice ? 2 : 1));
    f["parallelism.pipeline_parallel_first_stage_less_layers"] =
        f["parallelism.pipeline_parallel_last_stage_less_layers"] = "0";
  }
  const int local = pp > 1 ? 2 * pp : dice.of({1, 2});
  put("training.local_batch_size", local);
  if (dice.of({true, false}))
    put("training.global_batch_size", local * left * (pp > 1 ? 1 : dice.of({1, 2})));
  put("training.seq_len", dice.of({2048, 4096, 8192}));
  put("training.steps", dice.of({100, 1000}));
  f["activation_checkpoint.mode"] = "\"full\"";
  const bool compiled = dice.of({true, false});
  if (compiled) f["compile.enable"] = "true";
  if (compiled && dice.of({true, false})) f["parallelism.enable_async_tensor_parallel"] = "true";
  if (dice.of({true, false})) f["checkpoint.enable"] = "true", f["checkpoint.keep_latest_k"] = "2";
  if (!s.instance.starts_with("p4") && dice.of({true, false}))
    f["model.converters"] = "[\"quantize.linear.float8\"]";
  draw_choices(dice, s, "torchtitan-toml",
               {"--activation_checkpoint.mode", "--training.mixed_precision_param", "--comm.mode",
                "--quantize.linear.float8.recipe_name", "--training.dtype"});
  return s;
}

/// A way to break one assertion, and what has to be said of it.
struct Break {
  const char *rule, *key;
  std::function<void(Start&)> edit;
  bool understood = false;  ///< what is meant is plain, so that it is predicted
};

std::function<void(Start&)> with(std::vector<std::pair<std::string, std::string>> settings,
                                 std::vector<std::string> without = {}) {
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
      {"gone", "--warmup", with({{"--warmup", "100"}})},
      {"gone", "--checkpoint-activations", with({{"--checkpoint-activations", ""}})},
      {"attention", "--position-embedding-type", with({{"--position-embedding-type", "mrope"}})},
      {"divisibility", "--expert-model-parallel-size",
       with({{"--num-experts", "30"}, {"--expert-model-parallel-size", "3"}})},
      {"moe", "--expert-model-parallel-size", with({{"--expert-model-parallel-size", "2"}})},
      {"moe", "--expert-model-parallel-size",
       with({{"--expert-model-parallel-size", "2"}, {"--num-experts", "7"}})},
      {"moe", "--moe-router-topk", with({{"--num-experts", "8"}, {"--moe-router-topk", "1"}})},
      {"gone", "--batch-size", with({{"--batch-size", "4"}})},
      {"gone", "--model-parallel-size", with({{"--model-parallel-size", "4"}})},
      {"attention", "--attention-backend", with({{"--attention-backend", "local"}})},
      {"fused-loss", "--cross-entropy-fusion-impl",
       with({{"--cross-entropy-fusion-impl", "te"}, {"--cross-entropy-loss-fusion", ""}})},
  };
  return all;
}

const std::vector<Break>& toml_breaks() {
  static const std::string kPipelines = "parallelism.pipeline_parallel_";
  static const std::vector<Break> all = {
      {"batch", "training.global_batch_size", with({{"training.global_batch_size", "0"}})},
      {"batch", "training.global_batch_size",
       [](Start& s) {
         s.settings["training.local_batch_size"] = "4";
         s.settings["training.global_batch_size"] = "4001";
       }},
      {"divisibility", "parallelism.data_parallel_shard_degree",
       with({{"parallelism.data_parallel_shard_degree", "0"}})},
      {"divisibility", "parallelism.data_parallel_shard_degree",
       with({{"parallelism.data_parallel_shard_degree", "3"}})},
      {"divisibility", "parallelism.data_parallel_shard_degree",
       with({{"parallelism.tensor_parallel_degree", "5"}})},
      {"divisibility", "parallelism.data_parallel_replicate_degree",
       [](Start& s) {
         with({{"parallelism.tensor_parallel_degree", "2"},
               {"parallelism.pipeline_parallel_degree", "1"},
               {"parallelism.context_parallel_degree", "1"},
               {"parallelism.data_parallel_shard_degree", "1"}})(s);
         s.settings["parallelism.data_parallel_replicate_degree"] = std::to_string(s.ranks() / 2);
       }},
      {"value", "parallelism.tensor_parallel_degree", with({{"parallelism.tensor_parallel_degree", "0"}})},
      {"value", "parallelism.fsdp_reshard_after_forward",
       with({{"parallelism.fsdp_reshard_after_forward", "\"sometimes\""}})},
      {"value", "activation_checkpoint.mode", with({{"activation_checkpoint.mode", "\"op\""}})},
      {"value", "lr_scheduler.decay_type", with({{"lr_scheduler.decay_type", "\"cosin\""}})},
      {"value", "optimizer.name", with({{"optimizer.name", "\"SGD\""}})},
      {"value", "checkpoint.enable", with({{"checkpoint.enable", "\"yes\""}})},
      {"precision", "model.converters", with({{"model.converters", "\"float8\""}})},
      {"precision", "model.converters",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         with({{"model.converters", "[\"float8\"]"}})(s);
       },
       true},
      {"pipeline-schedule", "parallelism.pipeline_parallel_degree",
       [](Start& s) {
         with({{"model.name", "\"qwen3\""},
               {kPipelines + "degree", "2"},
               {kPipelines + "schedule", "\"1F1B\""}},
              {kPipelines + "layers_per_stage", kPipelines + "first_stage_less_layers",
               kPipelines + "last_stage_less_layers"})(s);
       }},
      {"precision", "model.converters",
       with({{"model.converters", "[\"quantize.linear.float8\", \"quantize.grouped_mm.mx\"]"}})},
      {"precision", "model.converters",
       [](Start& s) {
         s.instance = "p4de.24xlarge";
         s.settings["model.converters"] = "[\"quantize.linear.float8\"]";
       }},
      {"precision", "model.converters",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         s.settings["model.converters"] = "[\"quantize.linear.mx\"]";
       }},
      {"precision", "quantize.linear.float8.recipe_name",
       with({{"model.converters", "[\"quantize.linear.float8\"]"},
             {"quantize.linear.float8.recipe_name", "\"rowwise\""},
             {"quantize.linear.float8.enable_fsdp_float8_all_gather", "true"}})},
      {"compile", "parallelism.enable_async_tensor_parallel",
       [](Start& s) {
         with({{"parallelism.enable_async_tensor_parallel", "true"},
               {"parallelism.tensor_parallel_degree", "2"},
               {"compile.enable", "false"}})(s);
       }},
      {"recompute", "activation_checkpoint.mode",
       with({{"activation_checkpoint.mode", "\"memory_budget\""}, {"compile.enable", "false"}})},
      {"recompute", "activation_checkpoint.selective_ac_option",
       with({{"activation_checkpoint.mode", "\"selective\""},
             {"activation_checkpoint.selective_ac_option", "\"ops\""}})},
      {"checkpoint", "checkpoint.keep_latest_k",
       with({{"checkpoint.enable", "true"}, {"checkpoint.keep_latest_k", "1"}})},
      {"checkpoint", "checkpoint.initial_load_model_only",
       with({{"checkpoint.enable", "true"},
             {"checkpoint.initial_load_in_hf", "true"},
             {"checkpoint.initial_load_model_only", "false"}})},
      {"sequence-parallel", "training.seq_len", with({{"training.seq_len", "4095"}})},
      {"heads", "parallelism.tensor_parallel_degree", with({{"parallelism.tensor_parallel_degree", "16"}})},
      {"batch", "training.local_batch_size",
       with({{kPipelines + "degree", "2"},
             {kPipelines + "microbatch_size", "3"},
             {"training.local_batch_size", "4"}})},
      {"pipeline-schedule", "parallelism.pipeline_parallel_schedule",
       with({{kPipelines + "degree", "2"}, {kPipelines + "schedule", "\"2F2B\""}})},
      {"pipeline-schedule", "parallelism.pipeline_parallel_schedule",
       with({{kPipelines + "degree", "2"},
             {kPipelines + "schedule", "\"ZBVZeroBubble\""},
             {"compile.enable", "true"}})},
      {"layers", "parallelism.pipeline_parallel_layers_per_stage",
       with({{kPipelines + "degree", "2"},
             {kPipelines + "schedule", "\"1F1B\""},
             {kPipelines + "first_stage_less_layers", "0"},
             {kPipelines + "last_stage_less_layers", "0"},
             {kPipelines + "layers_per_stage", "8"}})},
      {"layers", "parallelism.pipeline_parallel_layers_per_stage",
       with({{kPipelines + "degree", "2"},
             {kPipelines + "schedule", "\"Interleaved1F1B\""},
             {kPipelines + "first_stage_less_layers", "0"},
             {kPipelines + "last_stage_less_layers", "0"},
             {kPipelines + "layers_per_stage", "11"}})},
      {"moe", "parallelism.expert_tensor_parallel_degree",
       with({{"parallelism.expert_parallel_degree", "2"},
             {"parallelism.expert_tensor_parallel_degree", "3"}})},
      {"optimizer", "optimizer.early_step_in_backward",
       with({{"optimizer.early_step_in_backward", "true"}, {kPipelines + "degree", "2"}})},
      {"context-parallel", "parallelism.context_parallel_load_balancer",
       with({{"parallelism.context_parallel_load_balancer", "\"\""}})},
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

/// It runs, but in FP32, or slower than what it asks for.
const std::vector<Break>& toml_doubts() {
  static const std::vector<Break> all = {
      {"precision", "parallelism.tensor_parallel_degree",
       [](Start& s) {
         s.nodes = 1;
         with({{"parallelism.tensor_parallel_degree", "8"},
               {"parallelism.pipeline_parallel_degree", "1"},
               {"parallelism.context_parallel_degree", "1"},
               {"parallelism.data_parallel_replicate_degree", "1"},
               {"parallelism.data_parallel_shard_degree", "-1"}},
              {"training.global_batch_size"})(s);
       }},
      {"compile", "model.converters",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         with({{"model.converters", "[\"quantize.linear.float8\"]"}, {"compile.enable", "false"}})(s);
       }},
  };
  return all;
}

api::CheckResult checked(const TestFolder& folder, const Start& s, bool toml) {
  api::CheckRequest request;
  request.file = folder.write(toml ? "job.toml" : "train.sh", toml ? toml_of(s) : script_of(s));
  request.target = toml ? "torchtitan" : "megatron";
  request.instance = s.instance;
  request.nodes = s.nodes;
  return api::check(request);
}

std::string errors_of(const api::CheckResult& result) {
  std::string all;
  for (const targets::Finding& f : result.findings) {
    if (f.severity == targets::Severity::error) all += f.rule + " of " + f.key + ": " + f.message + "\n";
  }
  return all;
}

/// It is refused for that assertion, with its place, a fix and a source, and nothing is predicted.
void refused(const TestFolder& folder, Start s, const Break& b, bool toml) {
  b.edit(s);
  INFO((toml ? toml_of(s) : script_of(s)));
  const api::CheckResult result = checked(folder, s, toml);
  INFO(b.rule << " of " << b.key << "; said:\n" << errors_of(result));
  CHECK(result.verdict == "refused");
  if (!b.understood) CHECK_FALSE(result.prediction.has_value());
  const auto found = std::find_if(result.findings.begin(), result.findings.end(), [&](const auto& f) {
    return f.rule == b.rule && f.key == b.key && f.severity == targets::Severity::error;
  });
  REQUIRE(found != result.findings.end());
  CHECK(found->at.line > 0);
  CHECK(found->at.column > 0);
  CHECK_FALSE(found->fix.empty());
  CHECK(found->source.find('@') != std::string::npos);
}

void taken(const TestFolder& folder, const Start& s, bool toml) {
  INFO((toml ? toml_of(s) : script_of(s)));
  const api::CheckResult result = checked(folder, s, toml);
  INFO(errors_of(result));
  CHECK((result.verdict == "ok" || result.verdict == "warn"));
  for (const targets::Finding& f : result.findings) {
    if (f.severity == targets::Severity::warning) CHECK_FALSE(f.message.empty());
  }
}

}  // namespace

/// Rules of the target's table that a file breaks, by name.
void add_broken(std::set<std::string>& names, Start s, const Break& b, bool toml) {
  b.edit(s);
  topology::Cluster cluster;
  cluster.instance = io::Catalog::standard().instance(s.instance);
  cluster.nodes = s.nodes;
  const planner::ConfigFile file =
      toml ? planner::ConfigFile{"job.toml", toml_of(s)} : planner::ConfigFile{"train.sh", script_of(s)};
  for (const planner::StartFault& f :
       targets::find(toml ? "torchtitan" : "megatron")->start_faults(file, cluster))
    names.insert(f.name);
}

TEST_CASE("every assertion of the GPU frameworks refuses what breaks it", "[start]") {
  const TestFolder folder;
  std::set<std::string> scripts, tomls;
  for (const Break& b : script_breaks()) {
    refused(folder, legal_script(7), b, false);
    add_broken(scripts, legal_script(7), b, false);
  }
  for (const Break& b : script_doubts()) add_broken(scripts, legal_script(7), b, false);
  for (const Break& b : toml_breaks()) {
    refused(folder, legal_toml(7), b, true);
    add_broken(tomls, legal_toml(7), b, true);
  }
  for (const Break& b : toml_doubts()) add_broken(tomls, legal_toml(7), b, true);
  // None that nothing here breaks.
  for (const targets::StartRule& r : targets::megatron_start_table().rules) {
    INFO(r.name);
    CHECK(scripts.contains(r.name));
  }
  for (const targets::StartRule& r : targets::titan_start_table().rules) {
    INFO(r.name);
    CHECK(tomls.contains(r.name));
  }
}

/// Numbers at which products overflow and divisors vanish, and words that are none.
TEST_CASE("no value of a setting ends a rule", "[start]") {
  topology::Cluster cluster;
  cluster.instance = io::Catalog::standard().instance("p5.48xlarge");
  cluster.nodes = 2;
  const std::vector<const char*> values = {"0",
                                           "-1",
                                           "1",
                                           "2",
                                           "65536",
                                           "2147483647",
                                           "4294967296",
                                           "999999999999",
                                           "1000000000001",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "1e308",
                                           "nan",
                                           "$N",
                                           "x",
                                           ""};
  std::size_t said = 0;
  for (const unsigned seed : seeds(0, 20)) {
    Dice dice(seed);
    for (const bool toml : {false, true}) {
      const std::vector<targets::StartKey>& keys =
          toml ? targets::titan_start_table().keys : targets::megatron_start_table().keys;
      const planner::Target& target = *targets::find(toml ? "torchtitan" : "megatron");
      for (std::size_t i = 0; i < 100; ++i) {
        Start s = toml ? legal_toml(seed) : legal_script(seed);
        for (int n = 0; n < 3; ++n) {
          const char* value = values[dice.below(values.size())];
          s.settings[keys[dice.below(keys.size())].name] = toml && *value == '\0' ? "\"\"" : value;
        }
        INFO((toml ? toml_of(s) : script_of(s)));
        try {
          said +=
              target.start_faults({toml ? "job.toml" : "train.sh", toml ? toml_of(s) : script_of(s)}, cluster)
                  .size();
        } catch (const InputError&) {
          CHECK(toml);  // "x" and "$N" are no values of a TOML
        }
      }
    }
  }
  CHECK(said > static_cast<std::size_t>(at_least(1000)));
}

TEST_CASE("what runs otherwise than a file says is a warning", "[start]") {
  const TestFolder folder;
  const auto warned = [&](Start s, const Break& b, bool toml) {
    b.edit(s);
    INFO(b.rule << " of " << b.key << "\n" << (toml ? toml_of(s) : script_of(s)));
    const api::CheckResult result = checked(folder, s, toml);
    INFO(errors_of(result));
    CHECK(std::any_of(result.findings.begin(), result.findings.end(), [&](const targets::Finding& f) {
      return f.rule == b.rule && f.key == b.key && f.severity == targets::Severity::warning;
    }));
  };
  for (const Break& b : script_doubts()) warned(legal_script(7), b, false);
  for (const Break& b : toml_doubts()) warned(legal_toml(7), b, true);
}

TEST_CASE("what the GPU frameworks take is not refused, and one assertion broken of it is", "[start]") {
  const TestFolder folder;
  for (const unsigned seed : seeds(0, 10)) {
    INFO("seed " << seed);
    taken(folder, legal_script(seed), false);
    taken(folder, legal_toml(seed), true);
    Dice dice(seed);
    refused(folder, legal_script(seed), script_breaks()[dice.below(script_breaks().size())], false);
    refused(folder, legal_toml(seed), toml_breaks()[dice.below(toml_breaks().size())], true);
  }
}
