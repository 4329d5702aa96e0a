#include "io/input/strategy_text.h"

#include "planner/plan/space.h"
#include "planner/plan/strategy_grammar.h"

#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/property/sample.h"
#include "tests/seeds.h"
#include "text/diagnostic.h"

using namespace trnplan;

TEST_CASE("defaults of the strategy grammar", "[io]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const models::Strategy s = strategy_of(job, "tp=32");
  CHECK(s.data_parallel == 1);
  CHECK(s.sequence_parallel);
  CHECK(s.zero1);
  CHECK(s.kv_replicator == 4);
  CHECK(s.flash_attention);
  CHECK(strategy_of(job, "tp=8,dp=4").data_parallel == 4);
  CHECK(strategy_of(job, "pp=4,tp=8,cuts=7/15/23").pipeline_cuts == std::vector<int>{7, 15, 23});
  CHECK_FALSE(strategy_of(job, "tp=8,sp=false").sequence_parallel);
  CHECK(strategy_of(job, "tp=8,precision=bf16SR").precision == models::Precision::bf16_sr);
}

TEST_CASE("bad strategies name key and fix, all at once", "[io]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  for (const char* text :
       {"", "tp", "tp=", "tp=0", "tp=-8", "tp=8x", "tp=99999999999", "tpp=8", "tp=8,tp=8", "sp=yes",
        "recompute=MLP", "precision=fp16", "cuts=a/b", "tp=8,dp=3", "tp=7", ",", "tp=8,,pp=1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(strategy_of(job, text), InputError);
  }
  try {
    strategy_of(job, "tpp=8,sp=1,recompute=x");
    FAIL("no error");
  } catch (const InputError& e) {
    CHECK(e.faults().size() == 3);
    CHECK(e.faults()[0].fix == "did you mean tp?");
  }
  try {
    strategy_of(job, "tp=32,p=8");
    FAIL("no error");
  } catch (const InputError& e) {
    CHECK(e.faults()[0].fix == "did you mean pp?");  // tp is there already
  }
}

TEST_CASE("the bucket of ZeRO-1", "[io]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  CHECK(strategy_of(job, "tp=8").bucket_mb == 130);
  CHECK(strategy_of(job, "tp=8,bucket=65").bucket_mb == 65);
  for (const char* text : {"bucket=0", "bucket=141", "bucket=x", "bucket="})
    CHECK_THROWS_AS(strategy_of(job, text), InputError);
}

TEST_CASE("schedule, sharding and framework of a strategy", "[io]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  CHECK(strategy_of(job, "tp=8,pp=4").schedule == models::Schedule::one_f_one_b);
  CHECK(strategy_of(job, "tp=8,pp=4,schedule=1f1b").schedule == models::Schedule::one_f_one_b);
  CHECK(strategy_of(job, "tp=8,pp=4,vpp=2").schedule == models::Schedule::interleaved);
  CHECK(strategy_of(job, "tp=8,pp=4,vpp=2,schedule=interleaved").schedule == models::Schedule::interleaved);
  CHECK(strategy_of(job, "tp=8,pp=4,schedule=gpipe").schedule == models::Schedule::gpipe);
  CHECK(strategy_of(job, "tp=8,pp=4,schedule=zero-bubble").schedule == models::Schedule::zero_bubble);
  CHECK(strategy_of(job, "tp=8,shard=none") == strategy_of(job, "tp=8,zero1=false"));
  CHECK(strategy_of(job, "tp=8,shard=zero1,framework=nxd") == strategy_of(job, "tp=8"));
  for (const char* text :
       {"tp=8,schedule=gpipe", "tp=8,pp=4,vpp=2,schedule=gpipe", "tp=8,pp=4,vpp=2,schedule=1f1b",
        "tp=8,pp=4,schedule=interleaved", "tp=8,schedule=nxd", "tp=8,shard=zero3", "tp=8,framework=x",
        "tp=8,zero1=true,shard=none", "tp=8,shard=none,zero1=true"})
    CHECK_THROWS_AS(strategy_of(job, text), InputError);
}

TEST_CASE("the grammar of a strategy reads back as that strategy", "[io]") {
  const auto check = [](const models::Job& job) {
    for (const models::Strategy& s : planner::enumerate(job)) {
      if (s.model_parallel() * s.data_parallel != job.cluster.cores()) continue;
      const std::string text = planner::strategy_grammar(job, s);
      CAPTURE(text);
      REQUIRE(io::parse_strategy(text, job) == s);
    }
  };
  models::Job job = job_of("llama3-8b", 1, 8192, 16);
  check(job);
  job.architecture.flash_attention = false;
  job.space.zero1 = job.space.precision = true;
  check(job);
  job.pin.tensor_parallel = 8;  // the text may repeat a job's pins, but need not
  job.pin.micro_batch = 2;
  job.pin.sequence_parallel = false;
  job.pin.recompute = models::Recompute{.full = true};
  check(job);
  check(job_of("mixtral-8x7b", 2, 4096, 32));
  for (const unsigned seed : seeds(0, 200)) {
    Sample sample = random_sample(seed);
    CAPTURE(seed);
    models::Strategy& s = sample.strategy;
    if (seed % 2 == 0) s.bucket_mb = 100;
    if (seed % 3 == 0) s.kv_replicator += 1;
    if (seed % 5 == 0) s.pipeline_cuts = {3, 7, 12};
    const std::string text = planner::strategy_grammar(sample.job, s);
    CAPTURE(text);
    CHECK(io::parse_strategy(text, sample.job) == s);
  }
}

TEST_CASE("the grammar leaves out what goes without saying", "[io]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  for (const char* text :
       {"tp=8", "tp=1", "tp=8,pp=4,mbs=2,recompute=CoreAttention+ActivationMultiplyMLP,cuts=5/14/23",
        "tp=8,sp=false,zero1=false", "tp=4,cp=2,bucket=100", "tp=8,flash=false,recompute=CoreAttention",
        "tp=8,precision=bf16SR", "tp=8,pp=4,schedule=gpipe", "tp=8,pp=4,schedule=zero-bubble"}) {
    CHECK(planner::strategy_grammar(job, strategy_of(job, text)) == text);
  }
  const models::Strategy s = strategy_of(job, "tp=8,pp=2,mbs=4");
  job.pin.pipeline_parallel = 4;
  job.pin.micro_batch = 4;
  CHECK(planner::strategy_grammar(job, s) == "tp=8,pp=2,mbs=4");
}
