#include <algorithm>
#include <set>

#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/assertions.h"
#include "tests/launch/folder/entry_points/random_plans.h"
#include "tests/launch/folder/entry_points/started.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

/// Which script a plan needs: one stage has a script of its own.
std::string entry_of(const planner::Target& target, const models::Strategy& s) {
  if (target.name() != "nxd") return std::string(target.name());
  return s.pipeline_parallel == 1 ? "nxd-tp-zero1" : "nxd-pp";
}

/// The recipe that is next in size to the model, by hand; of BERT that of the phase next in batch.
std::string recipe_of(const std::string& entry, const models::Job& job) {
  const std::string& model = job.architecture.name;
  if (entry == "bert" && job.training.sequence == 512) return "phase2-adamw";
  if (entry == "bert") return job.training.global_batch > 32768 ? "phase1-lamb" : "phase1-adamw";
  struct Row {
    const char *model, *tensor, *pipeline, *nemo;
  };
  constexpr Row kRows[] = {{"llama2-7b", "llama2-7B", "llama2-13B", "llama2-7B"},
                           {"llama3-8b", "llama3-8B", "llama2-13B", "llama2-7B"},
                           {"llama2-13b", "llama3-8B", "llama2-13B", "llama2-13B"},
                           {"llama3.1-8b", "llama3-8B", "llama2-13B", ""},
                           {"llama2-70b", "llama3-8B", "llama2-70B", "llama2-70B"},
                           {"llama3-70b", "llama3-8B", "llama3-70B", "llama2-70B"},
                           {"llama3.1-70b", "llama3-8B", "llama3-70B", ""}};
  for (const Row& row : kRows) {
    if (model == row.model)
      return entry == "nxd-pp" ? row.pipeline : entry == "nemo-megatron" ? row.nemo : row.tensor;
  }
  return "";
}

/// Variables that belong to the launch: where graphs lie, how nodes meet, which cores, and NxD's own buckets
/// (aws-neuron/neuronx-distributed@fbac349 src/neuronx_distributed/trainer/trainer.py).
const std::vector<std::string> kOfTheLaunch = {"COMPILE",
                                               "NEURON_COMPILE_CACHE_URL",
                                               "NEURON_PARALLEL_COMPILE_DUMP_RESULTS",
                                               "CCOM_SOCKET_IFNAME",
                                               "FI_EFA_ENABLE_SHM_TRANSFER",
                                               "NEMO_EXPM_VERSION",
                                               "ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB"};

/// All that is wrong with words for a plan: what the script refuses, what it asserts, what the plan asks
/// otherwise, and what nobody asked for.
std::vector<std::string> faults_of(const EntryPoint& entry, const std::vector<std::string>& words,
                                   const Run& run) {
  std::vector<std::string> faults = entry.faults(words);
  if (!faults.empty()) return faults;
  const Settings settings = entry.settings(words);
  faults = broken_assertions(entry, settings, run);
  const Settings asked = asked_by(entry, run, recipe_of(entry.name(), run.job));
  for (const auto& [key, value] : asked) {
    const auto is = settings.find(key);
    if (is == settings.end() && value == "false")
      continue;  // a key that the code takes for False when absent
    if (is == settings.end() || !same_value(is->second, value))
      faults.push_back(key + " is " + (is == settings.end() ? "nothing" : is->second) +
                       ", the plan asks for " + value);
  }
  for (const std::string& name : entry.given(words)) {
    if (!asked.contains(name)) faults.push_back(name + " is given and nobody asked for it");
  }
  return faults;
}

