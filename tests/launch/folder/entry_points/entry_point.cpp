#include "tests/launch/folder/entry_points/entry_point.h"

#include <algorithm>
#include <regex>
#include <set>
#include <stdexcept>

namespace trnplan {

namespace {

std::string scalar_at(const Node& entry, const char* key) {
  const Node* node = entry.find(key);
  return node == nullptr || node->is_null() ? "null" : node->scalar;
}

/// Whether the value is one of that type; texts are anything but nothing.
bool is_of(const std::string& value, const std::string& type) {
  static const std::regex kWhole("[-+]?[0-9]+");
  static const std::regex kNumber(R"([-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?)");
  if (type == "int") return std::regex_match(value, kWhole);
  if (type == "float") return std::regex_match(value, kNumber);
  if (type == "bool") return value == "True" || value == "False" || value == "true" || value == "false";
  if (type == "list") return value.size() >= 2 && value.front() == '[' && value.back() == ']';
  return !value.empty();
}

void check_value(const std::string& name, const std::string& value, const Node& entry,
                 std::vector<std::string>& faults) {
  if (value == "null" && entry.find("null") != nullptr) return;
  const std::string type = scalar_at(entry, "type");
  if (!is_of(value, type))
    faults.push_back(name + ": '" + value + "' is not a" + (type == "int" ? "n " : " ") + type);
  const Node* choices = entry.find("choices");
  if (choices == nullptr) return;
  const bool chosen = std::any_of(choices->items.begin(), choices->items.end(),
                                  [&](const Node& n) { return n.scalar == value; });
  if (!chosen) faults.push_back(name + ": '" + value + "' is not a choice");
}

/// Values that stand for something else: "(set by the script)", "<dir>", "(empty)".
bool is_literal(const std::string& value) {
  return value.find_first_of("<(") == std::string::npos && !value.starts_with('$');
}

}  // namespace

const Node& entry_point_table() {
  static const Node table = read_document(TRNPLAN_SOURCE_DIR "/tests/launch/folder/entry_points/table.json");
  return table;
}

EntryPoint::EntryPoint(const Node& table, const std::string& name) : name_(name), entry_(table.find(name)) {
  if (entry_ == nullptr) throw std::invalid_argument("no entry point " + name);
}

std::string EntryPoint::text(const char* key) const {
  return scalar_at(*entry_, key);
}

std::string EntryPoint::port(const std::string& recipe) const {
  const Node& port = *entry_->find("port");
  for (const Node::Entry& e : port.entries) {
    if (recipe.starts_with(e.key)) return e.value.scalar;
  }
  return port.scalar;
}

std::vector<std::string> EntryPoint::texts(const char* key) const {
  std::vector<std::string> all;
  if (const Node* node = entry_->find(key)) {
    for (const Node& item : node->items) all.push_back(item.scalar);
  }
  return all;
}

/// Every word up to the next flag, joined by blanks; each is of the flag's type.
void EntryPoint::take_many(Given& g, const Node& entry, const std::vector<std::string>& words,
                           std::size_t& at, std::vector<std::string>& faults) {
  for (; at + 1 < words.size() && !words[at + 1].starts_with("--"); ++at) {
    check_value(g.name, words[at + 1], entry, faults);
    g.value += (g.value.empty() ? "" : " ") + words[at + 1];
    g.alone = false;
  }
  if (g.alone) faults.push_back(g.name + ": has no value");
}

std::vector<EntryPoint::Given> EntryPoint::flags_of(const std::vector<std::string>& words,
                                                    std::vector<std::string>& faults) const {
  const Node& flags = *entry_->find("flags");
  std::vector<Given> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    Given g{words[i].substr(0, equals), "", false, equals == std::string::npos};
    const Node* entry = flags.find(g.name);
    if (!g.name.starts_with("--") || entry == nullptr) {
      faults.push_back(g.name + ": there is no such flag");
      // Its value is not a fault of its own.
      if (g.name.starts_with("--") && g.alone && i + 1 < words.size() && !words[i + 1].starts_with("--")) ++i;
      continue;
    }
    const bool is_switch = scalar_at(*entry, "type") == "switch";
    if (!g.alone) g.value = words[i].substr(equals + 1);
    if (entry->find("nargs") != nullptr && g.alone) {
      take_many(g, *entry, words, i, faults);
      all.push_back(g);
      continue;
    }
    if (!is_switch && g.alone && i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      g.value = words[++i];
      g.alone = false;
    }
    if (is_switch != g.alone) {
      faults.push_back(g.name + (is_switch ? ": takes no value" : ": has no value"));
    } else if (!is_switch) {
      check_value(g.name, g.value, *entry, faults);
    }
    all.push_back(g);
  }
  return all;
}

const Node* EntryPoint::config_of(const std::vector<std::string>& words) const {
  for (const std::string& word : words) {
    if (word.starts_with("--config-name=")) return entry_->find("configs")->find(word.substr(14));
  }
  return nullptr;
}

const Node* EntryPoint::plus_key(const std::string& key) const {
  if (const Node* plus = entry_->find("plus")->find(key)) return plus;
  // A key that another base config has is one that the code reads.
  for (const Node::Entry& config : entry_->find("configs")->entries) {
    if (const Node* found = config.value.find(key)) return found;
  }
  return nullptr;
}

