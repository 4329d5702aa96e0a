// Reading of an NxDT config, and the config of a strategy.
#include "targets/nxdt/nxdt_config.h"

#include <set>
#include <stdexcept>

#include "tests/catch.h"
#include "tests/planner/architectures.h"

using namespace trnplan;
using models::Architecture;
using models::Strategy;
using targets::NxdtConfig;

namespace {

models::Job nxdt_job(const Architecture& a, int nodes, double tokens = 0) {
  models::Job job;
  job.architecture = a;
  job.training = {.sequence = a.max_positions, .global_batch = 1024, .tokens = tokens};
  job.cluster.instance.family = "trn1";
  job.cluster.instance.chips = 16;
  job.cluster.instance.cores_per_chip = 2;
  job.cluster.nodes = nodes;
  return job;
}

/// Every field differs from its default, so that nothing round-trips by accident.
Strategy busy() {
  Strategy s;
  s.tensor_parallel = 8;
  s.pipeline_parallel = 4;
  s.virtual_pipeline = 1;
  s.data_parallel = 4;
  s.micro_batch = 2;
  s.sequence_parallel = true;
  s.recompute = {.core_attention = true, .mlp = true};
  s.precision = models::Precision::autocast;
  s.pipeline_cuts = {18, 39, 60};
  return s;
}

NxdtConfig with(std::string key, std::string text, bool quoted = false) {
  return {"c.yaml", {{std::move(key), std::move(text), quoted, {}}}};
}

void set(NxdtConfig& c, std::string_view key, std::string text) {
  for (targets::NxdtKey& k : c.keys) {
    if (k.key == key) k.text = text;
  }
}

}  // namespace

TEST_CASE("a leaf as text, number, boolean and list", "[planner][nxdt]") {
  CHECK(with("a", "x").text("a") == "x");
  CHECK(with("a", "null").text("a", "fallback") == "fallback");
  CHECK(with("a", "null", true).text("a", "fallback") == "null");
  CHECK(with("a", "x").text("b", "fallback") == "fallback");

  CHECK(with("a", "32").whole("a") == 32);
  CHECK(with("a", "-1").whole("a") == -1);
  CHECK_FALSE(with("a", "32", true).whole("a"));
  CHECK_FALSE(with("a", "3.0").whole("a"));
  CHECK_FALSE(with("a", "99999999999").whole("a"));
  CHECK_FALSE(with("a", "--1").whole("a"));

  CHECK(with("a", "1.5e-4").number("a") == 1.5e-4);
  CHECK_FALSE(with("a", "nan").number("a"));
  CHECK_FALSE(with("a", "1.0x").number("a"));

  CHECK(with("a", "True").boolean("a") == true);
  CHECK(with("a", "false").boolean("a") == false);
  CHECK_FALSE(with("a", "False", true).boolean("a"));
  CHECK_FALSE(with("a", "yes").boolean("a"));
}

TEST_CASE("a list loses brackets and quotes", "[planner][nxdt]") {
  using Items = std::vector<std::string>;
  CHECK(with("a", "[x, y]").list("a") == Items{"x", "y"});
  CHECK(with("a", "[\"x, y\", 'it''s', \"a\\\"b\"]").list("a") == Items{"x, y", "it's", "a\"b"});
  CHECK(with("a", "[[1, 2], 3]").list("a") == Items{"[1, 2]", "3"});
  CHECK(with("a", "[]").list("a").empty());
  CHECK(with("a", "null").list("a").empty());
  CHECK(with("a", "x").list("a") == Items{"x"});
  CHECK(with("a", "[\"open").list("a").size() == 1);
}

TEST_CASE("a section has keys below it", "[planner][nxdt]") {
  const NxdtConfig c = with("model.moe.top_k", "2");
  CHECK(c.has_section("model"));
  CHECK(c.has_section("model.moe"));
  CHECK_FALSE(c.has_section("model.mo"));
  CHECK_FALSE(c.has_section("model.moe.top_k"));
}

