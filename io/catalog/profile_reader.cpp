#include "io/catalog/profile_reader.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/catalog/calibration.h"
#include "io/catalog/catalog.h"
#include "io/catalog/observations.h"
#include "io/catalog/value_reader.h"
#include "io/format/schema_version.h"
#include "models/framework/framework.h"
#include "models/schemas/schemas.h"
#include "text/quantity_reader.h"

namespace trnplan::io {

namespace {

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

/// Length from which a chain of bases is a cycle.
constexpr int kMostBases = 8;

models::Profile read_profile(const Node& node, const Catalog* catalog, int bases);

/// The profile that `map` is based on, if any. Its own faults are thrown at once, because little can be said
/// of the rest.
models::Profile base_of(MapReader& map, const std::string& base, const Catalog* catalog, int bases) {
  if (base.empty()) return {};
  if (catalog == nullptr) {
    map.fault("base", "there is no catalogue to take \"" + printable(base, 40) + "\" from",
              "state every parameter");
    return {};
  }
  if (bases > kMostBases) {
    map.fault("base", "the profiles are based on each other in a circle",
              "state every parameter in one of them");
    return {};
  }
  try {
    return read_profile(catalog->profile_file(base), catalog, bases + 1);
  } catch (const InputError& e) {
    std::vector<Diagnostic> faults = e.faults();
    for (Diagnostic& f : faults) {
      if (!f.at.file.empty()) continue;
      f.at = map.raw("base")->at;
      f.key = "base";
    }
    throw InputError(std::move(faults));
  }
}

/// Reads "schema"; absent: that of its base, or the default.
void read_schema(MapReader& map, models::Profile& profile) {
  const std::string name = map.text("schema", profile.schema->name());
  const models::ParameterSchema* schema =
      models::schema_named(name.empty() ? models::kDefaultSchema : std::string_view(name));
  if (schema == nullptr) {
    std::string known;
    for (const std::string_view s : models::schema_names())
      known += (known.empty() ? "" : ", ") + std::string(s);
    map.fault("schema", "\"" + printable(name, 40) + "\" is not a schema", "use one of " + known);
  } else if (!profile.base.empty() && profile.schema != schema) {
    map.fault("schema", "the base has another schema, " + profile.schema->name(),
              "use a base of the same schema, or leave the key out");
  }
  if (schema != nullptr) profile.schema = schema;
}

/// Reads the parameters; without a base the file must state all.
void read_parameters(const Node& parameters, bool fitted, models::Profile& profile,
                     std::vector<Diagnostic>& faults) {
  MapReader fields(parameters, "parameters", faults);
  for (const models::Parameter parameter : profile.schema->parameters()) {
    if (!fields.has(models::to_string(parameter))) {
      if (!profile.base.empty()) continue;
      if (const auto absent = models::value_when_absent(parameter)) {
        profile.value(parameter) = *absent;
        continue;
      }
    }
    profile.value(parameter) =
        value_from(fields, models::to_string(parameter), models::unit_of(parameter),
                   limits_of(parameter, fitted), {"note", "kind", "conflicts"}, faults);
  }
  fields.finish();
}

constexpr double kMostGigabytes = 1e6;

/// Rates on 2, 4, 8 ... nodes.
std::vector<BytesPerSecond> rates_by_nodes(MapReader& map, const char* key) {
  std::vector<BytesPerSecond> rates;
  const Node* list = map.raw(key);
  if (list == nullptr) return rates;
  for (const Node& one : list->items) {
    const std::optional<double> rate = number_of(one);
    if (!rate || *rate < 0 || *rate > kMostGigabytes) {
      map.fault(key, "each is a rate", "give a list of GB/s on 2, 4, 8 ... nodes");
      break;
    }
    rates.push_back(gigabytes_per_second(*rate));
  }
  return rates;
}

}  // namespace

models::NetworkState network_state_from(const Node& node, const std::string& where,
                                        std::vector<Diagnostic>& faults) {
  MapReader map(node, where, faults);
  models::NetworkState n;
  n.usual = gigabytes_per_second(map.required_number("usual_gb_per_s", 1e-3, kMostGigabytes));
  n.power = map.number("power", 0, -10, 10);
  n.call_per_rank = Seconds(map.number("call_per_rank_s", 0, 0, 1));
  n.step_spread = map.number("step_log_sd_per_doubling", 0, 0, 1);
  n.congested_below = rates_by_nodes(map, "congested_below_gb_per_s");
  map.ignore({"source", "note"});
  map.finish();
  return n;
}

namespace {

models::SlowNetwork slow_network_from(const Node& node, std::vector<Diagnostic>& faults) {
  MapReader map(node, "factors.slow_network", faults);
  models::SlowNetwork n;
  n.probability = map.required_number("probability", 0, 0.9);
  if (n.probability > 0) {
    n.usual = gigabytes_per_second(map.required_number("usual_gb_per_s", 1e-3, kMostGigabytes));
    n.power = map.required_number("power", 0, 10);
    n.all_reduce = rates_by_nodes(map, "all_reduce_gb_per_s");
    const auto rises = std::adjacent_find(n.all_reduce.begin(), n.all_reduce.end(), std::less<>());
    if (n.all_reduce.empty() || rises != n.all_reduce.end())
      map.fault("all_reduce_gb_per_s", "no rates that fall with the nodes",
                "give a list of GB/s on 2, 4, 8 ... nodes, none above the one before it");
    if (!n.all_reduce.empty() && !(n.all_reduce.back().value > 0))
      map.fault("all_reduce_gb_per_s", "each is above 0", "give a list of GB/s on 2, 4, 8 ... nodes");
  }
  map.ignore({"source", "note", "usual_gb_per_s", "power", "all_reduce_gb_per_s"});
  map.finish();
  return n;
}

/// Reads the factors of frameworks and clusters.
void read_factors(const Node& node, models::Profile& profile, std::vector<Diagnostic>& faults) {
  auto all = std::make_shared<std::vector<models::Factors>>();
  for (const Node& one : node.items) {
    MapReader map(one, "factors", faults);
    models::Factors f;
    f.framework = map.text("framework", "");
    const std::string attention = map.text("attention", "");
    f.cluster = map.text("cluster", "");
    if (const Node* values = map.raw("parameters")) {
      MapReader fields(*values, "factors.parameters", faults);
      for (const models::Parameter p : profile.schema->parameters()) {
        if (!fields.has(models::to_string(p))) continue;
        f.values.emplace_back(p, value_from(fields, models::to_string(p), models::unit_of(p),
                                            limits_of(p, false), {"note", "kind", "conflicts"}, faults));
      }
      fields.finish();
    }
    if (const Node* network = map.raw("network_state"))
      f.network = network_state_from(*network, "factors.network_state", faults);
    if (const Node* slow = map.raw("slow_network")) f.slow = slow_network_from(*slow, faults);
    map.ignore({"note", "description"});
    const auto loops = models::frameworks_with_attention(attention);
    if (loops.empty()) map.fault("attention", "no training loop runs this library", "see docs/models.md");
    map.finish();
    if (attention.empty()) {
      all->push_back(std::move(f));
      continue;
    }
    // A library of flash attention stands for every loop that runs it.
    for (const std::string_view loop : loops) {
      f.framework = loop;
      all->push_back(f);
    }
  }
  profile.factors = std::move(all);
}

models::Profile read_profile(const Node& node, const Catalog* catalog, int bases) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  const std::string base = map.text("base", "");
  models::Profile profile = base_of(map, base, catalog, bases);
  profile.base = base;
  profile.name = map.required_text("name");
  profile.instance = map.text("instance", profile.instance);
  profile.transferred = map.boolean("transferred", profile.transferred);
  profile.of_collectives = map.boolean("of_collectives", profile.of_collectives);
  check_schema(map);
  map.ignore({"description", "note", "source"});
  read_schema(map, profile);
  const Node* parameters = map.raw("parameters");
  if (parameters == nullptr) {
    map.fault("parameters", "this key is missing", "add the parameters; docs/models.md lists them");
  } else {
    const bool fitted = map.raw("calibration") != nullptr || profile.of_collectives;
    read_parameters(*parameters, fitted, profile, faults);
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
  if (const Node* factors = map.raw("factors")) read_factors(*factors, profile, faults);
  if (const Node* observations = map.raw("evidence"))
    observations_from(*observations, faults);  // read_evidence() returns it
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return profile;
}

}  // namespace

models::Profile profile_from(const Node& node, const Catalog* catalog) {
  return read_profile(node, catalog, 0);
}

}  // namespace trnplan::io
