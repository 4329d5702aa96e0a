#include "io/catalog/reliability.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "io/catalog/value_reader.h"
#include "io/format/schema_version.h"
#include "topology/instance.h"

namespace trnplan::io {

namespace {

using planner::ReliabilityParameter;

/// Wide enough for every quantity in its unit, and far from overflow when multiplied.
constexpr double least = 1e-12, most = 1e18, spread_most = 10;

models::Value value_of(MapReader& map, ReliabilityParameter p, std::vector<Diagnostic>& faults) {
  return value_from(map, to_string(p), unit_of(p),
                    {is_share(p) ? 0 : least, is_share(p) ? 1 : most, spread_most, true}, {"note"}, faults);
}

planner::PublishedUptime published_from(const Node& node, const std::string& where,
                                        std::vector<Diagnostic>& faults) {
  constexpr int count_most = 1 << 24;
  MapReader fields(node, where, faults);
  planner::PublishedUptime p;
  p.id = fields.required_text("id");
  p.model = fields.required_text("model");
  p.strategy = fields.required_text("strategy");
  p.instance = fields.required_text("instance");
  p.nodes = fields.required_whole("nodes", 1, topology::kMostNodes);
  p.sequence = fields.required_whole("sequence", 1, count_most);
  p.global_batch = fields.required_whole("global_batch", 1, count_most);
  p.tokens = fields.required_number("tokens", 1, most);
  p.automatic = fields.boolean("automatic", true);
  p.uptime = fields.required_number("uptime", 1e-6, 1 - 1e-6);
  p.source = fields.required_text("source");
  p.note = fields.text("note", "");
  fields.finish();
  return p;
}

}  // namespace

planner::Reliability reliability_from(const Node& node) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  planner::Reliability r;
  r.name = map.required_text("name");
  check_schema(map);
  map.ignore({"description"});
  const Node* parameters = map.raw("parameters");
  if (parameters == nullptr) {
    map.fault("parameters", "this key is missing", "add the parameters; docs/models.md lists them");
  } else {
    MapReader fields(*parameters, "parameters", faults);
    for (std::size_t i = 0; i < planner::kReliabilityParameters; ++i) {
      const auto p = static_cast<ReliabilityParameter>(i);
      if (!may_be_absent(p) || fields.has(to_string(p))) r.values[i] = value_of(fields, p, faults);
    }
    if (!fields.has("storage_per_node") && !fields.has("storage_throughput"))
      fields.fault("storage_per_node", "no rate of the file system is there",
                   "write storage_per_node, or storage_throughput of the whole cluster");
    fields.finish();
  }
  if (const Node* list = map.raw("published"); list != nullptr && !list->is_null()) {
    if (list->kind != Node::Kind::sequence) map.fault("published", "a list was expected", "write [...]");
    for (std::size_t i = 0; i < list->items.size() && faults.size() < 50; ++i)
      r.published.push_back(published_from(list->items[i], "published[" + std::to_string(i) + "]", faults));
  }
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return r;
}

planner::Reliability reliability_or_usual(const std::optional<Node>& node, const Catalog& catalog) {
  planner::Reliability usual = reliability_from(*catalog.document("reliability.json"));
  if (!node) return usual;
  planner::Reliability r = reliability_from(*node);
  const auto spot = ReliabilityParameter::spot_interruption;
  if (!(r[spot] > 0)) r.value(spot) = usual.value(spot);
  return r;
}

}  // namespace trnplan::io
