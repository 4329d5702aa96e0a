#include "io/input/scenario_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/log_lines.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

using Of = ScenarioKey::Of;

constexpr std::string_view kSlowNode = scenario_key::slow_node, kSlowCore = "slow-core",
                           kNic = scenario_key::nic, kLink = "link", kSpine = scenario_key::spine,
                           kLate = scenario_key::late_node, kJitter = scenario_key::jitter, kRuns = "runs",
                           kSeed = "seed";
constexpr const char* kScenarioFix = "write for example slow-node=3:1.2,slow-core=17:1.1";
/// The least share of a rate that is simulated, and the largest factor of a time; a delay of a day at most.
constexpr double kLeastShare = 1e-3, kMostSlowdown = 1000, kMostDelay = 86'400;

std::string form(const ScenarioKey& key) {
  const char* of = key.of == Of::node ? "NODE:" : key.of == Of::core ? "CORE:" : "";
  std::string value(key.value);
  std::transform(value.begin(), value.end(), value.begin(), [](char c) { return static_cast<char>(c - 32); });
  return fmt::format("{}={}{}", key.name, of, value);
}

class ScenarioReader {
 public:
  explicit ScenarioReader(const topology::Cluster& cluster) : cluster_(cluster) {}

  void text(const std::string& text, const SourcePos& place) {
    for (const std::string& part : comma_parts(text)) {
      const std::string pair(trimmed(part));
      const std::size_t equals = pair.find('=');
      const ScenarioKey* key = key_named(pair.substr(0, equals));
      const std::size_t colon = equals == std::string::npos ? equals : pair.find(':', equals);
      const bool numbered = key == nullptr || key->of != Of::machine;
      if (equals != std::string::npos && !known(key, pair.substr(0, equals), place)) continue;
      if (equals == std::string::npos || (colon == std::string::npos) == numbered) {
        const std::string_view is_not = numbered ? "KEY=NUMBER:VALUE" : "KEY=VALUE";
        fault(place, "", fmt::format("{} is not {}", in_quotes(pair), is_not),
              key == nullptr ? kScenarioFix : fmt::format("write for example {}", key->example));
        continue;
      }
      if (!numbered) {
        add(*key, "", pair.substr(equals + 1), place, place);
      } else {
        add(*key, pair.substr(equals + 1, colon - equals - 1), pair.substr(colon + 1), place, place);
      }
    }
  }

  void file(const std::string& path, const Files& files) {
    const Node root = parse_document(files.text(path), path);
    if (!root.is_map()) fault(root.at, "", "a scenario is a map", "write for example slow-node: {3: 1.2}");
    for (const Node::Entry& entry : root.entries) {
      const ScenarioKey* key = key_named(entry.key);
      if (key != nullptr && key->of == Of::machine) {
        if (entry.value.kind == Node::Kind::scalar)
          add(*key, "", entry.value.scalar, entry.key_at, entry.value.at);
        else
          fault(entry.value.at, entry.key, "not a number", "write one number");
        continue;
      }
      if (!entry.value.is_map())
        fault(entry.value.at, entry.key, "not a map of numbers and values", "write for example {3: 1.2}");
      if (!known(key, entry.key, entry.key_at)) continue;
      for (const Node::Entry& unit : entry.value.entries)
        add(*key, unit.key, unit.value.scalar, unit.key_at, unit.value.at);
    }
  }

  models::Scenario finish(const SourcePos& place) {
    if (runs_ && !jitter_)
      fault(place, *runs_, "nothing is random without jitter", "write for example jitter=0.05,runs=100");
    for (const auto& [node, state] : nodes_) out_.nodes.push_back({node, state});
    if (!faults_.empty()) throw InputError(std::move(faults_));
    return std::move(out_);
  }

