#include "planner/check/rules.h"

#include <algorithm>

#include "planner/check/judge.h"
#include "planner/search/search.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

bool breaks(const models::Job& job, const models::Strategy& s, const std::string& rule) {
  const auto all = rule_violations(job, s);
  return std::any_of(all.begin(), all.end(), [&](const Violation& v) {
    return v.rule == rule && !v.message.empty() && !v.fix.empty();
  });
}

}  // namespace

TEST_CASE("the shipped layouts break no rule", "[planner]") {
  struct Case {
    const char* model;
    int nodes, sequence, batch;
    const char* strategy;
  };
  const auto c = GENERATE(values<Case>({{"llama3-8b", 1, 8192, 1024, "tp=32"},
                                        {"llama3-70b", 16, 8192, 1024, "tp=32,pp=8"},
                                        {"llama3.1-405b", 64, 8192, 256, "tp=32,pp=32,recompute=full"},
                                        {"llama2-70b", 8, 4096, 512, "tp=8,pp=16,recompute=full"}}));
  CAPTURE(c.model);
  const models::Job job = job_of(c.model, c.nodes, c.sequence, c.batch);
  CHECK(rule_violations(job, strategy_of(job, c.strategy)).empty());
}

TEST_CASE("each rule speaks", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  models::Strategy s = strategy_of(job, "tp=8");
  SECTION("divisibility") {
    s.data_parallel = 3;
    CHECK(breaks(job, s, "divisibility"));
  }
  SECTION("heads") {
    job.architecture.heads = 12;
    CHECK(breaks(job, s, "heads"));
  }
  SECTION("intermediate size") {
    job.architecture.intermediate = 14340;
    CHECK(breaks(job, s, "heads"));
  }
  SECTION("kv-replicator") {
    s.kv_replicator = 3;
    CHECK(breaks(job, s, "kv-replicator"));
  }
  SECTION("layers") {
    s.pipeline_parallel = 4;
    s.data_parallel = 1;
    job.architecture.layers = 3;
    CHECK(breaks(job, s, "layers"));
  }
  SECTION("chunks that the training loop cannot form") {
    job.cluster.instance = test_catalog().instance("p5.48xlarge");
    s.framework = models::stated_framework("megatron");
    s.pipeline_parallel = 4;
    s.virtual_pipeline = 4;
    for (const auto& [count, refused] :
         {std::pair(64, false), {62, false}, {63, false}, {68, false}, {66, true}}) {
      CAPTURE(count);
      job.architecture.layers = count;
      CHECK(breaks(job, s, "layers") == refused);
    }
    s.virtual_pipeline = 2;  // ends of 16 and 18 layers
    CHECK_FALSE(breaks(job, s, "layers"));
    s.virtual_pipeline = 4;
    s.framework = models::stated_framework("fsdp");
    CHECK_FALSE(breaks(job, s, "layers"));
  }
  SECTION("cuts") {
    s.pipeline_parallel = 2;
    s.pipeline_cuts = {40};
    CHECK(breaks(job, s, "layers"));
  }
  SECTION("pipeline-parity") {
    s.pipeline_parallel = 3;
    CHECK(breaks(job, s, "pipeline-parity"));
  }
  SECTION("batch") {
    job.training.global_batch = 1022;
    CHECK(breaks(job, s, "batch"));
  }
  SECTION("interleaved") {
    s.virtual_pipeline = 2;
    s.pipeline_parallel = 6;
    CHECK(breaks(job, s, "interleaved"));
  }
  SECTION("pipeline-schedule") {
    s.pipeline_parallel = 2;
    s.data_parallel = 2;
    const auto fix = [&](models::Schedule schedule, int chunks) {
      s.schedule = schedule;
      s.virtual_pipeline = chunks;
      const auto all = rule_violations(job, s);
      const auto found = std::find_if(all.begin(), all.end(),
                                      [](const Violation& v) { return v.rule == "pipeline-schedule"; });
      return found == all.end() ? "" : found->fix;
    };
    CHECK(fix(models::Schedule::gpipe, 2) == "vpp=1, or another schedule");
    CHECK(fix(models::Schedule::zero_bubble_v, 1) == "vpp=2, or another schedule");
    CHECK(fix(models::Schedule::zero_bubble_v, 4) == "vpp=2, or another schedule");
    CHECK(fix(models::Schedule::zero_bubble_v, 2).empty());
  }
  SECTION("context-parallel") {
    s.context_parallel = 3;
    CHECK(breaks(job, s, "context-parallel"));
  }
  SECTION("flash-attention") {
    job.training.sequence = 1024;
    CHECK(breaks(job, s, "flash-attention"));
  }
  SECTION("sequence-parallel") {
    job.training.sequence = 2044;
    CHECK(breaks(job, s, "sequence-parallel"));
  }
  SECTION("rank-order") {
    s.tensor_parallel = 4;
    s.pipeline_parallel = 2;
    s.data_parallel = 4;
    CHECK(breaks(job, s, "rank-order"));
  }
  SECTION("positions") {
    job.architecture.learned_positions = true;
    job.architecture.max_positions = 512;
    CHECK(breaks(job, s, "positions"));
  }
  SECTION("moe") {
    s.expert_parallel = 2;
    CHECK(breaks(job, s, "moe"));
  }
}

