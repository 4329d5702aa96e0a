// Output for GPUs compared with the words that pretrain_gpt.py and TorchTitan accept.
#include <algorithm>
#include <set>

#include "launch/folder/bundle.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/gpu_assertions.h"
#include "tests/launch/folder/entry_points/random_plans.h"
#include "tests/launch/folder/entry_points/started.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

std::string entry_of(const planner::Target& target) {
  return target.framework() == "fsdp" ? "torchtitan-toml" : "megatron-lm";
}

/// By hand: sizes and the recipe that is next to them by their ratio; of Megatron the size of the Llama whose rates are
/// taken, or the script that trains such a model.
std::string recipe_of(const std::string& entry, const std::string& model) {
  struct Row {
    const char *model, *titan, *megatron;
  };
  static const Row kRows[] = {
      {"llama2-7b", "", "llama3_8b"},
      {"llama2-13b", "", "llama3_8b"},
      {"llama2-70b", "", "llama3_70b"},
      {"llama3-8b", "llama3_8b", "llama3_8b"},
      {"llama3-70b", "llama3_70b", "llama3_70b"},
      {"llama3.1-8b", "llama3_8b", "llama3_8b"},
      {"llama3.1-70b", "llama3_70b", "llama3_70b"},
      {"llama3.1-405b", "llama3_405b", "llama3_405b"},
      {"gpt3-23b", "", "gpt3"},
      {"gpt3-46b", "", "gpt3"},
      {"gpt3-175b", "", "gpt3"},
      {"mixtral-8x7b", "", "mixtral"},
  };
  for (const Row& row : kRows) {
    if (model == row.model) return entry == "megatron-lm" ? row.megatron : row.titan;
  }
  return "";
}

/// The words that the script sees: those of its command line, and of the TOML that it names.
std::vector<std::string> words_of(const planner::Target& target, const Case& c, const Started& s) {
  if (target.config_names().empty()) return s.words;
  return with_toml(target.emit(c.job, c.strategy, {})[0].text, s.words);
}

std::vector<std::string> gpu_faults_of(const EntryPoint& entry, const std::vector<std::string>& words,
                                       const Run& run) {
  std::vector<std::string> faults = entry.faults(words);
  if (!faults.empty()) return faults;
  const Settings settings = entry.settings(words);
  for (const planner::StartFault& f : start_faults_of(entry.name(), settings, run))
    faults.push_back("does not hold: " + f.name + ": " + to_string(f.what));
  const std::string recipe = recipe_of(entry.name(), run.job.architecture.name);
  const Settings asked = entry.name() == "megatron-lm" ? asked_of_megatron(entry, run, recipe)
                                                       : asked_of_torchtitan(entry, run, recipe);
  for (const auto& [key, value] : asked) {
    const auto is = settings.find(key);
    if (is == settings.end() || !same_value(is->second, value)) {
      faults.push_back(key + " is " + (is == settings.end() ? "nothing" : is->second) +
                       ", the plan asks for " + value);
    }
  }
  for (const std::string& name : entry.given(words)) {
    if (!asked.contains(name)) faults.push_back(name + " is given and nobody asked for it");
  }
  return faults;
}

/// EFA is asked for between nodes only, and nothing of Neuron's is set.
std::vector<std::string> gpu_environment_faults(const EntryPoint& entry,
                                                const std::map<std::string, std::string>& exported,
                                                const Case& c) {
  std::vector<std::string> faults =
      entry.environment_faults(exported, {"FI_PROVIDER", "FI_EFA_SET_CUDA_SYNC_MEMOPS"});
  if (exported.contains("FI_PROVIDER") != (c.job.cluster.nodes > 1)) faults.emplace_back("FI_PROVIDER");
  for (const auto& [name, value] : exported) {
    if (name.find("NEURON") != std::string::npos) faults.push_back(name);
  }
  return faults;
}

std::string shown(const Case& c) {
  return c.job.architecture.name + " at " + std::to_string(c.job.training.sequence) + " on " +
         std::to_string(c.job.cluster.nodes) + " x " + c.job.cluster.instance.name + ": " +
         describe(c.strategy);
}

/// Words of the flag that begins there.
std::size_t flag_words_from(const std::vector<std::string>& words, std::size_t at) {
  std::size_t end = at + 1;
  while (end < words.size() && !words[end].starts_with("--")) ++end;
  return end - at;
}

}  // namespace

