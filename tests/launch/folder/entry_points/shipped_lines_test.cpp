#include "tests/launch/folder/entry_points/shipped_lines.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/entry_point.h"

using namespace trnplan;

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + word;
  return text + " ";
}

/// A shipped line with one thing wrong.
struct Wrong {
  const char *script, *recipe;
  const char *from, *to;  ///< "" from: at the end
  const char* says;
};

constexpr Wrong kWrong[] = {
    // Names that one script has and the other has not.
    {"nxd-pp", "llama3-70B", "--training_dir", "--data_dir", "--data_dir: there is no such flag"},
    {"nxd-pp", "llama3-70B", "--training_config", "--model_path", "--model_path: there is no such flag"},
    {"nxd-pp", "llama3-70B", "--use_zero1_optimizer 1", "--use_zero_1",
     "--use_zero_1: there is no such flag"},
    {"nxd-pp", "llama2-70B", "", "--use_mix_precision", "--use_mix_precision: there is no such flag"},
    {"nxd-pp", "llama2-13B", "", "--gradient_clip 1.0", "--gradient_clip: there is no such flag"},
    {"nxd-tp-zero1", "llama3-8B", "--batch_size", "--train_batch_size",
     "--train_batch_size: there is no such flag"},
    {"nxd-tp-zero1", "llama3-8B", "", "--pipeline_parallel_size 2",
     "--pipeline_parallel_size: there is no such"},
    {"nxd-tp-zero1", "llama2-7B", "", "--min_lr 1e-05", "--min_lr: there is no such flag"},
    {"nxd-tp-zero1", "llama2-7B", "", "--constant_steps 0", "--constant_steps: there is no such flag"},
    {"nxd-tp-zero1", "llama2-7B", "", "--virtual_pipeline_size 2",
     "--virtual_pipeline_size: there is no such"},
    // What must be given.
    {"nxd-pp", "llama3-70B", "--lr 0.000015", "", "--lr: is missing"},
    {"nxd-pp", "llama2-70B", "--min_lr 1e-05", "", "--min_lr: is missing"},
    {"nxd-pp", "llama2-70B", "--max_steps 30000", "", "--max_steps: is missing"},
    {"nxd-tp-zero1", "llama2-7B", "--steps_this_run 10000", "", "--steps_this_run: is missing"},
    {"nemo-megatron", "llama2-7B", "model.optim.sched.constant_steps=0", "", "constant_steps: is missing"},
    {"nemo-megatron", "llama2-7B", "+model.load_xser=True", "", "model.load_xser: is missing"},
    // Types and forms of values.
    {"nxd-pp", "llama3-70B", "--lr 0.000015", "--lr fast", "'fast' is not a float"},
    {"nxd-pp", "llama2-13B", "--tensor_parallel_size 8", "--tensor_parallel_size 8.0", "'8.0' is not an int"},
    {"nxd-pp", "llama2-13B", "--use_flash_attention 0", "--use_flash_attention False",
     "'False' is not an int"},
    {"nxd-pp", "llama2-13B", "--use_flash_attention 0", "--use_flash_attention", "has no value"},
    {"nxd-tp-zero1", "llama3-8B", "--use_zero_1", "--use_zero_1 1", "1: there is no such flag"},
    {"nxd-tp-zero1", "llama3-8B", "--qkv_linear", "--qkv_linear=1", "takes no value"},
    {"nxd-tp-zero1", "llama3-8B", "", "--seq_len 4096", "--seq_len: is given twice"},
    {"bert", "phase1-lamb", "--optimizer LAMB", "--optimizer Lamb", "'Lamb' is not a choice"},
    {"bert", "phase2-adamw", "--phase2", "--phase 2", "--phase: there is no such flag"},
    {"bert", "phase2-adamw", "--seq_len 512", "--seq_len", "--seq_len: has no value"},
    {"bert", "phase2-adamw", "--resume_ckpt --resume", "--resume_ckpt 1 --resume",
     "1: there is no such flag"},
    {"bert", "phase1-adamw", "--grad_accum_usteps 32", "--grad_accum_steps 32",
     "--grad_accum_steps: there is no such flag"},
    {"bert", "phase1-adamw", "--batch_size 16", "--train_batch_size 16",
     "--train_batch_size: there is no such flag"},
    {"bert", "phase1-lamb", "--lr 6e-3", "--lr 6e-3 --min_lr 0", "--min_lr: there is no such flag"},
    {"bert", "phase1-lamb", "--max_steps 7032", "--max_steps 7e3", "'7e3' is not an int"},
    // Hydra's own rules.
    {"nemo-megatron", "llama2-7B", "+model.save_xser=True", "model.save_xser=True", "needs a plus"},
    {"nemo-megatron", "llama2-70B", "model.num_kv_heads=8", "+model.num_kv_heads=8", "takes no plus"},
    {"nemo-megatron", "llama2-7B", "model.hidden_size=4096", "model.hiden_size=4096",
     "needs a plus, or there is none"},
    {"nemo-megatron", "llama2-7B", "", "+model.use_flash_atention=True", "nothing reads such a key"},
    {"nemo-megatron", "llama2-7B", "model.sequence_parallel=True", "model.sequence_parallel=1",
     "'1' is not a bool"},
    {"nemo-megatron", "llama2-70B", "", "model.zero_use_fp32_grad_accum=False", "needs a plus"},
    {"nemo-megatron", "llama2-7B", "megatron_llama_config", "megatron_lama_config", "names no config"},
    {"nemo-megatron", "llama2-7B", "model.optim.betas=[0.9,0.95]", "model.optim.betas=0.9",
     "'0.9' is not a list"},
    {"nemo-megatron", "llama2-7B", "model.optim.lr=3.0e-4", "model.optim.lr", "is not an override"},
};

}  // namespace

TEST_CASE("shipped command lines are taken as they are", "[launch]") {
  const std::vector<ShippedLine> lines = shipped_lines();
  CHECK(lines.size() >= 20);
  for (const ShippedLine& line : lines) {
    INFO(line.script << " " << line.recipe);
    const std::vector<std::string> faults = EntryPoint(entry_point_table(), line.script).faults(line.words);
    for (const std::string& fault : faults) FAIL_CHECK(fault);
  }
}

TEST_CASE("wrong command lines are refused for what is wrong", "[launch]") {
  CHECK(std::size(kWrong) >= 30);
  const std::vector<ShippedLine> lines = shipped_lines();
  for (const Wrong& wrong : kWrong) {
    INFO(wrong.script << " " << wrong.recipe << ": " << wrong.from << " -> " << wrong.to);
    std::string text;
    for (const ShippedLine& line : lines) {
      if (line.script == wrong.script && line.recipe == wrong.recipe) text = joined(line.words);
    }
    const std::string from = wrong.from;
    const std::size_t at = from.empty() ? text.size() : text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), wrong.to);
    const auto faults = EntryPoint(entry_point_table(), wrong.script).faults(words_of(text));
    std::string said;
    for (const std::string& fault : faults) said += fault + "\n";
    INFO(said);
    CHECK(said.find(wrong.says) != std::string::npos);
  }
}