TEST_CASE("an empty config means NxDT's defaults", "[planner][nxdt]") {
  const auto r = targets::interpret({}, llama3_8b());
  CHECK(r.nodes == 1);
  CHECK(r.devices == 32);
  CHECK(r.strategy.tensor_parallel == 1);
  CHECK(r.strategy.data_parallel == 32);
  CHECK(r.strategy.zero1);
  CHECK_FALSE(r.strategy.sequence_parallel);
  CHECK(r.training.sequence == 8192);
  CHECK(r.training.global_batch == 32);  // one micro-batch for each replica
  CHECK(r.training.tokens == 0);
  CHECK(r.software.framework == "nxdt");
  CHECK(r.software.release.empty());
  CHECK(r.software.in_flight == 0);
  CHECK(targets::interpret(with("aync_exec_max_inflight_requests", "7"), llama3_8b()).software.in_flight ==
        7);
}

TEST_CASE("degrees beyond the ranks are clamped and never overflow", "[planner][nxdt]") {
  NxdtConfig c;
  for (const char* key :
       {"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"}) {
    c.keys.push_back({std::string("distributed_strategy.") + key, "2147483647", false, {}});
  }
  c.keys.push_back({"trainer.devices", "2147483647", false, {}});
  c.keys.push_back({"trainer.num_nodes", "2147483647", false, {}});
  CHECK(targets::interpret(c, llama3_8b()).strategy.data_parallel >= 1);
  CHECK_FALSE(targets::lint(c, llama3_8b()).empty());

  NxdtConfig small = with("distributed_strategy.tensor_model_parallel_size", "64");
  CHECK(targets::interpret(small, llama3_8b()).strategy.tensor_parallel == 32);
}

TEST_CASE("a strategy survives the way into a config and back", "[planner][nxdt]") {
  const models::Job job = nxdt_job(llama3_70b(), 4, 15e12);
  const auto r = targets::interpret(targets::to_nxdt(job, busy()), job.architecture);
  CHECK(r.strategy == busy());
  CHECK(r.nodes == 4);
  CHECK(r.devices == 32);
  CHECK(r.training.sequence == 8192);
  CHECK(r.training.global_batch == 1024);
  CHECK(r.training.tokens >= 15e12);
  CHECK(r.training.tokens < 15e12 + 8192.0 * 1024.0);
  CHECK(r.not_modelled.empty());
}

TEST_CASE("recompute policies survive too", "[planner][nxdt]") {
  const models::Job job = nxdt_job(llama3_8b(), 1);
  for (const char* text :
       {"none", "full", "CoreAttention", "LlamaRMSNorm+ActivationMultiplyMLP", "LlamaMLP"}) {
    CAPTURE(text);
    Strategy s;
    s.data_parallel = 32;
    s.recompute = *models::recompute_from(text);
    CHECK(targets::interpret(targets::to_nxdt(job, s), job.architecture).strategy.recompute == s.recompute);
  }
}

TEST_CASE("without flash attention nothing stated means CoreAttention", "[planner][nxdt]") {
  NxdtConfig c = with("model.fusions.flash_attention", "False");
  CHECK(targets::interpret(c, llama2_7b()).strategy.recompute == models::Recompute{.core_attention = true});
  c.keys.push_back({"model_source", "megatron", false, {}});
  CHECK(targets::interpret(c, llama2_7b()).strategy.recompute == models::Recompute{});
}

TEST_CASE("every precision the planner knows is written and read", "[planner][nxdt]") {
  using models::Precision;
  const models::Job job = nxdt_job(llama3_8b(), 1);
  for (const Precision p : {Precision::mixed_precision, Precision::autocast, Precision::bf16_sr,
                            Precision::fp32, Precision::manual}) {
    Strategy s;
    s.precision = p;
    s.data_parallel = 32;
    const NxdtConfig c = targets::to_nxdt(job, s);
    CHECK(c.text("precision.type") == models::to_string(p));
    CHECK(targets::interpret(c, job.architecture).strategy.precision == p);
  }
  CHECK(targets::interpret(with("precision.type", "mixed_precision_SR", true), job.architecture)
            .strategy.precision == Precision::bf16_sr);
}

