#include "io/catalog.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "io/build_catalog.h"
#include "io/calibration.h"
#include "io/evidence.h"
#include "units/product.h"

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;

// ---- units ----

enum class Dimension { none, flops_per_second, hertz, bytes, bytes_per_second };

struct Unit {
  std::string_view text;
  Dimension dimension;
  double scale;
};

constexpr double kibi = 1024.0;
constexpr Unit units[] = {
    {"", Dimension::none, 1},
    {"1", Dimension::none, 1},
    {"cycles", Dimension::none, 1},
    {"GFLOPS", Dimension::flops_per_second, 1e9},
    {"TFLOPS", Dimension::flops_per_second, 1e12},
    {"PFLOPS", Dimension::flops_per_second, 1e15},
    {"Hz", Dimension::hertz, 1},
    {"MHz", Dimension::hertz, 1e6},
    {"GHz", Dimension::hertz, 1e9},
    {"B", Dimension::bytes, 1},
    {"bytes", Dimension::bytes, 1},
    {"KiB", Dimension::bytes, kibi},
    {"MB", Dimension::bytes, 1e6},
    {"GB", Dimension::bytes, 1e9},
    {"TB", Dimension::bytes, 1e12},
    {"MiB", Dimension::bytes, kibi* kibi},
    {"GiB", Dimension::bytes, kibi* kibi* kibi},
    {"TiB", Dimension::bytes, kibi* kibi* kibi* kibi},
    {"MB/s", Dimension::bytes_per_second, 1e6},
    {"GB/s", Dimension::bytes_per_second, 1e9},
    {"TB/s", Dimension::bytes_per_second, 1e12},
    {"MiB/s", Dimension::bytes_per_second, kibi* kibi},
    {"GiB/s", Dimension::bytes_per_second, kibi* kibi* kibi},
    {"TiB/s", Dimension::bytes_per_second, kibi* kibi* kibi* kibi},
    {"Mbit/s", Dimension::bytes_per_second, 1e6 / 8},
    {"Gbit/s", Dimension::bytes_per_second, 1e9 / 8},
    {"Tbit/s", Dimension::bytes_per_second, 1e12 / 8},
};

std::string units_of(Dimension d) {
  std::string all;
  for (const Unit& u : units) {
    if (u.dimension == d && !u.text.empty()) all += (all.empty() ? "" : ", ") + std::string(u.text);
  }
  return all;
}

constexpr int whole_most = std::numeric_limits<int>::max();
constexpr double largest = 1e18;

/// Reads {"value": 95, "unit": "TFLOPS", "source": ...} entries of one map.
class QuantityReader {
 public:
  QuantityReader(MapReader& map, std::string where, std::vector<Diagnostic>& faults)
      : map_(map), where_(std::move(where)), faults_(faults) {}

  /// Value in base units. `least` is in the unit of the file.
  double quantity(std::string_view key, Dimension dimension, double least) {
    const Node* entry = map_.raw(key);
    if (entry == nullptr || entry->is_null()) {
      map_.fault(key, "this key is missing", "add it: {\"value\": ..., \"unit\": ..., \"source\": ...}");
      return 0;
    }
    MapReader fields(*entry, path(key), faults_);
    const double value = fields.required_number("value", least, largest);
    return value * scale(fields, fields.text("unit", ""), dimension);
  }
  double positive(std::string_view key, Dimension dimension) { return quantity(key, dimension, 1e-9); }

  /// A dimensionless whole number; a bare number is accepted too. Absent gives `fallback`.
  int whole(std::string_view key, int fallback, int least) {
    const Node* entry = map_.raw(key);
    if (entry == nullptr || !entry->is_map()) return map_.whole(key, fallback, least, whole_most);
    MapReader fields(*entry, path(key), faults_);
    scale(fields, fields.text("unit", ""), Dimension::none);
    return fields.required_whole("value", least, whole_most);
  }
  int required_whole(std::string_view key, int least) {
    const int value = whole(key, least, least);
    if (!map_.has(key)) map_.fault(key, "this key is missing", "add it: {\"value\": ..., \"source\": ...}");
    return value;
  }

