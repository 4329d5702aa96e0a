#include "io/catalog/scoring.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/catalog/architecture_reader.h"
#include "io/format/schema_version.h"

namespace trnplan::io {

namespace {

constexpr std::string_view kColumns[] = {"source",   "model",     "task",     "gpu",
                                         "sharding", "recompute", "precision"};
constexpr std::size_t kMostFaults = 50;

std::optional<bool> stated(MapReader& fields, const char* key) {
  if (!fields.has(key)) return std::nullopt;
  return fields.boolean(key, false);
}

calibrate::LayoutRule rule_from(MapReader& fields) {
  calibrate::LayoutRule r;
  r.column = fields.required_text("column");
  if (!r.column.empty() &&
      std::find(std::begin(kColumns), std::end(kColumns), r.column) == std::end(kColumns))
    fields.fault("column", in_quotes(r.column) + " is no column that rules are for",
                 "write source, model, gpu, sharding, recompute or precision");
  r.text = fields.text("text", "");
  r.source = fields.text("source", "");
  r.keys = fields.text("keys", "");
  r.refused = fields.text("refused", "");
  r.instance = fields.text("instance", "");
  if (const Node* network = fields.raw("network")) r.network = architecture_from(*network);
  r.biases = stated(fields, "biases");
  r.learned_positions = stated(fields, "learned_positions");
  r.tied = stated(fields, "tied");
  if (fields.has("tied_below")) r.tied_below = fields.whole("tied_below", 1, 1, model_limits.intermediate);
  r.mlp = fields.text("mlp", "");
  const std::string memory = fields.text("memory", "");
  r.memory_allocated = memory == "allocated";
  if (!memory.empty() && !r.memory_allocated)
    fields.fault("memory", in_quotes(memory) + " is no kind of memory", "write allocated, or leave it out");
  r.vocabulary = fields.whole("vocabulary", 0, 1, model_limits.vocabulary);
  r.vocabulary_multiple = fields.whole("vocabulary_multiple", 1, 1, model_limits.vocabulary);
  const int said = (r.keys.empty() ? 0 : 1) + (r.refused.empty() ? 0 : 1) + (r.instance.empty() ? 0 : 1) +
                   (r.network ? 1 : 0);
  if (said != 1)
    fields.fault("column", "the rule says " + std::string(said == 0 ? "nothing" : "two things at once"),
                 "give keys, an instance, a network or why such rows are refused");
  if (r.network && r.column != "model")
    fields.fault("network", "only models have one", "write it beside column model");
  if (r.column == "gpu" && !r.keys.empty())
    fields.fault("keys", "GPUs stand on a machine", "give instance or refused");
  return r;
}

}  // namespace

calibrate::LayoutRules scoring_from(const Node& node) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  check_schema(map);
  map.ignore({"description"});
  calibrate::LayoutRules out;
  out.name = node.at.file.substr(node.at.file.find_last_of('/') + 1);
  if (const Node* list = map.raw("rules"); list != nullptr && list->kind == Node::Kind::sequence) {
    for (std::size_t i = 0; i < list->items.size() && faults.size() < kMostFaults; ++i) {
      MapReader fields(list->items[i], "rules[" + std::to_string(i) + "]", faults);
      out.rules.push_back(rule_from(fields));
      fields.required_text("why");
      fields.finish();
    }
  } else {
    map.fault("rules", "a list was expected", "write [...]");
  }
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return out;
}

}  // namespace trnplan::io
