#include "io/catalog/gpu_fits.h"

#include <algorithm>

#include "io/catalog/profile_reader.h"
#include "io/catalog/value_reader.h"
#include "io/format/schema_version.h"
#include "models/schemas/schemas.h"

namespace trnplan::io {

namespace {

void read_sources(MapReader& map, calibrate::GpuFitPlan& plan) {
  const Node* sources = map.raw("sources");
  if (sources == nullptr || sources->entries.empty()) {
    map.fault("sources", "no rows are named", "add parts of the column source with letters of quality");
    return;
  }
  for (const Node::Entry& e : sources->entries) plan.sources.push_back({e.key, e.value.scalar});
}

void read_parameters(MapReader& map, calibrate::GpuFitPlan& plan) {
  const models::ParameterSchema& schema = *models::schema_named("gpu");
  const Node* names = map.raw("parameters");
  if (names == nullptr || names->items.empty()) {
    map.fault("parameters", "no parameter is named", "add parameters of docs/models.md");
    return;
  }
  for (const Node& one : names->items) {
    const std::size_t scope = std::min(one.scalar.find('@'), one.scalar.size());
    const std::string name = one.scalar.substr(0, scope);
    const models::Parameter p = schema.find(name);
    if (!p) {
      map.fault("parameters", "\"" + printable(name, 40) + "\" is not a parameter",
                "docs/models.md lists them");
      continue;
    }
    plan.parameters.push_back({p, scope < one.scalar.size() ? one.scalar.substr(scope + 1) : ""});
  }
}

void read_priors(MapReader& map, calibrate::GpuFitPlan& plan, std::vector<Diagnostic>& faults) {
  constexpr ValueLimits kValues{1e-12, 1e12, kLogSdMost, true};
  const Node* priors = map.raw("priors");
  if (priors == nullptr) return;
  MapReader fields(*priors, "fits.priors", faults);
  for (const models::Parameter p : models::schema_named("gpu")->parameters()) {
    if (!fields.has(models::to_string(p))) continue;
    plan.priors.emplace_back(
        p, value_from(fields, models::to_string(p), models::unit_of(p), kValues, {"note"}, faults));
  }
  fields.finish();
}

}  // namespace

std::vector<calibrate::GpuFitPlan> gpu_fits_from(const Node& node) {
  constexpr int kMostRows = 1'000'000;
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  check_schema(map);
  map.ignore({"description"});
  std::vector<calibrate::GpuFitPlan> all;
  if (const Node* fits = map.raw("fits")) {
    for (const Node& one : fits->items) {
      MapReader fields(one, "fits", faults);
      calibrate::GpuFitPlan& plan = all.emplace_back();
      plan.profile = fields.required_text("profile");
      plan.prior = fields.required_text("prior");
      plan.family = fields.required_text("family");
      plan.most = static_cast<std::size_t>(fields.whole("most_rows_of_a_source", 0, 0, kMostRows));
      read_sources(fields, plan);
      read_parameters(fields, plan);
      read_priors(fields, plan, faults);
      if (const Node* network = fields.raw("network"))
        plan.network = network_state_from(*network, "fits.network", faults);
      fields.ignore({"note"});
      fields.finish();
    }
  } else {
    map.fault("fits", "this key is missing", "add a list of fits");
  }
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return all;
}

}  // namespace trnplan::io
