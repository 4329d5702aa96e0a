#include <algorithm>
#include <map>
#include <set>

#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/random_plans.h"
#include "tests/launch/folder/entry_points/started.h"
#include "text/document.h"

using namespace trnplan;

// The keys of NxDT by the configs that it ships (tests/launch/shipped), which the emitter does not read.

namespace {

constexpr const char* kShipped[] = {"hf_llama3.1_70B_config",    "hf_llama3.1_8B_config",
                                    "hf_llama3_70B_CP_config",   "hf_llama3_70B_config",
                                    "hf_llama3_70B_trn2_config", "hf_llama3_8B_config",
                                    "hf_llama_7B_config",        "hf_llama3_8b_seq8k_trn1x4_pretrain"};

using Kinds = std::map<std::string, std::string>;

std::string kind_of(const Node& node) {
  if (node.kind == Node::Kind::sequence) return "list";
  if (node.is_null() || (!node.quoted && node.scalar == "null")) return "null";
  if (node.scalar.starts_with("${")) return "interpolation";
  if (node.quoted) return "text";
  if (node.scalar == "True" || node.scalar == "False") return "bool";
  return number_of(node) ? "number" : "text";
}

/// Every leaf by its dotted path.
void add_leaves(const Node& node, const std::string& path, Kinds& kinds) {
  for (const Node::Entry& e : node.entries) {
    const std::string here = path.empty() ? e.key : path + "." + e.key;
    if (e.value.is_map()) {
      add_leaves(e.value, here, kinds);
    } else {
      kinds[here] = kind_of(e.value);
    }
  }
}

Kinds kinds_in(const std::string& text) {
  Kinds kinds;
  add_leaves(parse_document(text, "nxdt.yaml"), "", kinds);
  return kinds;
}

/// Kinds that a key has in shipped configs, and in how many of them it stands.
struct Key {
  std::set<std::string> kinds;
  std::size_t times = 0;

  /// An interpolation may become anything.
  bool takes(const std::string& kind) const {
    return kinds.contains(kind) || kinds.contains("interpolation");
  }
};

std::map<std::string, Key> shipped_keys() {
  std::map<std::string, Key> keys;
  for (const char* name : kShipped) {
    const std::string path = std::string(TRNPLAN_SOURCE_DIR "/tests/launch/shipped/") + name + ".yaml";
    for (const auto& [key, kind] : kinds_in(read_text(path))) {
      keys[key].kinds.insert(kind);
      ++keys[key].times;
    }
  }
  // Where whole layers are recomputed there is no list of classes: of the shipped HF Llama configs this one says so.
  const char* whole = TRNPLAN_SOURCE_DIR "/tests/digest/configs/hf_llama3_8B_DPO_config.yaml";
  const std::string list = "model.activations_checkpoint_recompute";
  keys[list].kinds.insert(kinds_in(read_text(whole)).at(list));
  // The code's own default: nothing is recomputed (aws-neuron/neuronx-distributed-training@9169aa0).
  keys["model.activations_checkpoint_granularity"].kinds.insert("null");
  return keys;
}

std::vector<std::string> faults_of(const Kinds& config, const std::map<std::string, Key>& known) {
  std::vector<std::string> faults;
  for (const auto& [key, kind] : config) {
    const auto found = known.find(key);
    if (found == known.end()) {
      faults.push_back(key + ": no shipped config has it");
    } else if (!found->second.takes(kind)) {
      faults.push_back(key + ": is a " + kind);
    }
  }
  for (const auto& [key, entry] : known) {
    if (entry.times == std::size(kShipped) && !config.contains(key)) faults.push_back(key + ": is missing");
  }
  return faults;
}

std::string config_of(const planner::Target& target, const Case& c) {
  return target.emit(c.job, c.strategy, {.heading = "a test"}).at(0).text;
}

}  // namespace

TEST_CASE("NxDT: every emitted key and override is one of the shipped configs, for random plans",
          "[launch]") {
  const planner::Target& target = *targets::find("nxdt");
  const std::map<std::string, Key> known = shipped_keys();
  const std::vector<Case> plans = legal_plans(target, 300);
  REQUIRE(plans.size() == 300);
  for (const Case& c : plans) {
    INFO(c.job.architecture.name << ": " << describe(c.strategy));
    const Kinds config = kinds_in(config_of(target, c));
    for (const std::string& fault : faults_of(config, known)) FAIL_CHECK(fault);
    const Started s = started(node_run_of(target, c), "train");
    CHECK(s.script == "training_orchestrator.py");
    CHECK(s.folder == "examples");
    for (const std::string& word : s.words) {
      INFO(word);
      const bool option = word == "--config-path=/plan" || word == "--config-name=nxdt";
      CHECK((option || config.contains(word.substr(0, word.find('=')))));
    }
  }
}

TEST_CASE("NxDT: a key that is dropped, misspelt or of another kind is caught", "[launch]") {
  const planner::Target& target = *targets::find("nxdt");
  const std::map<std::string, Key> known = shipped_keys();
  for (const Case& c : legal_plans(target, 10)) {
    const Kinds config = kinds_in(config_of(target, c));
    for (const auto& [key, kind] : config) {
      INFO(key);
      Kinds spoilt = config;
      spoilt.erase(key);
      if (known.at(key).times == std::size(kShipped)) CHECK_FALSE(faults_of(spoilt, known).empty());
      spoilt[key + "s"] = kind;
      CHECK_FALSE(faults_of(spoilt, known).empty());
      spoilt = config;
      spoilt[key] = kind == "bool" ? "list" : "bool";
      if (!known.at(key).takes(spoilt[key])) CHECK_FALSE(faults_of(spoilt, known).empty());
    }
  }
}
