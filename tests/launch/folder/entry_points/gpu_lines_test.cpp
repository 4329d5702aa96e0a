// Command lines and TOMLs of the shipped recipes for GPUs, right and wrong.
#include "targets/megatron/megatron_rules.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/gpu_assertions.h"
#include "tests/launch/folder/entry_points/shipped_lines.h"

using namespace trnplan;

namespace {

/// A line with the values of a shipped recipe (table.json, `recipes`); where none is stated, of the documents.
struct Line {
  const char *script, *recipe, *words;
};

constexpr Line kLines[] = {
    {"megatron-lm", "llama3-8B",
     "--use-mcore-models --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
     "--group-query-attention --num-query-groups 8 --kv-channels 128 --seq-length 8192 "
     "--max-position-embeddings 8192 "
     "--position-embedding-type rope --rotary-base 1000000 --rotary-percent 1.0 --attention-dropout 0.0 "
     "--hidden-dropout 0.0 --swiglu --init-method-std 0.0134 --attention-backend fused --apply-layernorm-1p "
     "--untie-embeddings-and-output-weights --disable-bias-linear --micro-batch-size 1 --global-batch-size "
     "128 "
     "--train-samples 1953125000 --lr-decay-samples 1949218748 --lr-warmup-samples 3906252 --lr 0.00015 "
     "--min-lr "
     "0.00001 --decoupled-lr 5.0e-4 --decoupled-min-lr 4.5e-5 --lr-decay-style cosine --clip-grad 1.0 "
     "--weight-decay "
     "0.1 --adam-beta1 0.9 --adam-beta2 0.95 --bf16 --grad-reduce-in-bf16 --cross-entropy-loss-fusion "
     "--fp8-format "
     "hybrid --fp8-amax-history-len 1024 --fp8-amax-compute-algo max --fp8-param-gather "
     "--tensor-model-parallel-size 1 "
     "--context-parallel-size 1 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
     "--mock-data "
     "--tokenizer-type NullTokenizer --vocab-size 128256 --save-interval 1000 --save ckpt --log-interval 1"},
    {"megatron-lm", "gpt3-175B",
     "--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 "
     "--max-position-embeddings 2048 "
     "--attention-backend auto --micro-batch-size 1 --global-batch-size 1536 --train-iters 500000 "
     "--weight-decay 0.1 "
     "--adam-beta1 0.9 --adam-beta2 0.95 --init-method-std 0.006 --clip-grad 1.0 --fp16 --lr 6.0e-5 "
     "--lr-decay-style "
     "cosine --min-lr 6.0e-6 --lr-warmup-fraction .001 --lr-decay-iters 430000 --tensor-model-parallel-size "
     "8 "
     "--pipeline-model-parallel-size 16 --data-path prefix --vocab-file v.json --merge-file m.txt "
     "--tokenizer-type "
     "GPT2BPETokenizer --split 949,50,1 --log-interval 100 --save-interval 10000 --save c --load c "
     "--eval-iters 10"},
    {"torchtitan-toml", "llama3_8b",
     "--job.config_file llama3_8b.toml --model.name llama3 --model.flavor 8B --optimizer.name AdamW "
     "--optimizer.lr 3e-4 "
     "--optimizer.eps 1e-8 --lr_scheduler.warmup_steps 200 --training.local_batch_size 1 --training.seq_len "
     "8192 "
     "--training.max_norm 1.0 --training.steps 1000 --training.dataset c4 "
     "--parallelism.data_parallel_shard_degree -1 "
     "--parallelism.tensor_parallel_degree 1 --checkpoint.enable false --checkpoint.interval 500 "
     "--activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option op"},
    {"torchtitan-toml", "llama3_405b",
     "--model.name llama3 --model.flavor 405B --model.converters [float8] --optimizer.lr 8e-5 "
     "--lr_scheduler.warmup_steps 600 --training.local_batch_size 2 --training.seq_len 8192 --training.steps "
     "3000 "
     "--parallelism.tensor_parallel_degree 8 --parallelism.enable_async_tensor_parallel true "
     "--compile.enable true "
     "--quantize.linear.float8.enable_fsdp_float8_all_gather true "
     "--quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp true "
     "--quantize.linear.float8.filter_fqns "
     "[output] --activation_checkpoint.mode full"},
};

struct WrongLine {
  const char *script, *recipe, *from, *to, *says;
};

constexpr WrongLine kWrongLines[] = {
    {"megatron-lm", "llama3-8B", "--micro-batch-size", "--micro-batch",
     "--micro-batch: there is no such flag"},
    {"megatron-lm", "llama3-8B", "--tensor-model-parallel-size 1", "--tensor-parallel-size 1",
     "no such flag"},
    {"megatron-lm", "llama3-8B", "--context-parallel-size 1", "--context-parallel-size 2.0",
     "'2.0' is not an int"},
    {"megatron-lm", "llama3-8B", "--bf16", "--bf16 1", "1: there is no such flag"},
    {"megatron-lm", "llama3-8B", "--swiglu", "--swiglu=true", "takes no value"},
    {"megatron-lm", "llama3-8B", "--fp8-format hybrid", "--fp8-format e5m2", "'e5m2' is not a choice"},
    {"megatron-lm", "llama3-8B", "--attention-backend fused", "--attention-backend sdpa",
     "'sdpa' is not a choice"},
    {"megatron-lm", "llama3-8B", "--lr 0.00015", "", "--lr: is missing"},
    {"megatron-lm", "llama3-8B", "--seq-length 8192", "", "--seq-length: is missing"},
    {"megatron-lm", "llama3-8B", "--train-samples 1953125000", "",
     "--train-iters|--train-samples: is missing"},
    {"megatron-lm", "llama3-8B", "--mock-data", "", "--data-path|--mock-data: is missing"},
    {"megatron-lm", "llama3-8B", "--rotary-base 1000000", "--rotary-base 5e5", "'5e5' is not an int"},
    {"megatron-lm", "gpt3-175B", "--tokenizer-type GPT2BPETokenizer", "--tokenizer-type GPT2",
     "is not a choice"},
    {"megatron-lm", "gpt3-175B", "", "--recompute-modules", "--recompute-modules: has no value"},
    {"megatron-lm", "gpt3-175B", "", "--recompute-granularity all", "'all' is not a choice"},
    {"megatron-lm", "gpt3-175B", "", "--save elsewhere", "--save: is given twice"},
    {"megatron-lm", "gpt3-175B", "", "--vpp 2", "--vpp: there is no such flag"},
    {"torchtitan-toml", "llama3_8b", "--training.seq_len", "--training.sequence_length",
     "there is no such flag"},
    {"torchtitan-toml", "llama3_8b", "--training.local_batch_size 1", "--training.batch_size 1",
     "no such flag"},
    // Of the revision without TOML.
    {"torchtitan-toml", "llama3_8b", "", "--training.num_tokens_per_train_step 8192",
     "there is no such flag"},
    {"torchtitan-toml", "llama3_8b", "", "--training.disable_cuda_graphs true", "there is no such flag"},
    {"torchtitan-toml", "llama3_8b", "", "--compile.enable_async_tensor_parallel true",
     "there is no such flag"},
    {"torchtitan-toml", "llama3_8b", "--activation_checkpoint.mode selective",
     "--activation_checkpoint.mode op", "'op' is not a choice"},
    {"torchtitan-toml", "llama3_8b", "--optimizer.lr 3e-4", "--optimizer.lr fast", "'fast' is not a float"},
    {"torchtitan-toml", "llama3_8b", "--training.steps 1000", "--training.steps 1e3", "'1e3' is not an int"},
    {"torchtitan-toml", "llama3_8b", "--checkpoint.enable false", "--checkpoint.enable off",
     "'off' is not a bool"},
    {"torchtitan-toml", "llama3_8b", "", "--training.mixed_precision_param float16", "is not a choice"},
    {"torchtitan-toml", "llama3_405b", "--model.converters [float8]", "--model.converters float8",
     "is not a list"},
    {"torchtitan-toml", "llama3_405b", "", "--parallelism.fsdp_reshard_after_forward true",
     "is not a choice"},
    {"torchtitan-toml", "llama3_405b", "", "--parallelism.dp_shard 8", "there is no such flag"},
};

}  // namespace