TEST_CASE("trn2 is refused, not computed as trn1", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const models::Strategy s = strategy_of(job, "tp=32");
  job.cluster.instance.family = "trn2";
  job.cluster.instance.traits.step_time = false;
  CHECK(breaks(job, s, "not-modelled"));
  CHECK(contradictions(job).empty());  // no mistake of the user's
  const Judgement j = judge(job, s, datasheet());
  CHECK_FALSE(j.plan);
  CHECK(j.refused());
  CHECK(
      std::none_of(j.broken.begin(), j.broken.end(), [](const Violation& v) { return v.rule == "devices"; }));
  CHECK(j.memory);  // does not depend on the clock of a core
  const SearchResult result = search(job, datasheet());
  CHECK(result.plans.empty());
  REQUIRE(result.infeasible);
  CHECK(result.infeasible->rules.front().why.rule == "not-modelled");
  CHECK(result.infeasible->nodes_that_would_do == 0);
}

TEST_CASE("groups and memory of trn2 are judged", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  job.cluster.instance = io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").instance("trn2.48xlarge-lnc1");
  const auto broken = [&](const std::string& text, const char* rule) {
    const Judgement j = judge(job, strategy_of(job, text), datasheet());
    const auto it =
        std::find_if(j.broken.begin(), j.broken.end(), [&](const Violation& v) { return v.rule == rule; });
    return it == j.broken.end() ? std::optional<bool>() : std::optional<bool>(it->doubtful);
  };
  CHECK(broken("tp=16", "replica-group") == false);  // NxD lists 16 x 8 as not supported
  CHECK_FALSE(broken("tp=32", "replica-group"));
  CHECK(broken("tp=8", "memory") == false);  // 15.7 of 12 GiB, of which 0.9 are the reserve, which is trn1's
  CHECK(broken("tp=4,pp=4,recompute=LlamaMLP", "memory") == true);  // 11.9: a doubt
  CHECK_FALSE(broken("tp=32", "memory"));
}

TEST_CASE("a refused layout names its neighbours", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const topology::ChipGraph graph(job.cluster.instance);
  const auto near = supported_neighbours(job.cluster, graph, {.tensor = 16, .data = 2});
  REQUIRE(near.size() >= 2);
  CHECK(near[0].tensor == 8);
  CHECK(near[1].tensor == 32);
}

TEST_CASE("judging one strategy", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  SECTION("fine") {
    const Judgement j = judge(job, strategy_of(job, "tp=32"), datasheet());
    CHECK(j.broken.empty());
    CHECK(j.plan);
  }
  SECTION("too large is simulated all the same") {
    models::Profile counted = datasheet();  // no graph fuses
    counted.value(models::common::fused_activations) = {1, 0, ""};
    const Judgement j = judge(job, strategy_of(job, "tp=8"), counted);
    REQUIRE(j.broken.size() == 1);
    CHECK(j.broken[0].rule == "memory");
    CHECK(j.broken[0].fix.find("LlamaMLP") != std::string::npos);
    CHECK(j.plan);
    CHECK(j.refused());
  }
  SECTION("a doubt is not a refusal") {
    const Judgement j = judge(job, strategy_of(job, "tp=8,pp=2,recompute=full"), datasheet());
    REQUIRE(j.broken.size() == 1);
    CHECK(j.broken[0].doubtful);
    CHECK_FALSE(j.refused());
  }
  SECTION("without a shape there is no plan") {
    models::Strategy s = strategy_of(job, "tp=8");
    s.data_parallel = 3;
    const Judgement j = judge(job, s, datasheet());
    CHECK_FALSE(j.plan);
    CHECK(j.refused());
  }
  SECTION("context parallel and virtual pipeline have a time") {
    CHECK(judge(job, strategy_of(job, "tp=8,cp=2,recompute=full"), datasheet()).plan);
    CHECK(judge(job, strategy_of(job, "tp=8,pp=4,vpp=2,recompute=full"), datasheet()).plan);
  }
}

// Catches: a fix that recomputes in a split backward, for which no time is known, in place of a strategy with
// a time.
TEST_CASE("what is proposed in place of a strategy that is timed is timed too", "[planner]") {
  models::Job job = job_of("llama3-70b", 4, 4096, 64);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  const models::Strategy s =
      strategy_of(job, "tp=1,pp=2,mbs=1,framework=fsdp-eager,recompute=none,schedule=zbv");
  const Judgement j = judge(job, s, test_catalog().profile(job.cluster.instance.family));
  REQUIRE(j.broken.size() == 1);
  const std::string& fix = j.broken[0].fix;
  CAPTURE(fix);
  REQUIRE(fix.ends_with(" fits"));
  CHECK_FALSE(not_modelled(job, strategy_of(job, fix.substr(0, fix.size() - 5))));
}

