#include "io/catalog/scoring.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/catalog/architecture_reader.h"
#include "io/format/schema_version.h"
#include "models/framework/strategy_keys.h"

namespace trnplan::io {

namespace {

constexpr std::string_view kColumns[] = {"source",    "model",     "task", "gpu",   "sharding",
                                         "recompute", "precision", "note", "recipe"};
constexpr std::size_t kMostFaults = 50;

std::optional<bool> stated(MapReader& fields, const char* key) {
  if (!fields.has(key)) return std::nullopt;
  return fields.boolean(key, false);
}

/// Refuses what --strategy would, with an example in the place of a number or of words.
void check_keys(MapReader& fields, const calibrate::LayoutRule& rule) {
  std::string keys = rule.keys;
  if (keys.empty()) return;
  const std::pair<std::string_view, const char*> places[] = {{"{n}", "2"}, {"{w}", "mlp"}};
  std::size_t stated = 0;
  for (const auto& [place, example] : places) {
    const std::size_t at = keys.find(place);
    const bool in_text = rule.text.find(place) != std::string::npos;
    stated += in_text ? 1 : 0;
    if (at != std::string::npos && in_text) keys.replace(at, place.size(), example);
  }
  if (stated != static_cast<std::size_t>(std::count(rule.text.begin(), rule.text.end(), '{')))
    fields.fault("text", "more than one {n} or {w}, or another brace", "write one of the two, once");
  models::Pin unused;
  std::set<std::string, std::less<>> seen;
  models::read_pairs(keys, unused, seen, [&](const models::WrongPair& pair) {
    using Why = models::WrongPair::Why;
    if (pair.why == Why::twice)
      fields.fault("keys", in_quotes(pair.name) + " is given twice", "keep one of them");
    else if (pair.key == nullptr)
      fields.fault("keys", in_quotes(pair.name) + " is not a key of a strategy",
                   "write keys of --strategy, for example shard=zero1");
    else
      fields.fault("keys", in_quotes(pair.part) + ": no such value", "write one that --strategy takes");
  });
}

/// What the memory of a source's rows is.
void read_memory(MapReader& fields, calibrate::RowMemory& memory) {
  using models::HeldMemory;
  const std::pair<std::string_view, HeldMemory> kinds[] = {{"device", HeldMemory::device},
                                                           {"reserved", HeldMemory::reserved},
                                                           {"allocated", HeldMemory::allocated}};
  const std::string text = fields.text("memory", "device");
  const auto* kind =
      std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& k) { return k.first == text; });
  memory.known = text != "unknown";
  if (kind != std::end(kinds))
    memory.held = kind->second;
  else if (memory.known)
    fields.fault("memory", in_quotes(text) + " is not a kind of memory",
                 "write device, reserved, allocated or unknown");
  const std::string stage = fields.text("memory_stage", "fullest");
  memory.first_stage = stage == "first";
  if (!memory.first_stage && stage != "fullest")
    fields.fault("memory_stage", in_quotes(stage) + " names no stage", "write fullest or first");
  constexpr double kMostScale = 2;
  memory.scale = fields.number("memory_scale", 1, 1 / kMostScale, kMostScale);
}

calibrate::LayoutRule rule_from(MapReader& fields, std::vector<Diagnostic>& faults) {
  calibrate::LayoutRule r;
  r.column = fields.required_text("column");
  if (!r.column.empty() &&
      std::find(std::begin(kColumns), std::end(kColumns), r.column) == std::end(kColumns))
    fields.fault("column", in_quotes(r.column) + " is not a column that has rules",
                 "write source, model, task, gpu, sharding, recompute, precision, note or recipe");
  r.text = fields.text("text", "");
  r.word = fields.text("word", "");
  const bool of_words = fields.has("word");
  if (of_words && (fields.has("text") || r.word.empty() || r.column == "source" || r.column == "model" ||
                   r.column == "gpu" || r.column == "note" || r.column == "recipe"))
    fields.fault("word", "a rule of one word has no text, and is of another column",
                 "write it instead of text, for task, sharding, recompute or precision");
  r.source = fields.text("source", "");
  r.gpu = fields.text("gpu", "");
  r.keys = fields.text("keys", "");
  check_keys(fields, r);
  r.refused = fields.text("refused", "");
  r.instance = fields.text("instance", "");
  if (const Node* network = fields.raw("network")) {
    r.network.emplace();
    try {
      r.network = architecture_from(*network, true);
    } catch (const InputError& e) {
      faults.insert(faults.end(), e.faults().begin(), e.faults().end());
    }
  }
  r.biases = stated(fields, "biases");
  r.learned_positions = stated(fields, "learned_positions");
  r.tied = stated(fields, "tied");
  if (fields.has("tied_below")) r.tied_below = fields.whole("tied_below", 1, 1, model_limits.intermediate);
  r.mlp = fields.text("mlp", "");
  if (const Node* mlp = fields.raw("mlp");
      mlp != nullptr && mlp->kind == Node::Kind::scalar && r.mlp != "plain" && r.mlp != "gated")
    fields.fault("mlp", in_quotes(r.mlp) + " is not a kind of MLP", "write gated or plain");
  read_memory(fields, r.memory);
  r.vocabulary = fields.whole("vocabulary", 0, 1, model_limits.vocabulary);
  r.vocabulary_multiple = fields.whole("vocabulary_multiple", 1, 1, model_limits.vocabulary);
  const int said = (r.keys.empty() ? 0 : 1) + (r.refused.empty() ? 0 : 1) + (r.instance.empty() ? 0 : 1) +
                   (r.network ? 1 : 0);
  if (said != 1 && !(of_words && said == 0))
    fields.fault("column", "the rule says " + std::string(said == 0 ? "nothing" : "two things at once"),
                 "state keys, an instance, a network or why such rows are refused");
  if (!r.gpu.empty() && r.column != "recipe")
    fields.fault("gpu", "only recipes differ by GPU", "leave it out");
  if (r.column == "recipe" && r.keys.empty() && said == 1)
    fields.fault("column", "a recipe sets keys", "state keys");
  if (r.network && r.column != "model")
    fields.fault("network", "only models have one", "write it together with column model");
  if (r.column == "gpu" && !r.keys.empty())
    fields.fault("keys", "GPUs need a machine", "state instance or refused");
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
      out.rules.push_back(rule_from(fields, faults));
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