std::vector<std::string> environment_faults(const EntryPoint& entry,
                                            std::map<std::string, std::string> exported, const Case& c) {
  // --distribution-strategy=llm-training must not meet flash attention's kernels (aws-neuron/aws-neuron-sdk
  // @81ce03ae release notes of NxD Training 1.2).
  const std::string flags = "--model-type transformer", strategy = " --distribution-strategy=llm-training";
  if (entry.name() == "nemo-megatron" && c.strategy.flash_attention) {
    std::string& compiler = exported["NEURON_CC_FLAGS"];
    if (compiler.starts_with(flags)) compiler.insert(flags.size(), strategy);
  }
  std::vector<std::string> launch = kOfTheLaunch;
  // BERT's has a cache and nothing else, and only where NEURON_COMPILE_CACHE_URL does not say it.
  if (entry.name() == "bert") launch.emplace_back("NEURON_CC_FLAGS");
  std::vector<std::string> faults = entry.environment_faults(exported, launch);
  if (entry.name() == "bert") {
    if (!exported.contains("HF_HOME")) faults.emplace_back("HF_HOME: Slurm");
    for (const char* name : {"BUCKET_CAP_MB", "XLA_TRANSFER_SEED_ASYNC"}) {
      if (exported.contains(name) != (c.job.cluster.nodes > 1)) faults.emplace_back(name);
    }
  }
  if (c.job.cluster.nodes > 1 && !exported.contains("FI_PROVIDER"))
    faults.emplace_back("FI_PROVIDER: several nodes");
  if (entry.name() == "nemo-megatron") {
    const bool rounds = c.strategy.precision == models::Precision::bf16_sr;
    if (exported["NEURON_RT_STOCHASTIC_ROUNDING_EN"] != (rounds ? "1" : "0")) faults.emplace_back("rounding");
    if (exported.contains("XLA_USE_BF16") != rounds || exported.contains("XLA_DOWNCAST_BF16") == rounds)
      faults.emplace_back("type of floats");
  }
  return faults;
}

void check_started(const EntryPoint& entry, const Case& c, const std::string& node_run,
                   const std::string& mode, bool again = false) {
  const Started s = started(node_run, mode, again);
  CHECK(s.folder == entry.text("workdir"));
  CHECK(s.script == entry.text("script"));
  const std::vector<std::string> paths = entry.texts("pythonpath");
  CHECK(s.python_path == (paths.empty() ? "" : paths[0]));
  CHECK(std::to_string(s.port) == entry.port(recipe_of(entry.name(), c.job)));
  CHECK(s.nodes == c.job.cluster.nodes);
  CHECK(s.processes == c.job.cluster.instance.cores());
  CHECK(listed(environment_faults(entry, s.environment, c)).empty());
  const Run run{c.job, c.strategy, s.nodes * s.processes, mode, again};
  CHECK(listed(faults_of(entry, s.words, run)).empty());
}

/// One word of a command line as a slip of the pen would have it; nothing where that slip cannot happen.
std::vector<std::string> misspelt(std::vector<std::string> words, std::size_t at) {
  std::string& word = words[at];
  const std::size_t end = std::min(word.find('='), word.size());
  std::swap(word[end - 1], word[end - 2]);
  if (word[end - 1] == word[end - 2]) word.insert(end, "s");
  return words;
}

/// Words of one flag or override.
std::size_t words_from(const std::vector<std::string>& words, std::size_t at) {
  const bool valued = words[at].starts_with("--") && words[at].find('=') == std::string::npos &&
                      at + 1 < words.size() && !words[at + 1].starts_with("--");
  return valued ? 2 : 1;
}

struct Caught {
  int dropped = 0, harmless = 0, misspelt = 0, mistyped = 0;
};

/// Spoils every flag of a command line in turn.
void spoil(const EntryPoint& entry, const std::vector<std::string>& words, const Run& run, Caught& caught) {
  const Settings whole = entry.settings(words);
  for (std::size_t at = 0; at < words.size(); at += words_from(words, at)) {
    if (words[at].starts_with("--config-path=")) continue;  // the script's own default
    INFO(words[at]);
    const std::size_t length = words_from(words, at);
    std::vector<std::string> fewer = words;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                fewer.begin() + static_cast<std::ptrdiff_t>(at + length));
    if (!faults_of(entry, fewer, run).empty()) {
      ++caught.dropped;
    } else {
      // Nothing is lost where the script's default is the same.
      const Settings left = entry.settings(fewer);
      const bool same = std::all_of(whole.begin(), whole.end(), [&](const auto& one) {
        return same_value(left.at(one.first), one.second);
      });
      CHECK(same);
      ++caught.harmless;
    }
    CHECK_FALSE(entry.faults(misspelt(words, at)).empty());
    ++caught.misspelt;
    std::vector<std::string> other = words;
    std::string& value = other[at + length - 1];
    if (length == 2) {
      value = "fast" + value;
    } else if (value.find('=') != std::string::npos) {
      value.insert(value.find('=') + 1, "fast");
    } else {
      value += "=1";  // a switch with a value
    }
    CHECK_FALSE(faults_of(entry, other, run).empty());
    ++caught.mistyped;
  }
}

}  // namespace