TEST_CASE("what is emitted for GPUs is what each script takes, for random plans", "[launch][gpu]") {
  for (const char* name : {"megatron", "torchtitan"}) {
    const planner::Target& target = *targets::find(name);
    const std::vector<Case> plans = legal_plans(target, kPlans);
    REQUIRE(plans.size() == kPlans);
    std::set<std::string> shapes, models;
    const EntryPoint entry(entry_point_table(), entry_of(target));
    for (const Case& c : plans) {
      shapes.insert(shown(c) + std::string(models::to_string(c.strategy.precision)));
      models.insert(c.job.architecture.name);
      INFO(shown(c));
      const Started s = started(node_run_of(target, c), "train");
      CHECK(s.folder == entry.text("workdir"));
      CHECK(s.script == entry.text("script"));
      CHECK(std::to_string(s.port) == entry.port(""));
      CHECK(s.nodes == c.job.cluster.nodes);
      CHECK(s.processes == 8);
      CHECK(listed(gpu_environment_faults(entry, s.environment, c)) == "");
      const Run run{c.job, c.strategy, s.nodes * s.processes, "train", false};
      CHECK(listed(gpu_faults_of(entry, words_of(target, c, s), run)) == "");
    }
    CHECK(shapes.size() > kPlans / 3);
    CHECK(models.size() >= 5);
  }
}

TEST_CASE("a flag for GPUs that is dropped, misspelt or of another value is caught", "[launch][gpu]") {
  for (const char* name : {"megatron", "torchtitan"}) {
    const planner::Target& target = *targets::find(name);
    const EntryPoint entry(entry_point_table(), entry_of(target));
    int dropped = 0, harmless = 0, misspelt = 0;
    for (const Case& c : legal_plans(target, 20)) {
      const Started s = started(node_run_of(target, c), "train");
      const Run run{c.job, c.strategy, s.nodes * s.processes, "train", false};
      const std::vector<std::string> words = words_of(target, c, s);
      const Settings whole = entry.settings(words);
      for (std::size_t at = 0; at < words.size(); at += flag_words_from(words, at)) {
        INFO(shown(c) << ": " << words[at]);
        const std::size_t length = flag_words_from(words, at);
        const auto from = words.begin() + static_cast<std::ptrdiff_t>(at);
        std::vector<std::string> fewer(words.begin(), from);
        fewer.insert(fewer.end(), from + static_cast<std::ptrdiff_t>(length), words.end());
        if (!gpu_faults_of(entry, fewer, run).empty()) {
          ++dropped;
        } else {  // nothing is lost where the script's default is the same
          const Settings left = entry.settings(fewer);
          CHECK(std::all_of(whole.begin(), whole.end(), [&](const auto& one) {
            return left.contains(one.first) && same_value(left.at(one.first), one.second);
          }));
          ++harmless;
        }
        std::vector<std::string> other = words;
        std::swap(other[at][other[at].size() - 1], other[at][other[at].size() - 2]);
        if (other[at] == words[at]) other[at] += "s";
        CHECK_FALSE(entry.faults(other).empty());
        ++misspelt;
        other = words;
        if (length > 1)
          other[at + 1] = "fast" + other[at + 1];
        else
          other[at] += "=1";
        CHECK_FALSE(gpu_faults_of(entry, other, run).empty());
      }
      for (const auto& [variable, value] : s.environment) {
        auto spoilt = s.environment;
        spoilt.erase(variable);
        if (variable != "FI_EFA_SET_CUDA_SYNC_MEMOPS")
          CHECK_FALSE(gpu_environment_faults(entry, spoilt, c).empty());
        spoilt[variable + "S"] = value;
        CHECK_FALSE(gpu_environment_faults(entry, spoilt, c).empty());
      }
    }
    CHECK(misspelt >= 300);
    CHECK(dropped > harmless);
  }
}

TEST_CASE("every assertion of the GPU scripts is checked", "[launch][gpu]") {
  for (const char* name : {"megatron-lm", "torchtitan-toml"}) {
    const EntryPoint entry(entry_point_table(), name);
    for (const std::string& text : entry.texts("assertions")) {
      INFO(name << ": " << text);
      const std::vector<GpuAssertion>& known = gpu_assertions_of(name);
      const auto found = std::find_if(known.begin(), known.end(),
                                      [&](const GpuAssertion& a) { return text.starts_with(a.begins); });
      REQUIRE(found != known.end());
      for (const std::string& rule : found->rules) {
        INFO(rule);
        const auto& rules = start_table_of(name).rules;
        CHECK(std::any_of(rules.begin(), rules.end(),
                          [&](const targets::StartRule& r) { return r.name == rule; }));
      }
    }
  }
}

