#include "io/catalog/catalog.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "io/catalog/architecture_reader.h"
#include "io/catalog/build_catalog.h"
#include "io/catalog/instance_reader.h"
#include "io/catalog/neuron_releases.h"
#include "io/catalog/profile_reader.h"
#include "io/catalog/program_path.h"
#include "logs/table/measured_runs.h"
#include "models/job/job.h"
#include "models/job/limits.h"

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") names.push_back(it->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() < 200 && name.find_first_of("/\\") == std::string_view::npos &&
         name.find("..") == std::string_view::npos && printable(name) == name;
}

Node open_entry(const fs::path& folder, std::string_view what, std::string_view name) {
  const fs::path file = folder / (std::string(name) + ".json");
  std::error_code error;
  if (is_plain_name(name) && fs::is_regular_file(file, error)) return read_document(file);
  const std::vector<std::string> known = names_in(folder);
  std::string all, longer;
  for (const std::string& k : known) {
    all += (all.empty() ? "" : ", ") + k;
    if (!name.empty() && k.starts_with(std::string(name) + "."))
      longer += (longer.empty() ? "" : "\" or \"") + k;
  }
  const std::string near = longer.empty() ? nearest(name, known) : longer;
  throw InputError(
      Diagnostic{{},
                 "",
                 "unknown " + std::string(what) + " \"" + printable(name, 60) + "\"",
                 near.empty() ? "known: " + all : "did you mean \"" + near + "\"? Known: " + all});
}

Diagnostic without_unit(const HardwareSetting& s, const std::string& unit) {
  return {{"command line", 0, 0},
          "--set",
          in_quotes(printable(s.text, 100)) + " has no unit",
          fmt::format("write its unit, such as {0}, or {1}=x{2:g} for {2:g} times as much", unit, s.key,
                      s.value)};
}

Diagnostic unknown_key(const HardwareSetting& s, const std::string& problem,
                       const std::set<std::string>& keys) {
  const std::string near = nearest(s.key, {keys.begin(), keys.end()});
  return {{"command line", 0, 0},
          "--set",
          in_quotes(printable(s.key, 60)) + ": " + problem,
          near.empty() ? "trnplan instances NAME lists the numbers of a type"
                       : "did you mean " + near + "? trnplan instances NAME lists the numbers of a type"};
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

}  // namespace

/// Files that were read.
struct Catalog::Known {
  template <class What>
  using ByName = std::map<std::string, What, std::less<>>;

  std::mutex guard;
  ByName<topology::Instance> instances;
  ByName<models::Architecture> models;
  ByName<std::shared_ptr<const Node>> documents;
  ByName<std::shared_ptr<const std::vector<models::MeasuredRun>>> tables;

  /// That of the name in one of the maps, read where it is not known. A file that several threads need at the same
  /// time may be read by each.
  template <class What, class Read>
  What of(ByName<What>& all, std::string_view name, const Read& read) {
    {
      const std::lock_guard lock(guard);
      if (const auto found = all.find(name); found != all.end()) return found->second;
    }
    What fresh = read();
    const std::lock_guard lock(guard);
    return all.emplace(name, std::move(fresh)).first->second;
  }
};

Catalog::Catalog(fs::path folder) : folder_(std::move(folder)), known_(std::make_shared<Known>()) {}

Catalog Catalog::standard() {
  if (const char* chosen = std::getenv("TRNPLAN_CATALOG"); chosen != nullptr && *chosen != '\0') {
    if (is_folder(chosen)) return Catalog(chosen);
    throw InputError(
        Diagnostic{{chosen},
                   "TRNPLAN_CATALOG",
                   "this environment variable does not name a folder",
                   "set it to a catalogue folder (with instances/, models/, profiles/) or unset it"});
  }
  const fs::path program = program_path();
  const fs::path installed = program.parent_path().parent_path() / "share" / "trnplan" / "catalog";
  if (!program.empty() && is_folder(installed)) return Catalog(installed);
  if (is_folder(build_catalog())) return Catalog(build_catalog());
  throw InputError(Diagnostic{{installed.string()},
                              "",
                              "the catalogue of instance types and models was not found",
                              "install trnplan completely, or set TRNPLAN_CATALOG to the catalogue folder"});
}

