#include "targets/nxd/nxd_target.h"

#include <algorithm>

#include "targets/flags/recipe.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "tests/targets/commands.h"

using namespace trnplan;

namespace {}  // namespace

// Names and types of all flags: tests/launch/folder/entry_points.

TEST_CASE("NxD has a script for one stage and a script for several", "[targets]") {
  const models::Job job = job_of("llama3-8b", 4, 8192, 1024);
  const models::Strategy one = strategy_of(job, "tp=32"), two = strategy_of(job, "tp=8,pp=2");
  CHECK(targets::nxd().code_for(job, one).script == "tp_zero1_llama_hf_pretrain.py");
  CHECK(targets::nxd().code_for(job, one).folder == "examples/training/llama/tp_zero1_llama_hf_pretrain");
  CHECK(targets::nxd().code_for(job, two).script == "run_llama_nxd.py");
  CHECK(targets::nxd().code_for(job, two).folder == "examples/training/llama/tp_pp_llama_hf_pretrain");
  // The modules that both import are one folder up; each script has a logger of its own in its folder.
  for (const models::Strategy& s : {one, two})
    CHECK(targets::nxd().command(job, s).python_path == "examples/training/llama");
}

TEST_CASE("NxD: one stage counts steps absolutely, and its schedule by another flag", "[targets]") {
  const models::Job job = job_of("llama2-7b", 4, 4096, 1024);
  const auto c = command_of(targets::nxd(), job, "tp=8,recompute=CoreAttention");
  CHECK(value_of(c, "--steps_this_run") == "$steps");
  CHECK(value_of(c, "--max_steps") == "10000");  // the recipe's
  CHECK(c.steps == 10000);
  CHECK(c.compile_steps == 2);
  // 1024 sequences over DP 4 * 32 / 8 = 16, one at a time.
  CHECK(value_of(c, "--batch_size") == "1");
  CHECK(value_of(c, "--grad_accum_usteps") == "64");
  CHECK(has(c.arguments, "--sequence_parallel_enabled"));
  CHECK(has(c.arguments, "--selective_checkpoint_enabled"));
  CHECK_FALSE(has(c.arguments, "--qkv_linear"));
  CHECK_FALSE(has(command_of(targets::nxd(), job, "tp=8,recompute=full").arguments,
                  "--selective_checkpoint_enabled"));
  CHECK_FALSE(has(command_of(targets::nxd(), job, "tp=8,sp=false,recompute=full").arguments,
                  "--sequence_parallel_enabled"));
}

TEST_CASE("NxD: several stages say that weight decay does nothing, and never share a log folder",
          "[targets]") {
  const models::Job job = job_of("llama3-70b", 16, 8192, 1024);
  const auto c = command_of(targets::nxd(), job, "tp=32,pp=8,recompute=CoreAttention+LlamaMLP");
  CHECK(value_of(c, "--max_steps") == "$steps");
  CHECK(c.steps == 30000);
  CHECK(value_of(c, "--lr") == "1.5e-05");
  CHECK(value_of(c, "--min_lr") == "1e-06");
  CHECK(value_of(c, "--tb_dir") == "$results/tensorboard-$start");
  CHECK(std::any_of(c.remarks.begin(), c.remarks.end(),
                    [](const std::string& r) { return contains(r, "--weight_decay has no effect"); }));
  CHECK(value_of(c, "--virtual_pipeline_size").empty());
  CHECK(value_of(command_of(targets::nxd(), job, "tp=32,pp=4,vpp=2,recompute=full"),
                 "--virtual_pipeline_size") == "2");
  CHECK(value_of(command_of(targets::nxd(), job, "tp=32,pp=4,sp=false,recompute=full"),
                 "--use_sequence_parallel") == "0");
}

