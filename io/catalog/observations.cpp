#include "io/catalog/observations.h"

#include <algorithm>
#include <tuple>

#include "io/format/json_tree.h"
#include "io/format/stored_strategy.h"

namespace trnplan::io {

namespace {

using planner::Observation;

constexpr std::size_t kMostEntries = 10'000, kMostRanks = 100'000;
constexpr int kMostRank = 1 << 20, kMostStatedSequence = 1 << 30, kMostLine = 1 << 30;
constexpr double kMostBytes = 0x1p50, kMostParameters = 1e15;

/// Whole numbers, ascending, each once.
std::vector<int> numbers_of(MapReader& map, std::string_view key) {
  std::vector<int> numbers;
  const Node* node = map.raw(key);
  bool sound = node != nullptr && node->kind == Node::Kind::sequence && !node->items.empty() &&
               node->items.size() <= kMostRanks;
  if (sound) {
    for (const Node& item : node->items) {
      const auto number = whole_of(item);
      sound = sound && number && *number <= kMostRank && (numbers.empty() || numbers.back() < *number);
      if (number) numbers.push_back(*number);
    }
  }
  if (!sound)
    map.fault(key, "is not a list of whole numbers in ascending order", "write for example [1, 17]");
  return numbers;
}

bool one_of(MapReader& map, std::string_view key, const std::string& text,
            std::initializer_list<std::string_view> words) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return true;
  std::string list;
  for (const std::string_view word : words) list += (list.empty() ? "" : ", ") + std::string(word);
  map.fault(key, "\"" + printable(text, 40) + "\" is not one of " + list, "write one of them");
  return false;
}

/// Reads an object, or the text of older versions, which says less.
void read_strategy(MapReader& map, Observation& e, std::vector<Diagnostic>& faults) {
  const Node* node = map.raw("strategy");
  if (node == nullptr || node->kind != Node::Kind::scalar) {
    if (node == nullptr || !node->is_map())
      return map.fault("strategy", "there is no strategy", "write the object that plan --format json prints");
    MapReader strategy(*node, "evidence.strategy", faults);
    const Known known = known_of(strategy);
    e.strategy_whole = known == Known::whole;
    e.strategy = strategy_from(strategy, known);
    strategy.finish();
    return;
  }
  const auto known = strategy_of_prose(node->scalar);
  if (!known)
    return map.fault("strategy", "\"" + printable(node->scalar, 100) + "\" does not describe a strategy",
                     "remove this entry, or record the log again");
  e.strategy = *known;
  e.strategy_whole = false;
}

Observation one_from(const Node& node, std::vector<Diagnostic>& faults) {
  MapReader map(node, "evidence", faults);
  Observation e;
  e.rule = map.required_text("rule");
  const std::string verdict = map.required_text("verdict");
  one_of(map, "verdict", verdict, {"accepted", "refused"});
  e.accepted = verdict == "accepted";
  e.instance = map.required_text("instance");
  if (e.rule == "memory") {
    e.model = map.required_text("model");
    if (map.has("parameters"))
      e.parameters = static_cast<std::int64_t>(map.number("parameters", 0, 1, kMostParameters));
    read_strategy(map, e, faults);
    e.sequence = map.required_whole("sequence", 1, kMostStatedSequence);
    e.nodes = map.whole("nodes", 1, 1, topology::kMostNodes);
    e.bytes = map.number("bytes", 0, 0, kMostBytes);
  } else if (one_of(map, "rule", e.rule, {"replica-group", "memory"})) {
    e.kind = map.text("kind", "");
    if (!e.kind.empty()) one_of(map, "kind", e.kind, {"tp", "pp", "dp", "cp", "kv"});
    e.ranks = numbers_of(map, "ranks");
    e.chips = numbers_of(map, "chips");
    e.nodes = map.required_whole("nodes", 1, topology::kMostNodes);
  }
  e.file = map.required_text("file");
  e.sha256 = map.required_text("sha256");
  const bool hash =
      e.sha256.size() == 64 && e.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hash && map.has("sha256"))
    map.fault("sha256", "is not a SHA-256", "write its 64 hexadecimal digits, or record the log again");
  e.line = map.whole("line", 0, 0, kMostLine);
  map.finish();
  return e;
}

Json object_of(const Observation& e) {
  Json j = {{"rule", e.rule}, {"verdict", e.accepted ? "accepted" : "refused"}, {"instance", e.instance}};
  if (e.rule == "memory") {
    j["model"] = e.model;
    if (e.parameters > 0) j["parameters"] = e.parameters;
    j["strategy"] = strategy_tree(e.strategy, e.strategy_whole ? Known::whole : Known::layout);
    j["sequence"] = e.sequence;
    if (e.nodes > 1) j["nodes"] = e.nodes;
    if (e.bytes > 0) j["bytes"] = e.bytes;
  } else {
    if (!e.kind.empty()) j["kind"] = e.kind;
    j["ranks"] = e.ranks;
    j["chips"] = e.chips;
    j["nodes"] = e.nodes;
  }
  j["file"] = e.file;
  j["sha256"] = e.sha256;
  if (e.line > 0) j["line"] = e.line;
  return j;
}

bool before(const Observation& a, const Observation& b) {
  const auto key = [](const Observation& e) {
    return std::tie(e.rule, e.instance, e.model, e.parameters, e.strategy, e.strategy_whole, e.sequence,
                    e.nodes, e.kind, e.ranks, e.chips, e.accepted, e.file, e.line);
  };
  return key(a) < key(b);
}

}  // namespace

std::vector<Observation> observations_from(const Node& node, std::vector<Diagnostic>& faults) {
  std::vector<Observation> all;
  if (node.is_null()) return all;
  if (node.kind != Node::Kind::sequence || node.items.size() > kMostEntries) {
    faults.push_back({node.at, "evidence", "is not a list of at most 10000 observations",
                      "remove it; trnplan watch --record writes it again"});
    return all;
  }
  for (const Node& item : node.items) {
    const std::size_t before_it = faults.size();
    Observation e = one_from(item, faults);
    if (faults.size() == before_it) all.push_back(std::move(e));
  }
  return all;
}

std::vector<Observation> read_observations(const std::filesystem::path& profile) {
  const Node root = read_document(profile);
  std::vector<Diagnostic> faults;
  const Node* list = root.find("evidence");
  std::vector<Observation> all =
      list == nullptr ? std::vector<Observation>() : observations_from(*list, faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  return all;
}

std::string with_observations(const std::string& text, const std::vector<Observation>& added) {
  std::vector<Diagnostic> faults;
  const Node root = parse_document(text, "profile.json");
  const Node* list = root.find("evidence");
  std::vector<Observation> all =
      list == nullptr ? std::vector<Observation>() : observations_from(*list, faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  for (const Observation& e : added) {
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const Observation& o) { return same_case(o, e); });
    if (it == all.end())
      all.push_back(e);
    else if (e.strategy_whole || !it->strategy_whole)
      *it = e;
  }
  std::stable_sort(all.begin(), all.end(), before);
  Json j = Json::parse(text);
  j["evidence"] = Json::array();
  for (const Observation& e : all) j["evidence"].push_back(object_of(e));
  return profile_text(j);
}

std::string profile_on(const std::string& base, const std::string& name) {
  const Json j = {{"name", name},
                  {"base", base},
                  {"description", "The profile on which it is based, with what runs have shown."},
                  {"parameters", Json::object()}};
  return profile_text(j);
}

}  // namespace trnplan::io
