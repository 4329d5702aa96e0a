#include "io/format/stored_strategy.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "io/format/json_tree.h"
#include "models/framework/framework.h"
#include "models/framework/strategy_keys.h"
#include "text/parse.h"

namespace trnplan::io {

using models::StrategyKey;
using Stored = models::StrategyKey::Stored;

namespace {

constexpr int kMost = std::numeric_limits<int>::max();

std::vector<int> whole_list(MapReader& map, std::string_view key) {
  std::vector<int> numbers;
  const Node* list = map.raw(key);
  if (list == nullptr || list->is_null()) return numbers;
  bool sound = list->kind == Node::Kind::sequence;
  for (const Node& item : list->items) {
    const std::optional<int> number = whole_of(item);
    sound = sound && number;
    numbers.push_back(number.value_or(0));
  }
  if (sound) return numbers;
  map.fault(key, "contains something that is not a whole number",
            "list the last layer of each stage except the last");
  return {};
}

/// Reads a required boolean, without which a strategy would silently be another one.
bool required_boolean(MapReader& map, std::string_view key) {
  if (!map.has(key)) map.fault(key, "this key is missing", "keep what plan wrote: true or false");
  return map.boolean(key, false);
}

/// Reads what describe() once wrote, piece by piece.
class Prose {
 public:
  explicit Prose(std::string_view text) : rest_(text) {}

  bool take(std::string_view words) {
    if (!rest_.starts_with(words)) return false;
    rest_.remove_prefix(words.size());
    return true;
  }
  /// Takes a number of at least `least` after `words`; else takes nothing.
  bool take(std::string_view words, int& number, int least = 1) {
    const std::string_view before = rest_;
    if (take(words) && (number = whole()) >= least) return true;
    rest_ = before;
    return false;
  }
  /// The same, but the words may be missing.
  bool maybe(std::string_view words, int& number) { return !rest_.starts_with(words) || take(words, number); }
  std::string_view word() {
    const std::string_view found = rest_.substr(0, rest_.find(','));
    rest_.remove_prefix(found.size());
    return found;
  }
  bool ended() const { return rest_.empty(); }

 private:
  int whole() {
    const std::size_t end = rest_.find_first_not_of("0123456789");
    const auto number = parse_whole(std::string(rest_.substr(0, end)));
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
    return number.value_or(-1);
  }

  std::string_view rest_;
};

}  // namespace

Json strategy_tree(const models::Strategy& strategy, Known known) {
  Json j = Json::object();
  for (const StrategyKey& key : models::strategy_keys()) {
    if (known == Known::layout && key.stored != Stored::always) continue;
    j[std::string(key.name)] =
        std::visit([](const auto& value) { return Json(value); }, key.stated(strategy));
  }
  return j;
}

std::string strategy_json(const models::Strategy& strategy, Known known) {
  return strategy_tree(strategy, known).dump();
}

Known known_of(const MapReader& map) {
  const auto keys = models::strategy_keys();
  const bool more = std::any_of(keys.begin(), keys.end(), [&](const StrategyKey& key) {
    return key.stored == Stored::whole && map.has(key.name);
  });
  return more ? Known::whole : Known::layout;
}

namespace {

/// The value of a key; nullopt with a fault.
std::optional<models::StrategyValue> read_value(MapReader& map, const StrategyKey& key) {
  switch (key.kind) {
    case StrategyKey::Kind::whole:
      return map.required_whole(key.name, 1, kMost);
    case StrategyKey::Kind::flag:
      return required_boolean(map, key.name);
    case StrategyKey::Kind::cuts:
      return whole_list(map, key.name);
    case StrategyKey::Kind::word:
    case StrategyKey::Kind::loop:
      break;
  }
  const std::string word = map.required_text(key.name);
  if (word.empty()) return std::nullopt;
  return word;
}

/// Sets values that follow from other keys if they are not stated, and records faults where they contradict
/// them.
void settle(MapReader& map, const models::Pin& stated, models::Strategy& s) {
  const auto refuse = [&](const char* key, const char* problem) {
    map.fault(key, problem, "keep what plan wrote");
  };
  if (!stated.schedule) s.schedule = models::effective_schedule(s);
  if (models::effective_schedule(s) != s.schedule) refuse("schedule", "does not exist in this pipeline");
  if (map.has("sharding") && stated.sharding.has_value() != s.zero1) refuse("sharding", "contradicts zero1");
  // What the loop does by itself is left to it.
  models::Strategy by_loop = s;
  by_loop.expert_tensor_parallel = 0;
  if (models::expert_tensor_degree(by_loop) == models::expert_tensor_degree(s)) s = by_loop;
  if (!stated.shard_degree) return;
  const models::Strategy grouped = s;
  s.shard_ranks = 0;
  if (*stated.shard_degree == models::shard_degree(s)) return;
  if (s.zero1 && models::sharding_problem(models::framework_of(s), grouped).empty())
    s.shard_ranks = *stated.shard_degree;
  else
    refuse("shard_degree", "contradicts the data- and context-parallel degree");
}

}  // namespace

models::Strategy strategy_from(MapReader& map, Known known) {
  models::Pin stated;
  for (const StrategyKey& key : models::strategy_keys()) {
    if (known == Known::layout && key.stored == Stored::whole) continue;
    // Buckets were always NxD's own before they were stored.
    const bool may_lack = key.stored == Stored::newer || key.name == "bucket_mb";
    if (may_lack && !map.has(key.name)) continue;
    const std::optional<bool> zero1 = stated.zero1;
    const auto value = read_value(map, key);
    if (value && !key.pin(stated, *value))
      map.fault(key.name, "is not known to this trnplan", "keep what plan wrote");
    if (zero1) stated.zero1 = zero1;  // a sharding must not contradict it
  }
  models::Strategy s;
  models::apply_pins(stated, s);
  settle(map, stated, s);
  return s;
}

std::optional<models::Strategy> strategy_of_prose(std::string_view text) {
  Prose prose(text);
  models::Strategy s;
  if (!prose.take("TP ", s.tensor_parallel) || !prose.take(" x PP ", s.pipeline_parallel) ||
      !prose.take(" x DP ", s.data_parallel) || !prose.maybe(" x CP ", s.context_parallel) ||
      !prose.maybe(" x EP ", s.expert_parallel) || !prose.maybe(", VPP ", s.virtual_pipeline) ||
      !prose.maybe(", ETP ", s.expert_tensor_parallel) || !prose.take(", micro-batch ", s.micro_batch)) {
    return std::nullopt;
  }
  s.sequence_parallel = prose.take(", SP");
  if (!s.sequence_parallel) prose.take(", no SP");
  s.zero1 = !prose.take(", no ZeRO-1");
  if (!prose.take(", recompute ")) return std::nullopt;
  const auto recompute = models::recompute_from(prose.word());
  if (!recompute) return std::nullopt;
  s.recompute = *recompute;
  int cut = 0;
  for (const char* before = ", cuts "; prose.take(before, cut, 0); before = "/")
    s.pipeline_cuts.push_back(cut);
  if (!prose.ended()) return std::nullopt;
  s.schedule = models::effective_schedule(s);
  return s;
}

}  // namespace trnplan::io