TEST_CASE("what the config overrides in its model", "[planner][nxdt]") {
  NxdtConfig c = with("model.num_layers", "4");
  CHECK(targets::trained_architecture(c, llama2_7b()).layers == 4);
  c.keys = {{"model.num_layers", "-1", false, {}}};
  CHECK(targets::trained_architecture(c, llama2_7b()).layers == 32);

  c.keys = {{"model_source", "megatron", false, {}},
            {"model.hidden_size", "2048", false, {}},
            {"model.num_attention_heads", "16", false, {}},
            {"model.activation", "gelu", true, {}}};
  const Architecture a = targets::trained_architecture(c, llama3_8b());
  CHECK(a.kv_heads == 16);
  CHECK(a.head_dim == 128);
  CHECK(a.mlp == models::Mlp::plain);
}

TEST_CASE("the emitted integers are literal and agree", "[planner][nxdt]") {
  // 15e12 tokens / (8192 * 1024) = 1,788,139.3: the last step is a partial one.
  Strategy s = busy();
  s.pipeline_cuts.clear();
  const NxdtConfig c = targets::to_nxdt(nxdt_job(llama3_70b(), 4, 15e12), s);
  CHECK(c.whole("trainer.max_steps") == 1788140);
  CHECK(c.whole("model.optim.sched.max_steps") == 1788140);
  CHECK(c.whole("trainer.val_check_interval") == 1788141);
  CHECK(c.whole("exp_manager.checkpoint_callback_params.model_parallel_size") == 32);
  CHECK(c.whole("exp_manager.checkpoint_callback_params.every_n_train_steps").value_or(0) >= 100);
  CHECK(c.whole("model.optim.sched.warmup_steps") == 2000);
  CHECK(c.text("model.optim.name") == "adamw");
  CHECK_FALSE(c.find("model.pipeline_cuts"));
  for (const targets::NxdtKey& k : c.keys) CHECK(k.text.find("${") == std::string::npos);
}

TEST_CASE("a run of unknown length trains 10000 steps; a short one warms up less", "[planner][nxdt]") {
  CHECK(targets::to_nxdt(nxdt_job(llama3_8b(), 1), {}).whole("trainer.max_steps") == 10000);
  const NxdtConfig one = targets::to_nxdt(nxdt_job(llama3_8b(), 1, 1), {});
  CHECK(one.whole("trainer.max_steps") == 1);
  CHECK(one.whole("model.optim.sched.warmup_steps") == 0);
  const NxdtConfig endless = targets::to_nxdt(nxdt_job(llama3_8b(), 1, 4e18), {});
  CHECK(endless.whole("trainer.val_check_interval").value_or(0) > 0);
}

TEST_CASE("KV heads are copied as often as tensor parallel needs", "[planner][nxdt]") {
  struct Case {
    Architecture model;
    int tp, stated, copies;
    const char* linear;
  };
  for (const Case& c : {Case{llama3_8b(), 32, 1, 4, "True"}, Case{llama3_8b(), 8, 1, 1, "True"},
                        Case{llama3_8b(), 1, 1, 1, "True"}, Case{llama3_8b(), 32, 8, 8, "True"},
                        Case{llama2_7b(), 32, 1, 1, "False"}}) {
    Strategy s;
    s.tensor_parallel = c.tp;
    s.kv_replicator = c.stated;
    const NxdtConfig config = targets::to_nxdt(nxdt_job(c.model, 1), s);
    CHECK(config.whole("distributed_strategy.kv_replicator") == c.copies);
    CHECK(config.text("model.qkv_linear") == c.linear);
    CHECK((config.find("model.fuse_qkv") != nullptr) == (std::string(c.linear) == "True"));
  }
}

TEST_CASE("context parallel takes ring attention instead of flash", "[planner][nxdt]") {
  Strategy s;
  CHECK_FALSE(targets::to_nxdt(nxdt_job(llama3_8b(), 1), s).find("model.fusions.ring_attention"));
  s.context_parallel = 2;
  const NxdtConfig c = targets::to_nxdt(nxdt_job(llama3_8b(), 1), s);
  CHECK(c.boolean("model.fusions.ring_attention") == true);
  CHECK(c.boolean("model.fusions.flash_attention") == false);
}

TEST_CASE("pipeline cuts become layer names in quotes", "[planner][nxdt]") {
  const NxdtConfig c = targets::to_nxdt(nxdt_job(llama3_70b(), 4), busy());
  CHECK(c.text("model.pipeline_cuts") == "[\"model.layers.18\", \"model.layers.39\", \"model.layers.60\"]");
}

