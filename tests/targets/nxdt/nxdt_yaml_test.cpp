// NxDT YAML: text to config and back, interpolations, and files that try to do harm.
#include "targets/nxdt/nxdt_yaml.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/planner/architectures.h"

using namespace trnplan;
using targets::NxdtConfig;

namespace {

std::filesystem::path fixture(const char* name) {
  return std::filesystem::path(TRNPLAN_SOURCE_DIR "/tests/io/fixtures/nxdt") / name;
}

NxdtConfig parse(const std::string& text) {
  return targets::nxdt_from(parse_document(text, "c.yaml"));
}

/// The value of `key` after reading `text`.
std::string value(const std::string& text, const char* key) {
  return parse(text).text(key, "(null)");
}

std::vector<Diagnostic> faults(const std::string& text) {
  return faults_in([&] { parse(text); });
}

/// The strategy of the shipped hf_llama3_8B_config.yaml on its four nodes.
NxdtConfig emitted_8b() {
  models::Job job;
  job.architecture = llama3_8b();
  job.architecture.name = "hf_llama3_8B";  // names the checkpoints
  job.training = {.sequence = 8192, .global_batch = 1024};
  job.cluster.instance.family = "trn1";
  job.cluster.instance.chips = 16;
  job.cluster.instance.cores_per_chip = 2;
  job.cluster.nodes = 4;
  models::Strategy s;
  s.tensor_parallel = 32;
  s.data_parallel = 4;
  s.sequence_parallel = true;
  s.kv_replicator = 4;
  s.recompute.core_attention = true;
  return targets::to_nxdt(job, s);
}

std::vector<std::string> keys_of(const NxdtConfig& c) {
  std::vector<std::string> keys;
  for (const auto& k : c.keys) keys.push_back(k.key);
  return keys;
}

/// Keys whose text differs.
std::set<std::string> differing_keys(const NxdtConfig& a, const NxdtConfig& b) {
  std::set<std::string> keys;
  for (const auto& k : a.keys) {
    if (b.text(k.key, "(null)") != a.text(k.key, "(null)")) keys.insert(k.key);
  }
  return keys;
}

void check_round_trip(const NxdtConfig& first) {
  const std::string text = targets::nxdt_yaml(first);
  const NxdtConfig second = parse(text);
  CAPTURE(text);
  CHECK(keys_of(second) == keys_of(first));
  CHECK(targets::nxdt_yaml(second) == text);
  for (std::size_t i = 0; i < std::min(first.keys.size(), second.keys.size()); ++i) {
    CHECK(second.keys[i].quoted == first.keys[i].quoted);
  }
}

}  // namespace

TEST_CASE("the emitted 8B config has the shipped keys in the shipped order", "[io][nxdt]") {
  const NxdtConfig shipped = targets::read_nxdt(fixture("hf_llama3_8B_config.yaml"));
  const NxdtConfig emitted = parse(targets::nxdt_yaml(emitted_8b()));
  CHECK(keys_of(emitted) == keys_of(shipped));
  // Deliberate: a checkpoint every 10 steps is too often, and the folders are the user's.
  CHECK(differing_keys(emitted, shipped) ==
        std::set<std::string>{"exp_manager.checkpoint_callback_params.every_n_train_steps", "data.train_dir",
                              "model.model_config", "compiler_cache_url"});
}

TEST_CASE("the shipped configs say what they say", "[io][nxdt]") {
  const NxdtConfig cp = targets::read_nxdt(fixture("hf_llama3_70B_CP_config.yaml"));
  const targets::NxdtReading r = targets::interpret(cp, llama3_70b());
  CHECK(r.nodes == 16);
  CHECK(r.strategy.tensor_parallel == 32);
  CHECK(r.strategy.pipeline_parallel == 8);
  CHECK(r.strategy.context_parallel == 2);
  CHECK(r.strategy.data_parallel == 1);
  CHECK(r.strategy.flash_attention);  // as ring attention
  CHECK(to_string(r.strategy.recompute) == "CoreAttention+LlamaMLP");
  CHECK(r.not_modelled.empty());

  const NxdtConfig megatron = targets::read_nxdt(fixture("megatron_llama_70b_config.yaml"));
  CHECK(megatron.text("exp_manager.checkpoint_callback_params.model_parallel_size") == "128");
  CHECK(megatron.text("model.max_position_embeddings") == "4096");
  CHECK(megatron.text("data.seq_length") == "4096");
  CHECK(megatron.list("data.data_prefix").size() == 2);
  const auto a = targets::trained_architecture(megatron, {});
  CHECK(a.layers == 80);
  CHECK(a.intermediate == 28672);
  CHECK(a.kv_heads == 8);
}

