#include "io/strategy_text.h"

#include "tests/catch.h"
#include "tests/models/setup.h"
#include "units/diagnostic.h"

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
}

TEST_CASE("the bucket of ZeRO-1", "[io]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  CHECK(strategy_of(job, "tp=8").bucket_mb == 130);
  CHECK(strategy_of(job, "tp=8,bucket=65").bucket_mb == 65);
  for (const char* text : {"bucket=0", "bucket=141", "bucket=x", "bucket="})
    CHECK_THROWS_AS(strategy_of(job, text), InputError);
}