TEST_CASE("lines of shipped recipes for GPUs are taken as they are", "[launch][gpu]") {
  for (const Line& line : kLines) {
    INFO(line.script << " " << line.recipe);
    for (const std::string& fault : EntryPoint(entry_point_table(), line.script).faults(words_of(line.words)))
      FAIL_CHECK(fault);
  }
}

TEST_CASE("wrong lines for GPUs are refused for what is wrong", "[launch][gpu]") {
  CHECK(std::size(kWrongLines) >= 30);
  for (const WrongLine& wrong : kWrongLines) {
    INFO(wrong.script << " " << wrong.recipe << ": " << wrong.from << " -> " << wrong.to);
    std::string text;
    for (const Line& line : kLines) {
      if (std::string(line.script) == wrong.script && std::string(line.recipe) == wrong.recipe)
        text = " " + std::string(line.words) + " ";
    }
    const std::string from = wrong.from;
    const std::size_t at = from.empty() ? text.size() : text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), wrong.to);
    std::string said;
    for (const std::string& fault : EntryPoint(entry_point_table(), wrong.script).faults(words_of(text)))
      said += fault + "\n";
    INFO(said);
    CHECK(said.find(wrong.says) != std::string::npos);
  }
}

// Both lists name flags of pretrain_gpt.py, each from a list of its own: of its help, and of its sources. Catches: a
// flag that the list of `check` lacks, which it would warn of in a right script.
TEST_CASE("check knows every flag of Megatron-LM's help", "[launch][gpu]") {
  const Node& flags = *entry_point_table().find("megatron-lm")->find("flags");
  REQUIRE(flags.entries.size() > 600);
  for (const Node::Entry& flag : flags.entries) {
    INFO(flag.key);
    CHECK(targets::is_megatron_flag(flag.key));
  }
}
