#include "io/catalog/hardware_settings.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "io/catalog/instance_reader.h"
#include "models/device/devices.h"
#include "text/diagnostic.h"
#include "topology/nics.h"

namespace trnplan::io {

namespace {

constexpr const char* kOption = "--set";

Diagnostic fault(const std::string& text, std::string problem, std::string fix) {
  return {
      {"command line", 0, 0}, kOption, in_quotes(printable(text, 100)) + std::move(problem), std::move(fix)};
}

constexpr std::string_view kNics = "nics", kCore = "core.";

/// Keys of all machines that times depend on, besides those of links and NICs; then those of each.
constexpr std::string_view kOfMachines[] = {"cores_per_chip", "host_memory", "core.memory",
                                            "core.hbm_bandwidth"};
constexpr std::string_view kOfLinks[] = {"link_bandwidth_per_direction", "far_link_bandwidth_per_direction",
                                         "link_bandwidth_collectives", "in_switch_efficiency"};
constexpr std::string_view kOfNics[] = {kNics, "nic_bandwidth", "oversubscription", "network_latency"};

template <class Keys>
bool is_among(const Keys& keys, std::string_view key) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

/// True if a prediction for the machine depends on a number. The others are for people, or of other machines.
bool counts(const Node& file, std::string_view key) {
  if (is_among(kOfMachines, key)) return true;
  if (key.starts_with(kCore)) {
    const Node* kind = file.at_path("traits.accelerator");
    const models::Device* device = kind == nullptr ? nullptr : models::device_named(kind->scalar);
    const std::string_view own = key.substr(kCore.size());
    return device != nullptr && (is_among(device->needs(), own) || is_among(device->uses(), own));
  }
  if (is_among(kOfLinks, key)) {
    const Node* links = file.find("links");
    if (links != nullptr && links->is_map()) links = links->find("value");
    return links != nullptr && !links->items.empty();
  }
  const Node* nics = file.at_path("nics.value");
  return is_among(kOfNics, key) && nics != nullptr && number_of(*nics).value_or(0) > 0;
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

/// Throws InputError if the machine cannot have so many.
topology::Instance with_nics_of(const HardwareSetting& s, topology::Instance machine) {
  const double wanted = s.times ? machine.nics * s.value : s.value;
  const bool whole = wanted >= 1 && wanted <= 1e6 && wanted == std::floor(wanted) && s.unit.empty();
  if (whole) {
    if (auto changed = topology::with_nics(machine, static_cast<int>(wanted))) return *std::move(changed);
  }
  throw InputError(
      fault(s.text,
            fmt::format(": {:g} NICs{} cannot serve the {} chips of {} evenly, as its {} do", wanted,
                        printable(s.unit, 20), machine.chips, machine.name, machine.nics),
            fmt::format("write a whole multiple of {0} or a number that divides {0}, equal for "
                        "each host",
                        machine.nics)));
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
  std::erase_if(all, [&](const SettableNumber& n) { return !counts(file, n.key); });
  return all;
}

topology::Instance instance_with(const std::vector<HardwareSetting>& settings, Node file) {
  std::vector<std::string> applied;
  const HardwareSetting* nics = nullptr;
  for (const HardwareSetting& s : settings) {
    if (!counts(file, s.key)) continue;
    Node* quantity = file.at_path(s.key);
    Node* value = quantity == nullptr ? nullptr : quantity->find("value");
    const auto was = value == nullptr ? std::nullopt : number_of(*value);
    if (!was) continue;
    applied.push_back(s.text);
    if (s.key == kNics) {
      nics = &s;  // the file's list says which chips share one
      continue;
    }
    const SourcePos here{"command line, --set " + printable(s.text, 100), 0, 0};
    value->scalar = fmt::format("{}", s.times ? *was * s.value : s.value);
    value->at = quantity->at = here;
    Node* unit = quantity->find("unit");
    if (unit != nullptr && !s.unit.empty()) {
      unit->scalar = s.unit;
      unit->at = here;
    }
    for (Node::Entry& e : quantity->entries) e.key_at = here;
  }
  topology::Instance machine = instance_from(file);
  if (nics != nullptr) machine = with_nics_of(*nics, std::move(machine));
  machine.changes = std::move(applied);
  return machine;
}

}  // namespace trnplan::io