  /// The list under key.value (or key itself); null when absent.
  const Node* list(std::string_view key) {
    const Node* entry = map_.raw(key);
    if (entry != nullptr && entry->is_map()) entry = entry->find("value");
    if (entry == nullptr || entry->is_null()) return nullptr;
    if (entry->kind == Node::Kind::sequence) return entry;
    faults_.push_back(
        {entry->at, path(key), "a list was expected", "write {\"value\": [...], \"source\": ...}"});
    return nullptr;
  }

  std::string path(std::string_view key) const {
    return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
  }

 private:
  static double scale(MapReader& fields, const std::string& text, Dimension dimension) {
    for (const Unit& u : units) {
      if (u.text == text && u.dimension == dimension) return u.scale;
    }
    fields.fault("unit", "\"" + printable(text, 40) + "\" is no unit for this value",
                 "use one of: " + units_of(dimension));
    return 1;
  }

  MapReader& map_;
  std::string where_;
  std::vector<Diagnostic>& faults_;
};

// ---- instances ----

topology::Core core_from(MapReader& map, std::vector<Diagnostic>& faults) {
  const Node* node = map.raw("core");
  if (node == nullptr) {
    map.fault("core", "this key is missing", "add the numbers of one NeuronCore");
    return {};
  }
  MapReader fields(*node, "core", faults);
  QuantityReader read(fields, "core", faults);
  topology::Core core;
  core.lnc = read.whole("lnc", 1, 1);
  core.bf16 = FlopsPerSecond(read.positive("bf16", Dimension::flops_per_second));
  core.array_rows = read.required_whole("array_rows", 1);
  core.array_columns = read.required_whole("array_columns", 1);
  core.matmul_issue_cycles = read.required_whole("matmul_issue_cycles", 1);
  core.tensor_hertz = read.positive("tensor_clock", Dimension::hertz);
  core.vector_lanes = read.required_whole("vector_lanes", 1);
  core.vector_hertz = read.positive("vector_clock", Dimension::hertz);
  core.memory = Bytes(read.positive("memory", Dimension::bytes));
  core.hbm = BytesPerSecond(read.positive("hbm_bandwidth", Dimension::bytes_per_second));
  core.dma = BytesPerSecond(read.positive("dma_bandwidth", Dimension::bytes_per_second));
  return core;
}

/// A chip or device number below `count`.
std::optional<int> index_from(const Node& node, int count, const std::string& key,
                              std::vector<Diagnostic>& faults) {
  const std::optional<int> value = whole_of(node);
  if (value && *value < count) return value;
  faults.push_back({node.at, key,
                    "\"" + printable(node.scalar, 40) + "\" is no number below " + std::to_string(count),
                    "number chips and devices from 0"});
  return std::nullopt;
}

/// Appends the links of one list to the instance's.
void add_links(const Node* list, const std::string& key, BytesPerSecond rate, topology::Instance& instance,
               std::vector<Diagnostic>& faults) {
  if (list == nullptr) return;
  std::set<std::pair<int, int>> seen;
  for (const topology::Link& l : instance.links) seen.insert(std::minmax(l.chip_a, l.chip_b));
  const int vertices = instance.chips + instance.switches;
  for (const Node& pair : list->items) {
    if (pair.kind != Node::Kind::sequence || pair.items.size() != 2) {
      faults.push_back({pair.at, key, "a link is a pair of chips", "write [0, 1]"});
      continue;
    }
    const auto a = index_from(pair.items[0], vertices, key, faults);
    const auto b = index_from(pair.items[1], vertices, key, faults);
    if (!a || !b) continue;
    if (*a == *b) {
      faults.push_back({pair.at, key, "a link joins a chip to itself", "name two different chips"});
    } else if (!seen.insert(std::minmax(*a, *b)).second) {
      faults.push_back({pair.at, key, "this link is listed twice", "list each pair of chips once"});
    } else {
      instance.links.push_back({*a, *b, rate});
    }
  }
}