TEST_CASE("what is emitted is what each script takes, for random plans", "[launch]") {
  for (const char* name : {"nxd", "nemo-megatron", "bert"}) {
    const planner::Target& target = *targets::find(name);
    const std::vector<Case> plans = legal_plans(target, kPlans);
    REQUIRE(plans.size() == kPlans);
    std::map<std::string, int> scripts;
    std::set<std::string> shapes;
    for (const Case& c : plans) {
      const std::string script = entry_of(target, c.strategy);
      ++scripts[script];
      shapes.insert(c.job.architecture.name + std::to_string(c.job.training.sequence) + " " +
                    std::to_string(c.job.training.global_batch) + describe(c.strategy) +
                    std::string(models::to_string(c.strategy.precision)));
      INFO(c.job.architecture.name << " at " << c.job.training.sequence << " on " << c.job.cluster.nodes
                                   << ": " << describe(c.strategy));
      const EntryPoint entry(entry_point_table(), script);
      const std::string node_run = node_run_of(target, c);
      check_started(entry, c, node_run, "train");
      check_started(entry, c, node_run, "compile");
      if (target.name() == "bert") check_started(entry, c, node_run, "train", true);
    }
    CHECK(shapes.size() > kPlans / 3);
    for (const auto& [script, count] : scripts) CHECK(count >= 30);
    CHECK(scripts.size() == (target.name() == "nxd" ? 2 : 1));
  }
}

TEST_CASE("a flag that is dropped, misspelt or of another type is caught", "[launch]") {
  for (const char* name : {"nxd", "nemo-megatron", "bert"}) {
    const planner::Target& target = *targets::find(name);
    Caught caught;
    for (const Case& c : legal_plans(target, 20)) {
      const EntryPoint entry(entry_point_table(), entry_of(target, c.strategy));
      const Started s = started(node_run_of(target, c), "train");
      spoil(entry, s.words, {c.job, c.strategy, s.nodes * s.processes, "train", false}, caught);
      // The same of what is exported.
      for (const auto& [variable, value] : s.environment) {
        if (variable.starts_with("FI_") || variable == "XLA_DISABLE_FUNCTIONALIZATION" ||
            std::find(kOfTheLaunch.begin(), kOfTheLaunch.end(), variable) != kOfTheLaunch.end())
          continue;
        INFO(variable);
        auto spoilt = s.environment;
        spoilt.erase(variable);
        CHECK_FALSE(environment_faults(entry, spoilt, c).empty());
        spoilt[variable + "S"] = value;
        CHECK_FALSE(environment_faults(entry, spoilt, c).empty());
        spoilt = s.environment;
        spoilt[variable] = value + "0";
        CHECK_FALSE(environment_faults(entry, spoilt, c).empty());
      }
    }
    CHECK(caught.misspelt >= 300);
    CHECK(caught.mistyped == caught.misspelt);
    CHECK(caught.dropped > caught.harmless);
  }
}

TEST_CASE("every assertion of the table is checked, or named here as one that only a run shows", "[launch]") {
  const std::set<std::string> of_a_run = {"samples in",      "metrics_file",    "data_dir must",
                                          "num HDF5 shards", "golden_steploss", "bert-large-uncased is"};
  for (const char* name : {"nxd-tp-zero1", "nxd-pp", "nemo-megatron", "bert"}) {
    for (const std::string& text : unchecked_assertions(EntryPoint(entry_point_table(), name))) {
      INFO(name << ": " << text);
      CHECK(std::any_of(of_a_run.begin(), of_a_run.end(),
                        [&](const std::string& s) { return text.starts_with(s); }));
    }
  }
}