// A choice that the target has wrong, or lacks, would refuse a script that runs or let one through that does not: the
// table is made from the source by a script, the target's keys are written by hand.
TEST_CASE("choices and usual values of the GPU targets are those of the table", "[launch][gpu]") {
  for (const char* name : {"megatron-lm", "torchtitan-toml"}) {
    const Node& flags = *entry_point_table().find(name)->find("flags");
    const std::string dashes = std::string(name) == "megatron-lm" ? "" : "--";
    std::size_t chosen = 0;
    for (const targets::StartKey& key : start_table_of(name).keys) {
      INFO(key.name);
      if (key.kind == targets::KeyKind::any) continue;  // its name alone is known
      const Node* flag = flags.find(dashes + key.name);
      REQUIRE(flag != nullptr);
      const Node *choices = flag->find("choices"), *usual = flag->find("default"), *type = flag->find("type");
      std::string words;
      if (choices != nullptr)
        for (const Node& c : choices->items) words += (words.empty() ? "" : " ") + c.scalar;
      // argparse takes any name of an optimizer of TorchTitan; the function that builds it does not.
      if (std::string(key.name) != "optimizer.name") CHECK(words == key.choices);
      chosen += choices != nullptr ? 1 : 0;
      using enum targets::KeyKind;
      CHECK((key.kind == toggle) == (type->scalar == "switch"));
      CHECK((key.kind == truth) == (type->scalar == "bool"));
      CHECK((key.kind == whole) == (type->scalar == "int" && words.empty()));
      if (usual != nullptr && !usual->scalar.empty() && key.kind != toggle && *key.usual != '\0')
        CHECK(same_value(key.usual, usual->scalar));
    }
    CHECK(chosen == static_cast<std::size_t>(std::count_if(
                        flags.entries.begin(), flags.entries.end(),
                        [](const Node::Entry& e) { return e.value.find("choices") != nullptr; })));
  }
}

TEST_CASE("a TOML of a plan says the plan again when it is read", "[launch][gpu]") {
  const planner::Target& target = *targets::find("torchtitan");
  for (const Case& c : legal_plans(target, 60)) {
    INFO(shown(c));
    const std::vector<planner::ConfigFile> files = target.emit(c.job, c.strategy, {});
    const Node root = parse_document(files[0].text, files[0].name);
    CHECK(target.recognises(root));
    const auto back = target.interpret(root, c.job.architecture);
    REQUIRE(back.has_value());
    CHECK(back->not_modelled.empty());
    models::Strategy wanted = models::canonical(c.strategy), found = models::canonical(back->strategy);
    if (!wanted.zero1) wanted.sharding = found.sharding;
    // One group of all ranks is what is meant where none is named.
    if (wanted.shard_ranks == wanted.data_parallel * wanted.context_parallel) wanted.shard_ranks = 0;
    CHECK(found == wanted);
    CHECK(back->training.global_batch == c.job.training.global_batch);
  }
}

TEST_CASE("what starts a plan is read as that plan", "[launch][gpu]") {
  for (const char* name : {"megatron", "torchtitan"}) {
    const planner::Target& target = *targets::find(name);
    for (const Case& c : legal_plans(target, 60)) {
      INFO(shown(c));
      std::vector<planner::ConfigFile> files =
          target.emit(c.job, c.strategy, {"Plan: " + describe(c.strategy)});
      if (files.empty()) files.push_back({"node_run.sh", node_run_of(target, c)});
      for (const planner::ConfigFile& file : files) {
        INFO(file.name);
        std::vector<std::string> broken;
        for (const planner::StartFault& f : target.start_faults(file, c.job.cluster)) {
          // FP8 is the TOML's alone: the module ends, and says so.
          if (!f.understood) broken.push_back(f.name + ": " + to_string(f.what));
        }
        CHECK(listed(broken) == "");
        const auto run = target.read_run(file, static_cast<int>(c.job.cluster.cores()));
        REQUIRE(run.has_value());
        models::Strategy wanted = models::canonical(c.strategy),
                         found = models::canonical(run->config.strategy);
        if (!wanted.zero1) wanted.sharding = found.sharding;
        if (wanted.shard_ranks == wanted.data_parallel * wanted.context_parallel) wanted.shard_ranks = 0;
        CHECK(models::describe(found) == models::describe(wanted));
        CHECK(found == wanted);
        CHECK(run->config.not_modelled.empty());
        CHECK(run->config.training.sequence == c.job.training.sequence);
        CHECK(run->config.training.global_batch == c.job.training.global_batch);
        CHECK(run->architecture.layers == c.job.architecture.layers);
        CHECK(run->architecture.kv_heads == c.job.architecture.kv_heads);
        CHECK(run->architecture.intermediate == c.job.architecture.intermediate);
        CHECK(run->architecture.vocabulary == c.job.architecture.vocabulary);
        CHECK(run->architecture.dropout == c.job.architecture.dropout);
        CHECK(run->architecture.experts == c.job.architecture.experts);
        CHECK(run->architecture.capacity_factor == c.job.architecture.capacity_factor);
      }
    }
  }
}