void read_links(QuantityReader& read, MapReader& map, topology::Instance& instance,
                std::vector<Diagnostic>& faults) {
  const auto rate_of = [&](const char* key, bool used) {
    if (!used && !map.has(key)) return BytesPerSecond{};
    return BytesPerSecond(read.quantity(key, Dimension::bytes_per_second, used ? 1e-9 : 0));
  };
  add_links(read.list("links"), "links", {}, instance, faults);
  instance.link_per_direction = rate_of("link_bandwidth_per_direction", !instance.links.empty());
  const Node* far = read.list("far_links");
  const BytesPerSecond far_rate =
      rate_of("far_link_bandwidth_per_direction", far != nullptr && !far->items.empty());
  add_links(far, "far_links", far_rate, instance, faults);
}

std::vector<int> nics_of_chips(const Node* list, const topology::Instance& i, std::vector<Diagnostic>& faults,
                               const SourcePos& at) {
  std::vector<int> nics;
  if (list != nullptr) {
    for (const Node& item : list->items) {
      if (const auto nic = index_from(item, i.nics, "nic_of_chip", faults)) nics.push_back(*nic);
    }
  }
  const std::size_t wanted = i.nics > 0 ? static_cast<std::size_t>(i.chips) : 0;
  const std::size_t listed = list == nullptr ? 0 : list->items.size();
  if (listed != wanted) {
    faults.push_back(
        {list == nullptr ? at : list->at, "nic_of_chip",
         std::to_string(listed) + " entries for " + std::to_string(wanted) + " chips with a network",
         "list one device number per chip, or none when nics is 0"});
  }
  return nics;
}

std::vector<topology::Price> prices_from(const Node* list, std::vector<Diagnostic>& faults) {
  std::vector<topology::Price> prices;
  if (list == nullptr) return prices;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    MapReader fields(list->items[i], "prices[" + std::to_string(i) + "]", faults);
    topology::Price price;
    price.kind = fields.required_text("kind");
    price.usd_per_hour = fields.required_number("usd_per_hour", 0, 1e6);
    price.region = fields.text("region", "");
    price.date = fields.text("date", "");
    prices.push_back(std::move(price));
  }
  return prices;
}

void read_torus(MapReader& map, topology::Instance& instance, std::vector<Diagnostic>& faults) {
  const Node* node = map.raw("torus");
  if (node == nullptr || node->is_null()) return;
  if (const Node* value = node->find("value")) node = value;
  MapReader fields(*node, "torus", faults);
  instance.torus_rows = fields.required_whole("rows", 1, whole_most);
  instance.torus_columns = fields.required_whole("columns", 1, whole_most);
  instance.torus_depth = fields.whole("depth", 1, 1, whole_most);
  const std::int64_t places =
      saturating_product({instance.torus_rows, instance.torus_columns, instance.torus_depth});
  if (places != instance.chips) {
    const std::string product = fields.has("depth") ? "rows times columns times depth" : "rows times columns";
    map.fault("torus",
              product + " is " + std::to_string(places) + ", chips is " + std::to_string(instance.chips),
              "make them agree");
  }
}

/// Far above any node; the bound keeps cores() and the tables small.
constexpr int chips_most = 4096;

// ---- models ----

std::optional<models::Family> family_from(std::string_view text) {
  if (text == "llama") return models::Family::llama;
  if (text == "gpt") return models::Family::gpt;
  if (text == "bert") return models::Family::bert;
  if (text == "mixtral") return models::Family::mixtral;
  return std::nullopt;
}

// ---- profiles ----