Catalog Catalog::with_hardware(const std::vector<HardwareSetting>& settings) const {
  Catalog changed(folder_);
  changed.hardware_ = settings;
  if (settings.empty()) return changed;
  std::set<std::string> keys;
  std::map<std::string, std::string> units;
  for (const std::string& name : instances()) {
    for (SettableNumber& n : settable(name)) {
      if (n.unit != "1") units.emplace(n.key, n.unit);
      keys.insert(std::move(n.key));
    }
  }
  std::vector<Diagnostic> faults;
  for (const HardwareSetting& s : settings) {
    if (!keys.contains(s.key))
      faults.push_back(unknown_key(s, "no prediction depends on such a number", keys));
    const auto unit = units.find(s.key);
    if (unit != units.end() && !s.times && s.unit.empty()) faults.push_back(without_unit(s, unit->second));
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return changed;
}

void Catalog::refuse_unset(const topology::Instance& instance) const {
  std::vector<Diagnostic> faults;
  for (const HardwareSetting& s : hardware_) {
    if (std::find(instance.changes.begin(), instance.changes.end(), s.text) != instance.changes.end())
      continue;
    std::set<std::string> keys;
    for (SettableNumber& n : settable(instance.name)) keys.insert(std::move(n.key));
    faults.push_back(
        unknown_key(s, "no prediction for " + instance.name + " depends on such a number", keys));
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

std::vector<SettableNumber> Catalog::settable(std::string_view name) const {
  return settable_numbers(open_entry(folder_ / "instances", "instance type", name));
}

std::vector<std::string> Catalog::instances() const {
  return names_in(folder_ / "instances");
}
std::vector<std::string> Catalog::models() const {
  return names_in(folder_ / "models");
}

topology::Instance Catalog::instance(std::string_view name) const {
  return known_->of(known_->instances, name, [&] {
    Node file = open_entry(folder_ / "instances", "instance type", name);
    topology::Instance instance = instance_with(hardware_, std::move(file));
    if (instance.name == name) return instance;
    throw InputError(Diagnostic{{(folder_ / "instances" / (std::string(name) + ".json")).string()},
                                "name",
                                in_quotes(instance.name) + " is not the name of the file",
                                "give both the same name"});
  });
}

models::Architecture Catalog::architecture(std::string_view name) const {
  return known_->of(known_->models, name,
                    [&] { return architecture_from(open_entry(folder_ / "models", "model", name)); });
}

std::shared_ptr<const Node> Catalog::document(std::string_view name) const {
  return known_->of(known_->documents, name,
                    [&] { return std::make_shared<const Node>(read_document(file(name))); });
}

std::shared_ptr<const std::vector<models::MeasuredRun>> Catalog::measured_runs() const {
  constexpr const char* kName = "measured-runs.csv";
  return known_->of(known_->tables, kName, [&] {
    return std::make_shared<const std::vector<models::MeasuredRun>>(
        logs::parse_measured_runs(read_text(file(kName)), kName));
  });
}

std::optional<PublishedTraining> Catalog::training(std::string_view model) const {
  const Node file = open_entry(folder_ / "models", "model", model);
  const Node* node = file.find("training");
  if (node == nullptr || node->is_null()) return std::nullopt;
  std::vector<Diagnostic> faults;
  MapReader map(*node, "training", faults);
  PublishedTraining t;
  t.sequence = map.required_whole("sequence", 1, models::run_limits.sequence);
  t.global_batch = map.required_whole("global_batch", 1, models::run_limits.global_batch);
  t.source = map.required_text("source");
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return t;
}

namespace {

struct Defaults {
  std::string instance, model, profile;
  std::vector<std::string> stacks;
};

Defaults defaults_in(const Catalog& catalog) {
  const std::shared_ptr<const Node> read = catalog.document("defaults.json");
  const Node& file = *read;
  std::vector<Diagnostic> faults;
  MapReader map(file, "", faults);
  Defaults d{map.required_text("instance"), map.required_text("model"), map.text("profile", ""), {}};
  if (const Node* list = map.raw("searched_stacks")) {
    for (const Node& one : list->items) {
      if (one.scalar.empty() || models::stack_named(one.scalar).name != one.scalar) {
        faults.push_back({one.at, "searched_stacks", in_quotes(printable(one.scalar, 40)) + " is not a stack",
                          "name stacks as software.framework does"});
        continue;
      }
      d.stacks.push_back(one.scalar);
    }
  }
  map.required_text("source");
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return d;
}

}  // namespace

std::string Catalog::default_instance() const {
  return defaults_in(*this).instance;
}

std::string Catalog::default_model() const {
  return defaults_in(*this).model;
}

std::string Catalog::default_profile() const {
  return defaults_in(*this).profile;
}

std::vector<std::string> Catalog::searched_stacks() const {
  return defaults_in(*this).stacks;
}

std::vector<std::string> Catalog::machines() const {
  std::vector<std::string> names = instances();
  const auto usual = std::find(names.begin(), names.end(), default_instance());
  if (usual != names.end()) std::rotate(names.begin(), usual, usual + 1);
  return names;
}

std::string Catalog::instance_of_ranks(int ranks, bool several_nodes) const {
  const topology::Accelerator usual = instance(default_instance()).traits.accelerator;
  for (const std::string& name : machines()) {
    const topology::Instance type = instance(name);
    // Nobody guesses a cluster of single chips.
    const bool joins = type.nics > 0 && type.chips > 1;
    if (type.traits.accelerator == usual && type.host_cores() == ranks && (!several_nodes || joins))
      return name;
  }
  return "";
}

std::shared_ptr<const models::NeuronReleases> Catalog::neuron_releases() const {
  return std::make_shared<const models::NeuronReleases>(
      neuron_releases_from(*document("neuron-releases.json")));
}

Node Catalog::profile_file(std::string_view name) const {
  return open_entry(folder_ / "profiles", "profile", name);
}

models::Profile Catalog::profile(std::string_view name) const {
  models::Profile profile = profile_from(profile_file(name), this);
  profile.base = name;
  return profile;
}

std::string folded_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '.') {
      out += 'p';
    } else if (c != '-' && c != '_' && c != ' ') {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

}  // namespace trnplan::io
