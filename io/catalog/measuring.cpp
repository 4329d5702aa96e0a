#include "io/catalog/measuring.h"

#include <string>
#include <vector>

#include "io/catalog/value_reader.h"
#include "io/format/schema_version.h"
#include "models/schemas/schemas.h"

namespace trnplan::io {

namespace {

constexpr double kLeastSeconds = 1e-3, kMostSeconds = 1e7;  ///< s; as wide as any cluster is slow

constexpr ValueLimits kSpreads{0, 1, kLogSdMost, true};

Seconds time_from(MapReader& map, const std::string& key, std::vector<Diagnostic>& faults) {
  const Node* node = map.raw(key);
  if (node == nullptr || node->is_null()) {
    map.fault(key, "this parameter is missing", "add it with median, log_sd, unit \"s\" and source");
    return {};
  }
  MapReader fields(*node, "parameters." + key, faults);
  const Seconds median(fields.required_number("median", kLeastSeconds, kMostSeconds));
  fields.required_number("log_sd", 0, kLogSdMost);
  fields.required_text("source");
  const std::string unit = fields.required_text("unit");
  if (!unit.empty() && unit != "s") {
    fields.fault("unit", "\"" + printable(unit, 40) + "\" is not the unit of this parameter",
                 "write the value in \"s\"");
  }
  fields.ignore({"note"});
  fields.finish();
  return median;
}

}  // namespace

planner::MeasuringTimes measuring_from(const Node& node, const planner::Reliability& reliability) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  check_schema(map);
  map.ignore({"name", "description", "network", "machine"});
  planner::MeasuringTimes times;
  times.start = Seconds(reliability[planner::ReliabilityParameter::restart]);
  const Node* parameters = map.raw("parameters");
  if (parameters == nullptr) {
    map.fault("parameters", "this key is missing", "add compile and nccom_test");
  } else {
    MapReader fields(*parameters, "parameters", faults);
    times.compile = time_from(fields, "compile", faults);
    times.nccom_test = time_from(fields, "nccom_test", faults);
    fields.finish();
  }
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return times;
}

NetworkSpreads network_spreads_from(const Node& node) {
  std::vector<Diagnostic> faults;
  NetworkSpreads spreads;
  MapReader map(node, "", faults);
  if (const Node* network = map.raw("network")) {
    MapReader fields(*network, "network", faults);
    spreads.repeat = value_from(fields, "repeat", "1", kSpreads, {"note"}, faults).median;
    spreads.per_doubling = value_from(fields, "per_doubling", "1", kSpreads, {"note"}, faults).median;
    fields.finish();
  } else {
    map.fault("network", "this key is missing", "add repeat and per_doubling");
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return spreads;
}

calibrate::MachineSpreads machine_spreads_from(const Node& node) {
  const NetworkSpreads network = network_spreads_from(node);
  std::vector<Diagnostic> faults;
  calibrate::MachineSpreads spreads;
  spreads.table = network.repeat;
  spreads.between_nodes = network.per_doubling;
  MapReader map(node, "", faults);
  if (const Node* machine = map.raw("machine")) {
    MapReader fields(*machine, "machine", faults);
    const auto value = [&](const std::string& key) {
      return value_from(fields, key, "1", kSpreads, {"note"}, faults);
    };
    spreads.machine = value("between_machines").median;
    spreads.kernel = value("kernel").median;
    spreads.collective = value("collective").median;
    spreads.repeat = value("repeat").median;
    for (const std::string_view schema : models::schema_names())
      spreads.alone.emplace(schema, value("alone_" + std::string(schema)));
    fields.finish();
  } else {
    map.fault("machine", "this key is missing", "add the spreads of kernels and collectives");
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return spreads;
}

}  // namespace trnplan::io
