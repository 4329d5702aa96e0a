#include "io/input/scenario_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/parse.h"

namespace trnplan::io {

namespace {

constexpr const char* kScenarioFix = "write for example slow-node=3:1.2,slow-core=17:1.1";

class ScenarioReader {
 public:
  explicit ScenarioReader(const topology::Cluster& cluster) : cluster_(cluster) {}

  void text(const std::string& text, const SourcePos& place) {
    for (const std::string& pair : comma_parts(text)) {
      const std::size_t equals = pair.find('='), colon = pair.find(':', equals);
      if (equals == std::string::npos || colon == std::string::npos) {
        fault(place, "", in_quotes(pair) + " is not KEY=NUMBER:FACTOR", kScenarioFix);
        continue;
      }
      add(pair.substr(0, equals), pair.substr(equals + 1, colon - equals - 1), pair.substr(colon + 1), place,
          place);
    }
  }

  void file(const std::string& path, const Files& files) {
    const Node root = parse_document(files.text(path), path);
    if (!root.is_map()) fault(root.at, "", "a scenario is a map", "write for example slow-node: {3: 1.2}");
    for (const Node::Entry& key : root.entries) {
      if (!key.value.is_map())
        fault(key.value.at, key.key, "not a map of numbers and factors", "write for example {3: 1.2}");
      for (const Node::Entry& unit : key.value.entries)
        add(key.key, unit.key, unit.value.scalar, key.key_at, unit.key_at);
    }
  }

  models::Scenario finish() {
    if (!faults_.empty()) throw InputError(std::move(faults_));
    return std::move(out_);
  }

 private:
  void fault(const SourcePos& at, std::string key, std::string problem, std::string fix) {
    faults_.push_back({at, std::move(key), std::move(problem), std::move(fix)});
  }

  void add(const std::string& name, const std::string& unit, const std::string& factor,
           const SourcePos& of_key, const SourcePos& of_unit) {
    const auto& keys = scenario_keys();
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&](const ScenarioKey& k) { return k.name == name; });
    if (key == keys.end()) {
      if (unknown_ == name) return;  // named once for all its units
      unknown_ = name;
      std::vector<std::string> names;
      for (const ScenarioKey& k : keys) names.emplace_back(k.name);
      const std::string near = nearest(name, names);
      return fault(of_key, name, "unknown key", near.empty() ? kScenarioFix : "did you mean " + near + "?");
    }
    const int cores = cluster_.instance.cores();
    const int units = key->whole_node ? cluster_.nodes : cluster_.cores();
    const std::optional<int> number = parse_whole(unit);
    const bool there = number && *number < units;
    if (!there) {
      fault(of_unit, name, fmt::format("{} is no {} of the cluster", in_quotes(unit), key->unit),
            fmt::format("write a number from 0 to {}", units - 1));
    }
    const std::optional<double> times = parse_count(factor);
    const bool slower = times && *times >= 1 && *times <= kMostSlowdown;
    if (!slower) {
      fault(of_unit, name, in_quotes(factor) + " is not a factor of the time of work",
            fmt::format("write a number from 1 to {}, for example 1.2", kMostSlowdown));
    }
    if (!there || !slower) return;
    const int count = key->whole_node ? cores : 1;
    out_.slow.push_back({*number * count, count, *times});
  }

  const topology::Cluster& cluster_;
  models::Scenario out_;
  std::vector<Diagnostic> faults_;
  std::string unknown_;
};

}  // namespace

const std::vector<ScenarioKey>& scenario_keys() {
  static const std::vector<ScenarioKey> keys = {{"slow-node", "node", true}, {"slow-core", "core", false}};
  return keys;
}

models::Scenario read_scenario(const std::string& text, const topology::Cluster& cluster,
                               const SourcePos& place, const Files& files) {
  ScenarioReader reader(cluster);
  if (is_scenario_file(text))
    reader.file(text, files);
  else
    reader.text(text, place);
  return reader.finish();
}

bool is_scenario_file(const std::string& text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

}  // namespace trnplan::io