 private:
  static const ScenarioKey* key_named(std::string_view name) {
    const auto& keys = scenario_keys();
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&](const ScenarioKey& k) { return k.name == name; });
    return key == keys.end() ? nullptr : &*key;
  }

  void fault(const SourcePos& at, std::string_view key, std::string problem, std::string fix) {
    faults_.push_back({at, std::string(key), std::move(problem), std::move(fix)});
  }

  bool known(const ScenarioKey* key, const std::string& name, const SourcePos& at) {
    if (key != nullptr) return true;
    std::vector<std::string> names;
    for (const ScenarioKey& k : scenario_keys()) names.emplace_back(k.name);
    const std::string near = nearest(name, names);
    fault(at, name, "unknown key",
          near.empty() ? fmt::format("known are {}", fmt::join(names, ", ")) : "did you mean " + near + "?");
    return false;
  }

  std::optional<int> number_of(const ScenarioKey& key, const std::string& text, const SourcePos& at) {
    const int count = key.of == Of::node ? cluster_.nodes : cluster_.cores();
    const std::optional<int> number = parse_whole(text);
    if (number && *number < count) return number;
    fault(at, key.name,
          fmt::format("{} is no {} of the cluster", in_quotes(text), key.of == Of::node ? "node" : "core"),
          fmt::format("write a number from 0 to {}", count - 1));
    return std::nullopt;
  }

  std::optional<double> value_of(const ScenarioKey& key, const std::string& text, const SourcePos& at) {
    const std::optional<double> value = parse_count(text);
    const bool whole = key.name == kRuns || key.name == kSeed;
    if (value && *value >= key.least && *value <= key.most && (!whole || *value == std::floor(*value)))
      return value;
    std::string problem = fmt::format("{} is not a {}", in_quotes(text), key.what);
    if (value && *value == 0 && key.least == kLeastShare) problem += ": nothing else leads there";
    fault(at, key.name, std::move(problem),
          fmt::format("write a {} from {} to {}, for example {}", whole ? "whole number" : "number",
                      key.least, key.most, key.example));
    return std::nullopt;
  }

  /// True if the cluster has what a key is about.
  bool applies(const ScenarioKey& key, const SourcePos& at) {
    const topology::Instance& i = cluster_.instance;
    const bool network = key.name == kNic || key.name == kSpine;
    if (network && i.nics == 0) fault(at, key.name, i.name + " has no network between nodes", "leave it out");
    if (key.name == kLink && i.links.empty()) fault(at, key.name, i.name + " has no links", "leave it out");
    return !(network && i.nics == 0) && !(key.name == kLink && i.links.empty());
  }

  void add(const ScenarioKey& key, const std::string& unit, const std::string& text, const SourcePos& of_unit,
           const SourcePos& of_value) {
    if (key.name == kRuns || key.name == kSeed) runs_ = key.name;
    if (key.name == kJitter) jitter_ = true;
    const bool applies = this->applies(key, of_unit);
    const std::optional<int> number = key.of == Of::machine ? 0 : number_of(key, unit, of_unit);
    const std::optional<double> value = value_of(key, text, of_value);
    if (!applies || !number || !value) return;
    if (!stated_.insert({key.name, *number}).second) {
      const std::string where = key.of == Of::machine ? "" : fmt::format(" for {}", *number);
      return fault(of_unit, key.name, fmt::format("stated twice{}", where), "state it once");
    }
    const int cores = cluster_.instance.cores();
    if (key.name == kSlowNode) {
      out_.slow.push_back({*number * cores, cores, *value});
    } else if (key.name == kSlowCore) {
      out_.slow.push_back({*number, 1, *value});
    } else if (key.name == kNic) {
      nodes_[*number].network = *value;
    } else if (key.name == kLink) {
      nodes_[*number].links = *value;
    } else if (key.name == kLate) {
      nodes_[*number].late = Seconds(*value);
    } else if (key.name == kSpine) {
      out_.spine = *value;
    } else if (key.name == kJitter) {
      out_.random.log_sd = *value;
    } else if (key.name == kRuns) {
      out_.random.runs = static_cast<int>(*value);
    } else {
      out_.random.seed = static_cast<std::uint64_t>(*value);
    }
  }

  const topology::Cluster& cluster_;
  models::Scenario out_;
  std::map<int, models::NodeState> nodes_;
  std::set<std::pair<std::string_view, int>> stated_;  ///< keys with their nodes or cores
  bool jitter_ = false;
  std::optional<std::string_view> runs_;  ///< the key that needs jitter
  std::vector<Diagnostic> faults_;
};

}  // namespace

