#include "io/catalog/hardware_settings.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "text/diagnostic.h"

namespace trnplan::io {

namespace {

constexpr const char* kOption = "--set";

Diagnostic fault(const std::string& text, std::string problem, std::string fix) {
  return {
      {"command line", 0, 0}, kOption, in_quotes(printable(text, 100)) + std::move(problem), std::move(fix)};
}

void add_numbers(const Node& node, const std::string& path, std::vector<SettableNumber>& all) {
  for (const Node::Entry& entry : node.entries) {
    const std::string key = path.empty() ? entry.key : path + "." + entry.key;
    const Node* value = entry.value.find("value");
    if (value == nullptr) {
      add_numbers(entry.value, key, all);
    } else if (const auto number = number_of(*value)) {
      const Node* unit = entry.value.find("unit");
      all.push_back({key, *number, unit == nullptr ? "1" : unit->scalar});
    }
  }
}

}  // namespace

std::vector<HardwareSetting> hardware_settings_from(const std::vector<std::string>& texts) {
  std::vector<HardwareSetting> all;
  std::vector<Diagnostic> faults;
  std::set<std::string> keys;
  for (const std::string& text : texts) {
    HardwareSetting s;
    s.text = text;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      faults.push_back(
          fault(text, " is not KEY=VALUE", "write for example core.memory=32GiB or nic_bandwidth=x2"));
      continue;
    }
    s.key = text.substr(0, equals);
    std::string value = text.substr(equals + 1);
    s.times = value.starts_with('x');
    if (s.times) value.erase(0, 1);
    const std::size_t end = std::min(value.find_first_not_of("0123456789.eE+-"), value.size());
    const auto number = number_of({.kind = Node::Kind::scalar, .scalar = value.substr(0, end)});
    const std::size_t unit = std::min(value.find_first_not_of(' ', end), value.size());
    s.unit = value.substr(unit);
    if (!number || !(*number > 0) || (s.times && !s.unit.empty())) {
      faults.push_back(fault(text,
                             ": no positive number, with its unit if it has one, and no factor such as x2",
                             "write for example core.memory=32GiB or nic_bandwidth=x2"));
      continue;
    }
    s.value = *number;
    if (!keys.insert(s.key).second)
      faults.push_back(fault(text, " sets a key that is set before", "set it once"));
    all.push_back(std::move(s));
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return all;
}

std::vector<SettableNumber> settable_numbers(const Node& file) {
  std::vector<SettableNumber> all;
  add_numbers(file, "", all);
  return all;
}

std::vector<std::string> apply_settings(const std::vector<HardwareSetting>& settings, Node& file) {
  std::vector<std::string> applied;
  for (const HardwareSetting& s : settings) {
    Node* quantity = file.at_path(s.key);
    Node* value = quantity == nullptr ? nullptr : quantity->find("value");
    const auto was = value == nullptr ? std::nullopt : number_of(*value);
    if (!was) continue;
    const SourcePos here{"command line, --set " + printable(s.text, 100), 0, 0};
    value->scalar = fmt::format("{}", s.times ? *was * s.value : s.value);
    value->at = quantity->at = here;
    Node* unit = quantity->find("unit");
    if (unit != nullptr && !s.unit.empty()) {
      unit->scalar = s.unit;
      unit->at = here;
    }
    for (Node::Entry& e : quantity->entries) e.key_at = here;
    applied.push_back(s.text);
  }
  return applied;
}

}  // namespace trnplan::io