void EntryPoint::check_override(const Given& g, const Node& config, std::vector<std::string>& faults) const {
  const Node* stands = config.find(g.name);
  if (g.plus && stands != nullptr) {
    faults.push_back(g.name + ": is in the config already, so it takes no plus");
  } else if (!g.plus && stands == nullptr) {
    faults.push_back(g.name + ": is not in the config: it needs a plus, or there is none such");
  } else if (const Node* entry = g.plus ? plus_key(g.name) : stands; entry == nullptr) {
    faults.push_back(g.name + ": nothing reads such a key");
  } else {
    check_value(g.name, g.value, *entry, faults);
  }
}

std::vector<EntryPoint::Given> EntryPoint::overrides_of(const std::vector<std::string>& words,
                                                        std::vector<std::string>& faults) const {
  const Node* config = config_of(words);
  if (config == nullptr) faults.push_back("--config-name: names no config");
  std::vector<Given> all;
  for (const std::string& word : words) {
    if (word.starts_with("--config-name=")) continue;
    if (word.starts_with("--config-path=")) {
      if (word != "--config-path=conf") faults.push_back(word + ": is not the folder of the configs");
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || word.starts_with('-')) {
      faults.push_back(word + ": is not an override");
      continue;
    }
    const bool plus = word.starts_with('+');
    all.push_back({word.substr(plus, equals - plus), word.substr(equals + 1), plus, false});
    if (config != nullptr) check_override(all.back(), *config, faults);
  }
  return all;
}

std::vector<EntryPoint::Given> EntryPoint::split(const std::vector<std::string>& words,
                                                 std::vector<std::string>& faults) const {
  return hydra() ? overrides_of(words, faults) : flags_of(words, faults);
}

std::vector<std::string> EntryPoint::faults(const std::vector<std::string>& words) const {
  std::vector<std::string> found;
  std::set<std::string> names;
  for (const Given& g : split(words, found)) {
    if (!names.insert(g.name).second) found.push_back(g.name + ": is given twice");
  }
  std::vector<std::string> required = texts("required");
  if (!hydra()) {
    for (const Node::Entry& flag : entry_->find("flags")->entries) {
      if (flag.value.find("required") != nullptr) required.push_back(flag.key);
    }
  }
  for (const std::string& one : required) {
    const std::size_t bar = one.find('|');
    const bool other = bar != std::string::npos && names.contains(one.substr(bar + 1));
    if (!other && !names.contains(one.substr(0, bar))) found.push_back(one + ": is missing");
  }
  return found;
}

std::vector<std::string> EntryPoint::given(const std::vector<std::string>& words) const {
  std::vector<std::string> none, names;
  for (const Given& g : split(words, none)) names.push_back(g.name);
  return names;
}

std::map<std::string, std::string> EntryPoint::settings(const std::vector<std::string>& words) const {
  std::map<std::string, std::string> all;
  const Node* config = hydra() ? config_of(words) : entry_->find("flags");
  if (hydra()) {
    for (const Node::Entry& e : entry_->find("plus")->entries) all[e.key] = scalar_at(e.value, "default");
  }
  for (const Node::Entry& e : config->entries) all[e.key] = scalar_at(e.value, "default");
  std::vector<std::string> none;
  for (const Given& g : split(words, none)) all[g.name] = g.alone ? "true" : g.value;
  for (auto& [key, value] : all) {
    if (value == "True") value = "true";
    if (value == "False") value = "false";
  }
  return all;
}

std::vector<std::string> EntryPoint::environment_faults(const std::map<std::string, std::string>& exported,
                                                        const std::vector<std::string>& launch) const {
  std::vector<std::string> found;
  std::map<std::string, std::vector<std::string>> known;  // values
  for (const Node& variable : entry_->find("environment")->items) {
    const std::string name = scalar_at(variable, "name"), value = scalar_at(variable, "value");
    known[name].push_back(value);
    const bool script_sets = value.find("(set by") != std::string::npos;
    if (scalar_at(variable, "when") == "always" && !script_sets && !exported.contains(name) &&
        std::find(launch.begin(), launch.end(), name) == launch.end())
      found.push_back(name + ": is not exported");
    if (script_sets && exported.contains(name)) found.push_back(name + ": the script sets it by itself");
  }
  for (const auto& [name, value] : exported) {
    if (std::find(launch.begin(), launch.end(), name) != launch.end()) continue;
    if (!known.contains(name)) {
      found.push_back(name + ": nothing of the script reads it");
      continue;
    }
    std::string list;
    bool right = false;
    for (std::string wanted : known[name]) {
      if (wanted == "(empty)") wanted = "";
      const std::size_t cache = wanted.find(" --cache_dir=");  // NEURON_COMPILE_CACHE_URL says it
      if (cache != std::string::npos) wanted.erase(cache);
      right = right || !is_literal(wanted) || value == wanted;
      list += (list.empty() ? "'" : ", '") + wanted + "'";
    }
    if (!right) found.push_back(name + ": '" + value + "', not " + list);
  }
  return found;
}

}  // namespace trnplan