models::Value value_from(MapReader& map, models::Parameter p, std::vector<Diagnostic>& faults) {
  const std::string key(models::to_string(p));
  const Node* node = map.raw(key);
  if (node == nullptr || node->is_null()) {
    map.fault(key, "this parameter is missing",
              "add it with median, log_sd, unit \"" + std::string(models::unit_of(p)) + "\" and source");
    return {};
  }
  MapReader fields(*node, "parameters." + key, faults);
  models::Value value;
  value.median = fields.required_number("median", 1e-30, 1e30);
  value.log_sd = fields.required_number("log_sd", 0, 100);
  value.source = fields.text("source", "");
  const std::string unit = fields.required_text("unit");
  if (!unit.empty() && unit != models::unit_of(p)) {
    fields.fault("unit", "\"" + printable(unit, 40) + "\" is not the unit of this parameter",
                 "write the value in \"" + std::string(models::unit_of(p)) + "\"");
  }
  fields.ignore({"note", "kind", "conflicts"});
  fields.finish();
  return value;
}

/// Sizes at which the runtime changes its collective algorithm; absent: never.
models::AlgorithmLimits algorithms_from(const Node& node, std::vector<Diagnostic>& faults) {
  MapReader map(node, "algorithms", faults);
  QuantityReader read(map, "algorithms", faults);
  const auto limit = [&](std::string_view key, double fallback) {
    return Bytes(map.has(key) ? read.quantity(key, Dimension::bytes, 0) : fallback);
  };
  models::AlgorithmLimits limits;
  limits.one_step_below = limit("one_step_below", 0);
  limits.mesh_below = limit("mesh_below", 0);
  limits.halving_below = limit("halving_below", 0);
  limits.flat_ring_from = limit("flat_ring_from", std::numeric_limits<double>::infinity());
  map.finish();
  return limits;
}

void throw_if_any(std::vector<Diagnostic> faults) {
  if (!faults.empty()) throw InputError(std::move(faults));
}

// ---- folders ----

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
  const std::vector<std::string> known = names_in(folder);
  if (is_plain_name(name) && std::find(known.begin(), known.end(), name) != known.end()) {
    return read_document(folder / (std::string(name) + ".json"));
  }
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

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

}  // namespace

topology::Instance instance_from(const Node& node) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  QuantityReader read(map, "", faults);
  topology::Instance i;
  i.name = map.required_text("name");
  i.family = map.required_text("family");
  i.chips = read.required_whole("chips", 1);
  i.cores_per_chip = read.required_whole("cores_per_chip", 1);
  i.switches = read.whole("switches", 0, 0);
  if (i.chips > chips_most || i.cores_per_chip > chips_most || i.switches > chips_most) {
    map.fault("chips", "more than " + std::to_string(chips_most) + " chips, switches or cores per chip",
              "describe one node");
    throw_if_any(std::move(faults));
  }
  i.vcpus = read.whole("vcpus", 0, 0);
  if (map.has("host_memory")) i.host_memory = Bytes(read.quantity("host_memory", Dimension::bytes, 0));
  i.core = core_from(map, faults);
  read_links(read, map, i, faults);
  read_torus(map, i, faults);
  i.nics = read.whole("nics", 0, 0);
  if (i.nics > 0) i.nic = BytesPerSecond(read.positive("nic_bandwidth", Dimension::bytes_per_second));
  i.nic_of_chip = nics_of_chips(read.list("nic_of_chip"), i, faults, node.at);
  i.prices = prices_from(read.list("prices"), faults);
  map.finish(false);  // the catalogue also holds facts for readers
  throw_if_any(std::move(faults));
  return i;
}

