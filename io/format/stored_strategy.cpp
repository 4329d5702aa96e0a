#include "io/format/stored_strategy.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "io/format/json_tree.h"
#include "models/framework/framework.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

constexpr const char* kBeyondLayout[] = {"flash_attention", "kv_replicator", "precision", "bucket_mb"};
/// Keys that older files do not have: what they stand for then is what these files knew.
constexpr const char* kNewer[] = {"schedule", "sharding", "shard_degree", "framework"};
constexpr int kMost = std::numeric_limits<int>::max();

std::vector<int> whole_list(MapReader& map, const char* key) {
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
  map.fault(key, "holds something that is no whole number", "list the last layer of each stage but one");
  return {};
}

/// A strategy without it would silently be another one.
bool required_boolean(MapReader& map, const char* key) {
  if (!map.has(key)) map.fault(key, "this key is missing", "take what plan wrote: true or false");
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
  /// A number of at least `least` after `words`; else nothing is taken.
  bool take(std::string_view words, int& number, int least = 1) {
    const std::string_view before = rest_;
    if (take(words) && (number = whole()) >= least) return true;
    rest_ = before;
    return false;
  }
  /// As take(), where the words may be missing.
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
  // A field that is added to Strategy does not compile until it is written here, and read below.
  const auto& [tensor, pipeline, virtual_pipeline, context, expert, data, micro_batch, sequence_parallel,
               zero1, recompute, flash, kv, precision, bucket, cuts, schedule, framework, sharding,
               shard_ranks] = strategy;
  Json j = {{"tensor_parallel", tensor},
            {"pipeline_parallel", pipeline},
            {"virtual_pipeline", virtual_pipeline},
            {"context_parallel", context},
            {"expert_parallel", expert},
            {"data_parallel", data},
            {"micro_batch", micro_batch},
            {"sequence_parallel", sequence_parallel},
            {"zero1", zero1},
            {"recompute", to_string(recompute)},
            {"flash_attention", flash},
            {"kv_replicator", kv},
            {"precision", to_string(precision)},
            {"pipeline_cuts", cuts},
            {"bucket_mb", bucket},
            {"schedule", to_string(settled_schedule(strategy))},
            {"sharding", zero1 ? to_string(sharding) : "none"},
            {"shard_degree", shard_degree(strategy)},
            {"framework", models::framework_of(strategy).name()}};
  (void)schedule, (void)framework, (void)shard_ranks;
  if (known == Known::layout) {
    for (const char* key : kBeyondLayout) j.erase(key);
    for (const char* key : kNewer) j.erase(key);
  }
  return j;
}

std::string strategy_json(const models::Strategy& strategy, Known known) {
  return strategy_tree(strategy, known).dump();
}

Known known_of(const MapReader& map) {
  const bool more = std::any_of(std::begin(kBeyondLayout), std::end(kBeyondLayout),
                                [&](const char* key) { return map.has(key); });
  return more ? Known::whole : Known::layout;
}

namespace {

/// What newer files state besides.
void read_newer(MapReader& map, models::Strategy& s) {
  s.schedule = models::settled_schedule(s);
  if (map.has("schedule")) {
    const auto stated = models::schedule_from(map.text("schedule", ""));
    if (stated) s.schedule = *stated;
    if (!stated || models::settled_schedule(s) != *stated)
      map.fault("schedule", "is none that this pipeline has", "take what plan wrote");
  }
  if (map.has("sharding")) {
    const std::string text = map.text("sharding", "");
    const auto sharding = models::sharding_from(text);
    if (s.zero1 && sharding) s.sharding = *sharding;
    if (text != (s.zero1 ? to_string(s.sharding) : "none"))
      map.fault("sharding", "is not what zero1 says", "take what plan wrote");
  }
  if (map.has("framework")) {
    try {
      s.framework = models::stated_framework(map.text("framework", ""));
    } catch (const std::invalid_argument&) {
      map.fault("framework", "is none that this trnplan knows", "take what plan wrote");
    }
  }
  if (!map.has("shard_degree")) return;
  const int degree = map.whole("shard_degree", 1, 1, kMost);
  if (degree == models::shard_degree(s)) return;
  models::Strategy grouped = s;
  grouped.shard_ranks = degree;
  if (s.zero1 && models::sharding_problem(models::framework_of(s), grouped).empty())
    s.shard_ranks = degree;
  else
    map.fault("shard_degree", "is not what data- and context-parallel degree say", "take what plan wrote");
}

}  // namespace

models::Strategy strategy_from(MapReader& map, Known known) {
  const auto degree = [&](const char* key) { return map.required_whole(key, 1, kMost); };
  models::Strategy strategy;
  auto& [tensor, pipeline, virtual_pipeline, context, expert, data, micro_batch, sequence_parallel, zero1,
         recompute, flash, kv, precision, bucket, cuts, schedule, framework, sharding, shard_ranks] =
      strategy;
  (void)schedule, (void)framework, (void)sharding, (void)shard_ranks;
  tensor = degree("tensor_parallel");
  pipeline = degree("pipeline_parallel");
  virtual_pipeline = degree("virtual_pipeline");
  context = degree("context_parallel");
  expert = degree("expert_parallel");
  data = degree("data_parallel");
  micro_batch = degree("micro_batch");
  sequence_parallel = required_boolean(map, "sequence_parallel");
  zero1 = required_boolean(map, "zero1");
  cuts = whole_list(map, "pipeline_cuts");
  const std::string classes = map.required_text("recompute");
  if (const auto policy = models::recompute_from(classes))
    recompute = *policy;
  else if (!classes.empty())
    map.fault("recompute", "unknown class", "take what plan wrote");
  read_newer(map, strategy);
  if (known == Known::layout) return strategy;
  kv = degree("kv_replicator");
  flash = required_boolean(map, "flash_attention");
  bucket = map.whole("bucket_mb", bucket, 1, kMost);
  const std::string format = map.required_text("precision");
  if (const auto stated = models::precision_from(format))
    precision = *stated;
  else if (!format.empty())
    map.fault("precision", "unknown precision", "take what plan wrote");
  return strategy;
}

std::optional<models::Strategy> strategy_of_prose(std::string_view text) {
  Prose prose(text);
  models::Strategy s;
  if (!prose.take("TP ", s.tensor_parallel) || !prose.take(" x PP ", s.pipeline_parallel) ||
      !prose.take(" x DP ", s.data_parallel) || !prose.maybe(" x CP ", s.context_parallel) ||
      !prose.maybe(" x EP ", s.expert_parallel) || !prose.maybe(", VPP ", s.virtual_pipeline) ||
      !prose.take(", micro-batch ", s.micro_batch)) {
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
  s.schedule = models::settled_schedule(s);
  return s;
}

}  // namespace trnplan::io