TEST_CASE("trn2 gets its three keys", "[planner][nxdt]") {
  models::Job job = nxdt_job(llama3_8b(), 1);
  job.cluster.instance.traits = {.logical_cores = true, .sequential_move_factor = 32};
  job.cluster.instance.core.lnc = 2;
  job.cluster.instance.cores_per_chip = 4;
  const NxdtConfig c = targets::to_nxdt(job, {});
  CHECK(c.whole("trainer.devices") == 64);
  CHECK(c.whole("trainer.lnc") == 2);
  CHECK(c.whole("trainer.sequential_move_factor") == 32);
}

// 64 chips of 4 cores are 256 ranks; on 4 hosts 64 each, which is what NxDT calls a node.
TEST_CASE("devices and num_nodes are of hosts", "[planner][nxdt]") {
  models::Job job = nxdt_job(llama3_8b(), 2);
  job.cluster.instance.chips = 64;
  job.cluster.instance.cores_per_chip = 4;
  job.cluster.instance.hosts = 4;
  const NxdtConfig c = targets::to_nxdt(job, {});
  CHECK(c.whole("trainer.devices") == 64);
  CHECK(c.whole("trainer.num_nodes") == 8);
}

TEST_CASE("a hostile model name stays out of paths and format strings", "[planner][nxdt]") {
  models::Job job = nxdt_job(llama3_8b(), 1);
  job.architecture.name = "../{epoch} 'x'\n: devices:";
  const std::string text = targets::to_nxdt(job, {}).text("exp_manager.checkpoint_callback_params.filename");
  CHECK(text.find_first_of("/{}'\n :") == text.find("{step}"));
  CHECK(text.ends_with("--{step}-{consumed_samples}"));
}

TEST_CASE("paths that YAML would misread are quoted", "[planner][nxdt]") {
  const NxdtConfig c =
      targets::to_nxdt(nxdt_job(llama3_8b(), 1), {},
                       {.model_config = "null", .train_dir = "/a b: #c", .compiler_cache = "1.5"});
  CHECK(c.find("model.model_config")->quoted);
  CHECK(c.find("data.train_dir")->quoted);
  CHECK(c.find("compiler_cache_url")->quoted);
  CHECK_FALSE(targets::to_nxdt(nxdt_job(llama3_8b(), 1), {}).find("data.train_dir")->quoted);
}

TEST_CASE("models the HF path cannot express are refused", "[planner][nxdt]") {
  const auto refused = [](auto change) {
    models::Job job = nxdt_job(llama3_8b(), 1);
    change(job.architecture);
    CHECK_THROWS_AS(targets::to_nxdt(job, {}), std::invalid_argument);
  };
  refused([](Architecture& a) { a.norm = models::Norm::layer; });
  refused([](Architecture& a) { a.causal = false; });
  refused([](Architecture& a) { a.qkv_bias = true; });
  refused([](Architecture& a) { a.sliding_window = 4096; });
  refused([](Architecture& a) { a.experts = 8; });
  refused([](Architecture& a) { a.head_dim = 64; });
  refused([](Architecture& a) { a.heads = 0; });
}

TEST_CASE("no key is written twice", "[planner][nxdt]") {
  const NxdtConfig c = targets::to_nxdt(nxdt_job(llama3_70b(), 4), busy());
  std::set<std::string> seen;
  for (const targets::NxdtKey& k : c.keys) CHECK(seen.insert(k.key).second);
}

TEST_CASE("what the simulator does not cover is named", "[planner][nxdt]") {
  NxdtConfig c = targets::to_nxdt(nxdt_job(llama3_8b(), 1), {});
  CHECK(targets::interpret(c, llama3_8b()).not_modelled.empty());
  set(c, "distributed_strategy.context_parallel_size", "2");
  c.keys.push_back({"model.moe.top_k", "2", false, {}});
  c.keys.push_back({"model_alignment_strategy.dpo.kl_beta", "0.01", false, {}});
  CHECK(targets::interpret(c, llama3_8b()).not_modelled.size() == 1);
}