void complete_heads(models::Architecture& a, MapReader& map, std::string_view heads_key,
                    std::string_view kv_key) {
  if (a.heads < 1 || a.hidden < 1) return;
  if (a.kv_heads == 0) a.kv_heads = a.heads;
  if (a.heads % a.kv_heads != 0) {
    map.fault(kv_key,
              std::to_string(a.kv_heads) + " KV heads do not divide " + std::to_string(a.heads) + " heads",
              "make the number of heads a multiple of the KV heads");
  }
  if (a.head_dim > 0) {
    if (a.head_dim <= model_limits.attention / a.heads) return;
    map.fault("head_dim", "heads times head_dim is above " + std::to_string(model_limits.attention),
              "correct one of the two");
    a.head_dim = 0;
    return;
  }
  if (a.hidden % a.heads != 0) {
    map.fault(heads_key,
              "hidden size " + std::to_string(a.hidden) + " is no multiple of " + std::to_string(a.heads) +
                  " heads",
              "correct one of the two, or state head_dim");
    return;
  }
  a.head_dim = a.hidden / a.heads;
}

namespace {

/// A flat object of numbers and texts as JSON, as it stands in the file.
std::string json_of(const Node& object) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const Node::Entry& e : object.entries) {
    const bool text = e.value.quoted || !nlohmann::json::accept(e.value.scalar);
    j[e.key] = text ? nlohmann::ordered_json(e.value.scalar) : nlohmann::ordered_json::parse(e.value.scalar);
  }
  return j.dump();
}

}  // namespace

models::Architecture architecture_from(const Node& node) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  models::Architecture a;
  a.name = map.required_text("name");
  const std::string family = map.required_text("family");
  if (const auto known = family_from(family)) {
    a.family = *known;
  } else if (!family.empty()) {
    map.fault("family", "unknown family \"" + printable(family, 40) + "\"",
              "use llama, gpt, bert or mixtral");
  }
  a.hidden = map.required_whole("hidden_size", 1, model_limits.hidden);
  a.layers = map.required_whole("num_hidden_layers", 1, model_limits.layers);
  a.intermediate = map.required_whole("intermediate_size", 1, model_limits.intermediate);
  a.heads = map.required_whole("num_attention_heads", 1, model_limits.heads);
  a.kv_heads = map.whole("num_key_value_heads", 0, 1, model_limits.heads);
  a.head_dim = map.whole("head_dim", 0, 1, model_limits.hidden);
  a.vocabulary = map.required_whole("vocab_size", 1, model_limits.vocabulary);
  a.max_positions = map.required_whole("max_position_embeddings", 1, model_limits.positions);
  const std::string mlp = map.text("mlp", "gated");
  a.mlp = mlp == "plain" ? models::Mlp::plain : models::Mlp::gated;
  if (mlp != "plain" && mlp != "gated") map.fault("mlp", "unknown MLP kind", "use gated or plain");
  a.tied_embeddings = map.boolean("tie_word_embeddings", false);
  a.learned_positions = map.boolean("learned_positions", false);
  a.biases = map.boolean("biases", false);
  a.flash_attention = map.boolean("flash_attention", true);
  a.rope_theta = map.number("rope_theta", a.rope_theta, 1, 1e12);
  a.rms_norm_eps = map.number("rms_norm_eps", a.rms_norm_eps, 0, 1);
  if (const Node* scaling = map.raw("rope_scaling"); scaling != nullptr && scaling->is_map()) {
    a.rope_scaling = json_of(*scaling);
  }
  a.experts = map.whole("num_local_experts", 0, 0, model_limits.experts);
  a.experts_per_token = map.whole("num_experts_per_tok", 0, 0, model_limits.experts);
  complete_heads(a, map, "num_attention_heads", "num_key_value_heads");
  map.finish(false);
  throw_if_any(std::move(faults));
  return a;
}