const std::vector<ScenarioKey>& scenario_keys() {
  static const std::vector<ScenarioKey> keys = {
      {kSlowNode, Of::node, "factor", "factor of the time of work", 1, kMostSlowdown, "slow-node=3:1.2",
       "its cores' work takes so many times as long"},
      {kSlowCore, Of::core, "factor", "factor of the time of work", 1, kMostSlowdown, "slow-core=17:1.1",
       "likewise of one core"},
      {kNic, Of::node, "share", "share of a network that is left", kLeastShare, 1, "nic=3:0.875",
       "of its network that is left; a dead NIC of 8: 0.875"},
      {kLink, Of::node, "share", "share of links that is left", kLeastShare, 1, "link=3:0.5",
       "of the links between its chips that is left"},
      {kLate, Of::node, "seconds", "delay in seconds", 0, kMostDelay, "late-node=3:60",
       "by which it starts its first work later"},
      {kSpine, Of::machine, "share", "share of the network between nodes that is left", kLeastShare, 1,
       "spine=0.5", "of the network between all nodes that others leave"},
      {kJitter, Of::machine, "sd", "standard deviation of a logarithm", 0, 2, "jitter=0.05",
       "passes and messages take random times on each core, log-normal, median 1"},
      {kRuns, Of::machine, "n", "number of runs", 1, 10'000, "runs=100", "with jitter; 100 unless given"},
      {kSeed, Of::machine, "n", "seed", 0, 1'000'000'000, "seed=1", "of the random times; 1 unless given"},
  };
  return keys;
}

std::string scenario_help() {
  std::string lines;
  for (const ScenarioKey& key : scenario_keys()) lines += fmt::format("  {:<22} {}\n", form(key), key.help);
  return lines;
}

models::Scenario read_scenario(const std::string& text, const topology::Cluster& cluster,
                               const SourcePos& place, const Files& files) {
  ScenarioReader reader(cluster);
  if (is_scenario_file(text))
    reader.file(text, files);
  else
    reader.text(text, place);
  return reader.finish(is_scenario_file(text) ? SourcePos{text, 0, 0} : place);
}

std::string scenario_text(const models::Scenario& s, const topology::Cluster& cluster, int digits) {
  std::vector<std::string> pairs;
  const auto add = [&](std::string_view key, const std::string& of, double value, double usual) {
    if (value != usual) pairs.push_back(fmt::format("{}={}{:.{}g}", key, of, value, digits));
  };
  const auto numbered = [](int number) { return fmt::format("{}:", number); };
  const int cores = cluster.instance.cores();
  for (const models::SlowCores& slow : s.slow) {
    for (int rank = slow.first, end = rank + slow.count; rank < end;) {
      const bool whole = rank % cores == 0 && end - rank >= cores;
      add(whole ? kSlowNode : kSlowCore, numbered(whole ? rank / cores : rank), slow.factor, 1);
      rank += whole ? cores : 1;
    }
  }
  for (const models::StatedNode& n : s.nodes) {
    add(kNic, numbered(n.node), n.state.network, 1);
    add(kLink, numbered(n.node), n.state.links, 1);
    add(kLate, numbered(n.node), n.state.late.value, 0);
  }
  add(kSpine, "", s.spine, 1);
  add(kJitter, "", s.random.log_sd, 0);
  if (s.is_random()) {
    pairs.push_back(fmt::format("{}={}", kRuns, s.random.runs));
    pairs.push_back(fmt::format("{}={}", kSeed, s.random.seed));
  }
  return fmt::format("{}", fmt::join(pairs, ","));
}

bool is_scenario_file(const std::string& text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

}  // namespace trnplan::io