TEST_CASE("NxD recomputes what each script means by selective", "[targets]") {
  // At 8192 both recompute CoreAttention; there the script for several stages adds LlamaMLP.
  const models::Job at_8192 = job_of("llama3-8b", 4, 8192, 1024),
                    at_4096 = job_of("llama3-8b", 4, 4096, 1024);
  const char* both = "CoreAttention+LlamaMLP";
  CHECK(why_not(targets::nxd(), at_8192, "tp=8,pp=2,recompute=CoreAttention+LlamaMLP").empty());
  CHECK(contains(why_not(targets::nxd(), at_8192, "tp=8,pp=2,recompute=CoreAttention"), both));
  CHECK(contains(why_not(targets::nxd(), at_8192, "tp=8,recompute=CoreAttention+LlamaMLP"),
                 "recomputes CoreAttention or all"));
  CHECK(why_not(targets::nxd(), at_8192, "tp=8,recompute=CoreAttention").empty());
  CHECK(why_not(targets::nxd(), at_4096, "tp=8,pp=2,recompute=CoreAttention").empty());
  CHECK(contains(why_not(targets::nxd(), at_4096, "tp=8,pp=2,recompute=CoreAttention+LlamaMLP"),
                 "pin recompute to CoreAttention"));
  for (const char* full : {"tp=8,pp=2,recompute=full", "tp=8,recompute=full"}) {
    CHECK(why_not(targets::nxd(), at_8192, full).empty());
    CHECK(why_not(targets::nxd(), at_4096, full).empty());
  }
  // With flash attention CoreAttention is never called, so that selective is none.
  CHECK(why_not(targets::nxd(), at_4096, "tp=8,recompute=none").empty());
  CHECK(contains(why_not(targets::nxd(), at_4096, "tp=8,flash=false,recompute=none"), "pin recompute"));
  CHECK(contains(why_not(targets::nxd(), at_8192, "tp=8,pp=2,recompute=none"), "pin recompute"));
}

TEST_CASE("NxD: precision, ring attention and what neither script can say", "[targets]") {
  models::Job job = job_of("llama3-8b", 4, 8192, 1024);
  const auto ring = command_of(targets::nxd(), job, "tp=8,cp=2,recompute=full");
  CHECK(value_of(ring, "--context_parallel_size") == "2");
  CHECK(value_of(ring, "--use_flash_attention") == "0");  // ring attention is then automatic
  CHECK(contains(why_not(targets::nxd(), job, "tp=8,zero1=false,recompute=full"),
                 "master weights without ZeRO-1"));
  job.training.precision = models::Precision::bf16_sr;
  CHECK(why_not(targets::nxd(), job, "tp=8,zero1=false,recompute=full").empty());
  CHECK(value_of(command_of(targets::nxd(), job, "tp=8,recompute=full"), "--use_gpu_compatible_precision") ==
        "0");
  CHECK_FALSE(has(command_of(targets::nxd(), job, "tp=8,recompute=full").arguments, "--use_mix_precision"));
  job.training.precision = models::Precision::autocast;
  CHECK(contains(why_not(targets::nxd(), job, "tp=8,recompute=full"), "precision autocast"));
}

TEST_CASE("recipes: the model next in size, steps, warm-up and the interval of checkpoints", "[targets]") {
  const targets::Recipe recipes[] = {{"a", 7e9, 10000, 3e-4, 0, 100}, {"b", 70e9, 30000, 1.5e-4, 0, 2000}};
  models::Architecture a = test_catalog().architecture("llama2-7b");
  CHECK(targets::nearest_recipe(recipes, a).source == "a");
  // log(13.0/7) < log(70/13.0)
  CHECK(targets::nearest_recipe(recipes, test_catalog().architecture("llama2-13b")).source == "a");
  CHECK(targets::nearest_recipe(recipes, test_catalog().architecture("llama3.1-405b")).source == "b");
  models::Training t{4096, 256, 0, models::Precision::mixed_precision};
  CHECK(targets::steps_of(t, recipes[1]) == 30000);
  t.tokens = 4096. * 256 * 11 - 1;  // the last step is not whole
  CHECK(targets::steps_of(t, recipes[1]) == 11);
  CHECK(targets::warmup_of(recipes[1], {}, 30000) == 2000);
  CHECK(targets::warmup_of(recipes[1], {}, 11) == 2);
  // Divisors: 30000 = 150 * 200; 301 = 2 below 200 is 43, less than half, so that nothing fits; a short run once.
  CHECK(targets::saving_interval(30000, 200) == 200);
  CHECK(targets::saving_interval(30001, 200) == 200);  // 19 * 1579
  CHECK(targets::saving_interval(1050, 200) == 175);
  CHECK(targets::saving_interval(11, 200) == 11);
}