TEST_CASE("the shipped configs have no error", "[io][nxdt][lint]") {
  for (const char* name :
       {"hf_llama3_8B_config.yaml", "hf_llama3_70B_CP_config.yaml", "megatron_llama_70b_config.yaml"}) {
    const NxdtConfig c = targets::read_nxdt(fixture(name));
    models::Architecture a =
        std::string_view(name).find("70") == std::string_view::npos ? llama3_8b() : llama3_70b();
    if (c.text("model_source") == "megatron") a.vocabulary = 32000;
    for (const targets::Finding& f : targets::lint(c, a)) {
      CAPTURE(name, f.rule, f.key, f.message);
      CHECK(f.severity != targets::Severity::error);
      CHECK(f.rule != "schema");
      CHECK((f.key.empty() || f.at.line > 0));
    }
  }
}

TEST_CASE("findings point at the line of the file", "[io][nxdt][lint]") {
  const auto findings = targets::lint(targets::read_nxdt(fixture("hf_llama3_8B_config.yaml")), llama3_8b());
  const auto it =
      std::find_if(findings.begin(), findings.end(), [](const auto& f) { return f.rule == "checkpoint"; });
  REQUIRE(it != findings.end());
  CHECK(it->at.line == 34);
  CHECK(it->at.column == 5);
}

TEST_CASE("a config survives writing and reading", "[io][nxdt]") {
  check_round_trip(emitted_8b());
  for (const char* name :
       {"hf_llama3_8B_config.yaml", "hf_llama3_70B_CP_config.yaml", "megatron_llama_70b_config.yaml"}) {
    check_round_trip(targets::read_nxdt(fixture(name)));
  }
}

TEST_CASE("writing keeps what differs between text, numbers and null", "[io][nxdt]") {
  check_round_trip(
      parse("a: {b: [1, 'x, y', \"q\\\"\", [2, {k: v, 'l: m': ''}]], c: {}, d: [], e: null, f: '',\n"
            "    g: \"line\\nbreak\\ttab\", h: 'it''s', i: '# no comment', j: -1, k: ' x ', l: '- x',\n"
            "    'm: n': 1, '<<': 2, o: 'null', p: '${a', q: \"\\x07\"}\n"));
  check_round_trip(parse("a:\n- 0.99?\n- a?b\n"));
  check_round_trip(parse("z: |\n  block\n  text\ny: >-\n  folded\n  text\n\"tab\\tkey\": 1\n"));
}

TEST_CASE("booleans, floats and blocks are spelled as NxDT spells them", "[io][nxdt]") {
  CHECK(
      targets::nxdt_yaml(parse(
          "name: x\nseed: 1\na: {b: true, c: {d: 1e-06, e: null}, f: [3e-4, false, 'true']}\nz: 'yes'\n")) ==
      "name: x\nseed: 1\n\na:\n  b: True\n  c:\n    d: 1.0e-06\n    e: null\n  f: [3.0e-4, False, "
      "\"true\"]\n\nz: 'yes'\n");
}

TEST_CASE("sections that come twice are written once", "[io][nxdt]") {
  const NxdtConfig c{"", {{"a.x", "1", false, {}}, {"b", "2", false, {}}, {"a.y", "3", false, {}}}};
  CHECK(targets::nxdt_yaml(c) == "a:\n  x: 1\n  y: 3\n\nb: 2\n");
}

TEST_CASE("the devices line stands exactly once", "[io][nxdt]") {
  const std::string text = targets::nxdt_yaml(emitted_8b());
  CHECK(text.find("devices:") != std::string::npos);
  CHECK(text.find("devices:") == text.rfind("devices:"));
  CHECK(text.find("\n  devices: 32\n") != std::string::npos);
  CHECK(text.find("\naync_exec_max_inflight_requests: 5\n") != std::string::npos);
  CHECK(text.find("\n  type: 'mixed_precision'\n") != std::string::npos);
}

TEST_CASE("interpolations", "[io][nxdt]") {
  const std::string base =
      "trainer: {max_steps: 30, lr: 1.5e-4, name: 'x'}\n"
      "d: {tp: 8, pp: 4, list: [1, 2]}\n"
      "model: {seq: 4096, optim: {sched: {v: ";
  const auto at = [&](const std::string& text) {
    return value(base + text + "}}}\n", "model.optim.sched.v");
  };
  CHECK(at("'${trainer.max_steps}'") == "30");
  CHECK(at("'${....trainer.max_steps}'") == "30");    // three levels up from sched is the root
  CHECK(at("'${......trainer.max_steps}'") == "30");  // beyond the root: recipes sit one level deeper
  CHECK(at("'${...seq}'") == "4096");
  CHECK(at("'${multiply:${d.tp}, ${d.pp}}'") == "32");
  CHECK(at("'${multiply: ${....d.tp} , 2}'") == "16");
  CHECK(at("'${multiply:${multiply:2, 3}, 4}'") == "24");
  CHECK(at("'${d.list}'") == "[1, 2]");
  CHECK(at("'${trainer.name}-${d.tp}'") == "x-8");
  CHECK(at("'${d.${trainer.name}}'") == "${d.${trainer.name}}");  // no key d.x
  CHECK(at("['${d.tp}', b]") == "[8, b]");
}