TEST_CASE("a job that contradicts itself", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  CHECK(contradictions(job).empty());
  job.pin.tensor_parallel = 3;
  CHECK_FALSE(contradictions(job).empty());
  job = job_of("llama3-8b", 1, 8192, 1024);
  job.pin.data_parallel = 3;  // leaves no strategy at all
  const auto broken = contradictions(job);
  REQUIRE_FALSE(broken.empty());
  CHECK(broken.front().rule == "divisibility");
  job = job_of("llama3-8b", 1, 3000, 1024);
  CHECK(contradictions(job).empty());
  job.pin.flash_attention = true;
  CHECK_FALSE(contradictions(job).empty());  // it wants multiples of 2048
}

TEST_CASE("what NxD's sends and kernels cannot do is not a rule on GPUs", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 3072, 1024);
  models::Strategy s = strategy_of(job, "tp=2,flash=true");
  s.pipeline_parallel = 3;
  CHECK(breaks(job, s, "flash-attention"));
  CHECK(breaks(job, s, "pipeline-parity"));
  s.context_parallel = 2;
  CHECK(breaks(job, s, "context-parallel"));
  job.cluster.instance = gpu_machine();
  CHECK_FALSE(breaks(job, s, "context-parallel"));
  CHECK_FALSE(breaks(job, s, "pipeline-parity"));
  s.context_parallel = 1;
  CHECK_FALSE(breaks(job, s, "flash-attention"));
  s.context_parallel = 5;  // 3072 tokens in ten pieces
  CHECK(breaks(job, s, "context-parallel"));
}

// Without a peak a product would take for ever, and every plan would be longer than the clock.
TEST_CASE("FP32 is refused on GPUs whose peak in it nobody states", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 4096, 64);
  job.cluster.instance = gpu_machine();
  models::Strategy s;
  s.data_parallel = 8;
  s.precision = models::Precision::fp32;
  CHECK_FALSE(not_modelled(job, s));
  job.cluster.instance.core.fp32 = {};
  const auto refused = not_modelled(job, s);
  REQUIRE(refused);
  CHECK(refused->message.find("FP32") != std::string::npos);
  s.precision = models::Precision::mixed_precision;
  CHECK_FALSE(not_modelled(job, s));
}

// 126 layers on 16 x 8 chunks leave the two of embedding and head without a layer in Megatron alone.
TEST_CASE("chunks without layers are the ends of Megatron's pipelines", "[planner]") {
  models::Job job = job_of("llama3.1-405b", 16, 8192, 1536);
  job.cluster.instance = gpu_machine();
  const auto broken = [&](int layers, const std::string& loop) {
    job.architecture.layers = layers;
    return breaks(job, strategy_of(job, "tp=8,pp=16,vpp=8,framework=" + loop), "layers");
  };
  CHECK_FALSE(broken(126, "megatron-bridge"));
  CHECK_FALSE(broken(127, "megatron"));
  CHECK(broken(125, "megatron"));
  CHECK(broken(127, "nxd"));
}

// Catches: layouts that Megatron's assertions refuse, timed and recommended as if exchanges overlapped.
TEST_CASE("exchanges that nothing can overlap are refused", "[planner]") {
  models::Job job = job_of("mixtral-8x7b", 1, 4096, 64);
  job.cluster.instance = gpu_machine();
  const auto broken = [&](const std::string& text) {
    return breaks(job, strategy_of(job, text + ",framework=megatron-ep-overlap"), "moe");
  };
  CHECK_FALSE(broken("ep=8"));
  CHECK_FALSE(broken("pp=2,vpp=2,ep=4"));
  for (const char* text :
       {"ep=1", "pp=2,ep=4", "ep=8,recompute=full", "ep=8,recompute=LlamaMLP", "ep=8,precision=fp32"})
    CHECK(broken(text));
}

// On 2 nodes of 8 GPUs EP 2 of ETP 3 divides nothing: no EP can mend it. EP 16 of ETP 2 needs 32 ranks; 8 sets of
// experts are left.
TEST_CASE("experts that do not divide the ranks have a fix that does", "[planner]") {
  models::Job job = job_of("mixtral-8x7b", 2, 4096, 64);
  job.cluster.instance = gpu_machine();
  const auto fix = [&](const char* text) -> std::string {
    for (const Violation& v : rule_violations(job, strategy_of(job, text)))
      if (v.rule == "divisibility") return v.fix;
    return "";
  };
  CHECK(fix("tp=4,ep=2,etp=3,framework=megatron") == "leave etp out");
  CHECK(fix("tp=4,ep=16,etp=2,framework=megatron") == "ep=8");
  CHECK(fix("tp=4,ep=8,etp=2,framework=megatron").empty());
}
