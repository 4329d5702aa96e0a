#include "targets/bert/bert_target.h"

#include <algorithm>

#include "planner/plan/space.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "tests/targets/commands.h"

using namespace trnplan;

namespace {

/// With what the target does where a job leaves it open.
models::Job bert_job(int nodes, int sequence, int batch) {
  models::Job job = job_of("bert-large", nodes, sequence, batch);
  targets::take_defaults(job, targets::bert(), false);
  return job;
}

constexpr const char* kPlain = "mbs=16,zero1=false";

}  // namespace

// Names and types of all flags: tests/launch/folder/entry_points.

TEST_CASE("BERT: strong scaling accumulates less on each node, weak scaling as much as one node",
          "[targets]") {
  // 16384 / (16 * 32 * 16) = 2; 1048576 / (16 * 32 * 16) = 128, which is 65536 / (32 * 16).
  const auto strong = command_of(targets::bert(), bert_job(16, 128, 16384), kPlain);
  CHECK(value_of(strong, "--grad_accum_usteps") == "2");
  CHECK(value_of(strong, "--optimizer") == "AdamW_FP32OptimParams");
  CHECK(value_of(strong, "--lr") == "0.0004");
  CHECK(strong.steps == 28125);
  const auto weak = command_of(targets::bert(), bert_job(16, 128, 1048576), kPlain);
  CHECK(value_of(weak, "--grad_accum_usteps") == "128");
  CHECK(value_of(weak, "--grad_accum_usteps") ==
        value_of(command_of(targets::bert(), bert_job(1, 128, 65536), kPlain), "--grad_accum_usteps"));
  CHECK(value_of(weak, "--optimizer") == "LAMB");
  CHECK(value_of(weak, "--lr") == "0.006");
  CHECK(value_of(weak, "--warmup_steps") == "2000");  // of 7032: more than a fifth
  CHECK(std::any_of(weak.remarks.begin(), weak.remarks.end(), [](const std::string& r) {
    return contains(r, "of the shipped recipe for a global batch of 65536");
  }));
  // The batch next by ratio: 32768 is as near to either, and the first of them is taken.
  CHECK(value_of(command_of(targets::bert(), bert_job(16, 128, 32768), kPlain), "--optimizer") ==
        "AdamW_FP32OptimParams");
  // Where the run has tokens they say how long it is, and the warm-up keeps the recipe's share or a fifth.
  models::Job job = bert_job(1, 128, 65536);
  job.training.tokens = 128. * 65536 * 703.2;
  CHECK(value_of(command_of(targets::bert(), job, kPlain), "--max_steps") == "704");
  CHECK(value_of(command_of(targets::bert(), job, kPlain), "--warmup_steps") == "200");  // 2000 * 704 / 7032
}

TEST_CASE("BERT: a stated optimizer is started with the recipe that has it", "[targets]") {
  // LAMB learns at rates ten times Adam's, whatever the batch.
  models::Job job = bert_job(16, 128, 16384);
  job.learning.optimizer = "lamb";
  CHECK(value_of(command_of(targets::bert(), job, kPlain), "--optimizer") == "LAMB");
  CHECK(value_of(command_of(targets::bert(), job, kPlain), "--lr") == "0.006");
  job = bert_job(16, 128, 1048576);
  job.learning.optimizer = "adamw";
  CHECK(value_of(command_of(targets::bert(), job, kPlain), "--optimizer") == "AdamW");
  CHECK(value_of(command_of(targets::bert(), job, kPlain), "--lr") == "0.0004");
  job = bert_job(16, 512, 32768);
  CHECK(value_of(command_of(targets::bert(), job, "mbs=2"), "--lr") == "0.00028");
  job.learning.optimizer = "lamb";
  CHECK(value_of(command_of(targets::bert(), job, "mbs=2"), "--optimizer") == "LAMB");
  CHECK(value_of(command_of(targets::bert(), job, "mbs=2"), "--lr") == "0.004");
  CHECK(value_of(command_of(targets::bert(), job, "mbs=2"), "--max_steps") == "1563");
}

