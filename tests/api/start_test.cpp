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
#include "tests/api/start_breaks.h"
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

}  // namespace

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