TEST_CASE("a single interpolation keeps the type of its target, a mixed one is text", "[io][nxdt]") {
  const NxdtConfig c = parse("a: 8\nb: '${a}'\nc: '${a}x'\nd: '8'\ne: ${d}\nf: ${.a}\n");
  CHECK(c.whole("b") == 8);
  CHECK(c.find("c")->quoted);
  CHECK_FALSE(c.whole("e"));
  CHECK(c.whole("f") == 8);
}

TEST_CASE("what cannot be resolved keeps its text", "[io][nxdt]") {
  for (const char* text :
       {"${absent}", "${oc.env:HOME}", "${base}/${.name}", "${multiply:a, 2}", "${multiply:2}",
        "${multiply:9999999999, 9999999999}", "${a", "${}", "${.}", "${....}", "${${${a}}", "\\${n}",
        "${null_key}/x", "${section}", "${n:}", "${:}"}) {
    CAPTURE(text);
    CHECK(value(std::string("n: 1\nnull_key: null\nsection: {x: 1}\nv: '") + text + "'\n", "v") == text);
  }
  CHECK(value("v: '" + std::string(100000, '$') + std::string(1000, '{') + "'\n", "v").size() == 101000);
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += "${";
  CHECK(value("v: '" + deep + std::string(2000, '}') + "'\n", "v").size() == 6000);
}

TEST_CASE("a cycle is a fault at its key", "[io][nxdt]") {
  const auto one = faults("a: ${a}\n");
  REQUIRE(one.size() == 1);
  CHECK(one[0].key == "a");
  CHECK(one[0].at.line == 1);
  CHECK_FALSE(one[0].fix.empty());

  CHECK(faults("a: ${b}\nb: x${c}\nc: [1, '${a}']\n").size() == 1);
  CHECK(faults("a: ${multiply:${b}, 2}\nb: ${a}\nc: ${d}\nd: ${c}\n").size() == 2);
}

TEST_CASE("long chains and exploding texts end in bounded time", "[io][nxdt]") {
  std::string chain;
  for (int i = 0; i < 20000; ++i) chain += "k" + std::to_string(i) + ": ${k" + std::to_string(i + 1) + "}\n";
  CHECK_FALSE(faults(chain + "k20000: 1\n").empty());

  std::string laughs = "k0: aaaaaaaaaa\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "${k" + std::to_string(i - 1) + "}";
    laughs += "k" + std::to_string(i) + ": '" + before + before + before + before + "'\n";
  }
  try {
    parse(laughs);  // kept as text or refused: both are fine, exhausting the machine is not
  } catch (const InputError&) {
    SUCCEED();
  }
}

TEST_CASE("keys that cannot be dotted are faults, all at once", "[io][nxdt]") {
  CHECK(faults("a.b: 1\n'': 2\n" + std::string(300, 'k') + ": 3\nfine: 4\n").size() == 3);
  CHECK(faults("[1, 2]\n").size() == 1);
  CHECK(faults("").size() == 1);
}

TEST_CASE("what looks like an NxDT config", "[io][nxdt]") {
  CHECK(targets::looks_like_nxdt(parse_document("trainer: {}\ndistributed_strategy: {}\n", "c.yaml")));
  CHECK_FALSE(targets::looks_like_nxdt(parse_document("trainer: {}\n", "c.yaml")));
  CHECK_FALSE(targets::looks_like_nxdt(parse_document("trainer\n", "c.yaml")));
}

TEST_CASE("lines with devices: are found, comments included", "[io][nxdt]") {
  const auto lines = targets::devices_lines(
      "trainer:\n  devices: 32 # not 64\r\n  # devices: 64\n  max: 1\n\"devices\": 2\nmy_devices:", "c.yaml");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].at.line == 2);
  CHECK(lines[0].at.column == 3);
  CHECK(lines[0].second_word == "32");
  CHECK(lines[1].second_word == "devices:");
  CHECK(lines[2].at.line == 6);
  CHECK(lines[2].second_word.empty());
  CHECK(targets::devices_lines("", "c.yaml").empty());
  CHECK(targets::devices_lines("devices:   \n", "c.yaml")[0].second_word.empty());
}