TEST_CASE("BERT: phase 2 begins from phase 1, and goes on from its own", "[targets]") {
  const auto first = command_of(targets::bert(), bert_job(16, 128, 16384), kPlain),
             second = command_of(targets::bert(), bert_job(16, 512, 32768), "mbs=2");
  CHECK(first.port == 2022);
  CHECK(second.port == 2023);
  CHECK(first.again.checkpoints == "ckpt_*.pt");
  CHECK(first.again.first.empty());
  CHECK(first.again.later == std::vector<std::string>{"--resume_ckpt"});
  // Without --resume_ckpt phase 2 would train from random weights.
  CHECK(second.again.first == std::vector<std::string>{"--resume_ckpt", "--resume_ckpt_path",
                                                       "$TRNPLAN_PHASE1/ckpt_$TRNPLAN_PHASE1_STEP.pt"});
  CHECK(second.again.later == std::vector<std::string>{"--resume_ckpt"});
  CHECK(has(second.arguments, "--phase2"));
  CHECK_FALSE(has(first.arguments, "--phase2"));
  CHECK(value_of(second, "--max_pred_len") == "80");
  CHECK(value_of(second, "--grad_accum_usteps") == "32");  // 32768 / (16 * 32 * 2)
  CHECK(value_of(second, "--phase1_end_step") == "$TRNPLAN_PHASE1_STEP");
  CHECK(targets::bert().asked_for(bert_job(16, 128, 16384)).empty());
  const auto asked = targets::bert().asked_for(bert_job(16, 512, 32768));
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].is_path);
  CHECK_FALSE(asked[1].is_path);
}

TEST_CASE("BERT: what a job leaves open, and what the script cannot say", "[targets]") {
  const models::Job job = bert_job(16, 128, 16384);
  CHECK(job.training.precision == models::Precision::bf16_sr);
  CHECK(job.pin.zero1 == false);
  CHECK(job.architecture.dropout);
  CHECK(why_not(targets::bert(), job, kPlain).empty());
  CHECK(contains(why_not(targets::bert(), job, "mbs=16,zero1=true"), "ZeRO-1"));
  CHECK(contains(why_not(targets::bert(), job, "tp=2,mbs=16,zero1=false"), "only data parallel"));
  CHECK(
      contains(why_not(targets::bert(), job, "mbs=16,zero1=false,recompute=full"), "pin recompute to none"));
  CHECK(contains(why_not(targets::bert(), bert_job(16, 256, 16384), kPlain),
                 "write sequence: 128 for phase 1, 512 for phase 2"));
  models::Job mixed = job_of("bert-large", 16, 128, 16384);
  targets::take_defaults(mixed, targets::bert(), true);  // stated
  CHECK(contains(why_not(targets::bert(), mixed, kPlain), "write precision: bf16SR, autocast or fp32"));
  CHECK(contains(why_not(targets::bert(), job_of("llama2-7b", 16, 128, 16384), kPlain),
                 "bert-large-uncased, the only one"));
  // For another model nothing else is reported; the search's plans of all strategies have one stage, as ties
  // need.
  CHECK(targets::bert()
            .violations(job_of("llama2-7b", 16, 128, 16384),
                        strategy_of(job_of("llama2-7b", 16, 128, 16384), "tp=8"))
            .size() == 1);
  const models::Job other = bert_job(16, 256, 16384);
  const planner::Space all = planner::space_of(other, &targets::bert());
  CHECK(all.beyond_target);
  for (const models::Strategy& s : all.strategies) {
    if (s.pipeline_parallel > 1) CHECK_FALSE(targets::bert().rules(other, s).empty());
  }
  // Every layout that the search looks at is one that the script trains, but for tensor and pipeline parallel.
  const planner::Space space = planner::space_of(job, &targets::bert());
  CHECK_FALSE(space.beyond_target);
  for (const models::Strategy& s : space.strategies) CHECK(s.data_parallel == 512);
  // 16384 / 512 = 32: micro-batches of 1, 2, 4, 8, 16 and 32.
  CHECK(space.strategies.size() == 6);
  // Other targets leave a job as it is.
  models::Job llama = job_of("llama2-7b", 4, 4096, 256);
  targets::take_defaults(llama, targets::standard(), false);
  CHECK(llama.training.precision == models::Precision::mixed_precision);
  CHECK_FALSE(llama.pin.zero1.has_value());
  CHECK_FALSE(llama.architecture.dropout);
}

TEST_CASE("BERT: precisions as its shell scripts have them", "[targets]") {
  models::Job job = bert_job(1, 128, 16384);
  const auto flags = [&](models::Precision p) {
    job.training.precision = p;
    return command_of(targets::bert(), job, "mbs=8,zero1=false");
  };
  CHECK(has(flags(models::Precision::autocast).arguments, "--enable_pt_autocast"));
  CHECK(has(flags(models::Precision::fp32).arguments, "--enable_fp32"));
  CHECK(value_of(flags(models::Precision::fp32), "--optimizer") == "AdamW");
  CHECK_FALSE(has(flags(models::Precision::bf16_sr).arguments, "--enable_fp32"));
  CHECK_FALSE(has(flags(models::Precision::bf16_sr).arguments, "--enable_pt_autocast"));
}