namespace {

/// A chain of bases this long is a circle.
constexpr int most_bases = 8;

models::Profile read_profile(const Node& node, const Catalog* catalog, int bases) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  const std::string base = map.text("base", "");
  models::Profile profile;
  if (!base.empty() && catalog == nullptr) {
    map.fault("base", "there is no catalogue to take \"" + printable(base, 40) + "\" from",
              "state every parameter");
  } else if (bases > most_bases) {
    map.fault("base", "the profiles are based on each other in a circle",
              "state every parameter in one of them");
  } else if (!base.empty()) {
    try {
      profile = read_profile(open_entry(catalog->file("profiles"), "profile", base), catalog, bases + 1);
    } catch (const InputError& e) {
      for (Diagnostic f : e.faults()) {
        if (f.at.file.empty()) {
          f.at = map.raw("base")->at;
          f.key = "base";
        }
        faults.push_back(std::move(f));
      }
      throw InputError(std::move(faults));
    }
  }
  profile.base = base;
  profile.name = map.required_text("name");
  profile.instance = map.text("instance", profile.instance);
  map.ignore({"description", "note", "source", "schema_version"});
  const Node* parameters = map.raw("parameters");
  if (parameters == nullptr) {
    map.fault("parameters", "this key is missing", "add the parameters; docs/models.md lists them");
  } else {
    MapReader fields(*parameters, "parameters", faults);
    for (std::size_t p = 0; p < static_cast<std::size_t>(models::Parameter::count); ++p) {
      const auto parameter = static_cast<models::Parameter>(p);
      if (!fields.has(models::to_string(parameter))) {
        if (!base.empty()) continue;
        if (const auto absent = models::value_when_absent(parameter)) {
          profile.values[p] = *absent;
          continue;
        }
      }
      profile.values[p] = value_from(fields, parameter, faults);
    }
    fields.finish();
  }
  if (const Node* algorithms = map.raw("algorithms")) {
    profile.algorithms = algorithms_from(*algorithms, faults);
  } else if (base.empty()) {
    map.fault("algorithms", "this key is missing",
              "add the sizes at which collectives change; see docs/models.md");
  }
  if (const Node* calibration = map.raw("calibration"); calibration != nullptr && !calibration->is_null()) {
    profile.calibration = calibration_from(*calibration, profile, faults);
  } else if (profile.calibration != nullptr) {
    profile.calibration = calibration_beside(*profile.calibration, profile, parameters);
  }
  if (const Node* evidence = map.raw("evidence"))
    evidence_from(*evidence, faults);  // read_evidence() gives it
  map.finish();
  throw_if_any(std::move(faults));
  return profile;
}

}  // namespace

models::Profile profile_from(const Node& node, const Catalog* catalog) {
  return read_profile(node, catalog, 0);
}

Catalog::Catalog(fs::path folder) : folder_(std::move(folder)) {}

Catalog Catalog::standard() {
  if (const char* chosen = std::getenv("TRNPLAN_CATALOG"); chosen != nullptr && *chosen != '\0') {
    if (is_folder(chosen)) return Catalog(chosen);
    throw InputError(
        Diagnostic{{chosen},
                   "TRNPLAN_CATALOG",
                   "this environment variable names no folder",
                   "set it to a catalogue folder (with instances/, models/, profiles/) or unset it"});
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / "share" / "trnplan" / "catalog";
  if (!error && is_folder(installed)) return Catalog(installed);
  if (is_folder(build_catalog())) return Catalog(build_catalog());
  throw InputError(Diagnostic{{installed.string()},
                              "",
                              "the catalogue of instance types and models was not found",
                              "install trnplan completely, or set TRNPLAN_CATALOG to the catalogue folder"});
}

std::vector<std::string> Catalog::instances() const {
  return names_in(folder_ / "instances");
}
std::vector<std::string> Catalog::models() const {
  return names_in(folder_ / "models");
}

topology::Instance Catalog::instance(std::string_view name) const {
  return instance_from(open_entry(folder_ / "instances", "instance type", name));
}

models::Architecture Catalog::architecture(std::string_view name) const {
  return architecture_from(open_entry(folder_ / "models", "model", name));
}

models::Profile Catalog::profile(std::string_view name) const {
  models::Profile profile = profile_from(open_entry(folder_ / "profiles", "profile", name), this);
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
