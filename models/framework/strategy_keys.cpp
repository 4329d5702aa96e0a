#include "models/framework/strategy_keys.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/framework/framework.h"
#include "models/job/limits.h"
#include "text/parse.h"

namespace trnplan::models {

namespace {

using Key = StrategyKey;

template <auto Member>
StrategyValue stated(const Strategy& s) {
  return s.*Member;
}
template <auto Member>
StrategyValue word_of(const Strategy& s) {
  return std::string(to_string(s.*Member));
}
template <auto Fixed, class T>
bool pin(Pin& p, const StrategyValue& value) {
  p.*Fixed = std::get<T>(value);
  return true;
}
/// A word that `read` knows.
template <auto Fixed, auto Read>
bool pin_word(Pin& p, const StrategyValue& value) {
  const auto known = Read(std::get<std::string>(value));
  if (known) p.*Fixed = *known;
  return known.has_value();
}
template <auto Fixed, auto Member>
void apply(const Pin& p, Strategy& s) {
  if (p.*Fixed) s.*Member = *(p.*Fixed);
}

/// More gave NaN (aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py).
constexpr int kLargestBucket = 140;

template <auto Member, auto Fixed>
Key whole(std::string_view name, std::string_view brief, Key::Default without, std::string_view says,
          Key::Stored stored = Key::Stored::always, int most = run_limits.ranks) {
  return {name,
          brief,
          Key::Kind::whole,
          {},
          {},
          most,
          Key::Pinned::by_job,
          without,
          stored,
          std::string(says),
          &stated<Member>,
          &pin<Fixed, int>,
          &apply<Fixed, Member>};
}
template <auto Member, auto Fixed>
Key flag(std::string_view name, std::string_view brief, Key::Default without, Key::Stored stored,
         std::string_view says) {
  return {name,
          brief,
          Key::Kind::flag,
          {},
          {},
          0,
          Key::Pinned::by_job,
          without,
          stored,
          std::string(says),
          &stated<Member>,
          &pin<Fixed, bool>,
          &apply<Fixed, Member>};
}

/// A whole number that stands for `Meant` of the strategy where nothing is said.
template <auto Member, auto Fixed, auto Meant>
Key meant(std::string_view name, std::string_view brief, std::string_view says) {
  Key key = whole<Member, Fixed>(name, brief, Key::Default::own, says, Key::Stored::newer);
  key.stated = [](const Strategy& s) -> StrategyValue { return Meant(s); };
  return key;
}

bool pin_sharding(Pin& p, const StrategyValue& value) {
  const std::string& word = std::get<std::string>(value);
  const auto known = sharding_from(word);
  if (!known && word != "none") return false;
  p.zero1 = known.has_value();
  p.sharding = known;
  return true;
}

bool pin_framework(Pin& p, const StrategyValue& value) {
  const std::string& word = std::get<std::string>(value);
  const std::vector<std::string_view> known = framework_names();
  if (std::find(known.begin(), known.end(), word) == known.end()) return false;
  p.framework = stated_framework(word);
  return true;
}

Key bucket() {
  Key key =
      whole<&Strategy::bucket_mb, &Pin::bucket_mb>("bucket_mb", "bucket", Key::Default::degrees,
                                                   "cap of ZeRO-1's buckets as NxD counts them (environment "
                                                   "variable ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB)",
                                                   Key::Stored::whole, kLargestBucket);
  key.pinned = Key::Pinned::by_strategy;
  return key;
}

const Key kKeys[] = {
    whole<&Strategy::tensor_parallel, &Pin::tensor_parallel>("tensor_parallel", "tp", Key::Default::own,
                                                             "ranks that share each layer's weights"),
    whole<&Strategy::pipeline_parallel, &Pin::pipeline_parallel>(
        "pipeline_parallel", "pp", Key::Default::nothing, "stages, each with some of the layers"),
    whole<&Strategy::virtual_pipeline, &Pin::virtual_pipeline>(
        "virtual_pipeline", "vpp", Key::Default::nothing, "chunks of layers that a stage holds"),
    whole<&Strategy::context_parallel, &Pin::context_parallel>(
        "context_parallel", "cp", Key::Default::nothing, "ranks that share each sequence"),
    whole<&Strategy::expert_parallel, &Pin::expert_parallel>("expert_parallel", "ep", Key::Default::degrees,
                                                             "ranks of DP and CP that share the experts"),
    meant<&Strategy::expert_tensor_parallel, &Pin::expert_tensor_parallel, &expert_tensor_degree>(
        "expert_tensor_parallel", "etp",
        "ranks of TP that share each expert's weights: those of TP, or 1, with which EP takes ranks of TP too"),
    whole<&Strategy::data_parallel, &Pin::data_parallel>("data_parallel", "dp", Key::Default::degrees,
                                                         "copies of the model that see different sequences"),
    whole<&Strategy::micro_batch, &Pin::micro_batch>("micro_batch", "mbs", Key::Default::degrees,
                                                     "sequences of a pass and data-parallel rank"),
    flag<&Strategy::sequence_parallel, &Pin::sequence_parallel>(
        "sequence_parallel", "sp", Key::Default::degrees, Key::Stored::always,
        "activations between layers are shared over TP"),
    flag<&Strategy::zero1, &Pin::zero1>("zero1", "zero1", Key::Default::own, Key::Stored::always,
                                        "the optimizer's state is shared over DP x CP"),
    {"sharding", "shard", Key::Kind::word, "sharding that is modelled",
     "none, or zero1: optimizer states over the data-parallel ranks; with framework=fsdp zero2 or zero3", 0,
     Key::Pinned::by_job, Key::Default::own, Key::Stored::newer,
     "`none`, `zero1`, or for training loops that shard more, `zero2` or `zero3`",
     [](const Strategy& s) -> StrategyValue { return std::string(s.zero1 ? to_string(s.sharding) : "none"); },
     &pin_sharding, &apply<&Pin::sharding, &Strategy::sharding>},
    meant<&Strategy::shard_ranks, &Pin::shard_degree, &shard_degree>(
        "shard_degree", "shard_degree", "ranks that share one copy of what is sharded"),
    flag<&Strategy::flash_attention, &Pin::flash_attention>(
        "flash_attention", "flash", Key::Default::nothing, Key::Stored::whole, "no matrix of scores is kept"),
    whole<&Strategy::kv_replicator, &Pin::kv_replicator>(
        "kv_replicator", "kv", Key::Default::degrees, "copies of each KV head where TP is above their number",
        Key::Stored::whole),
    bucket(),
    {"recompute", "recompute", Key::Kind::word, "recompute policy",
     "none, full, full/2 for every second layer, SelectiveOp, or classes joined by +: CoreAttention, "
     "LlamaMLP, LlamaRMSNorm, "
     "ActivationMultiplyMLP",
     0, Key::Pinned::by_job, Key::Default::degrees, Key::Stored::always,
     "`none`, `full`, `full/2` of every second layer, `SelectiveOp` (all but attention and every second "
     "product), or classes "
     "joined by `+`",
     &word_of<&Strategy::recompute>, &pin_word<&Pin::recompute, &recompute_from>,
     &apply<&Pin::recompute, &Strategy::recompute>},
    {"precision", "precision", Key::Kind::word, "precision", precision_words(), 0, Key::Pinned::by_strategy,
     Key::Default::degrees, Key::Stored::whole, "that of the job, or the one that `any` chose",
     &word_of<&Strategy::precision>, &pin_word<&Pin::precision, &precision_from>,
     &apply<&Pin::precision, &Strategy::precision>},
    {"schedule", "schedule", Key::Kind::word, "pipeline schedule",
     fmt::format("{}", fmt::join(kScheduleNames, ", ")), 0, Key::Pinned::by_job, Key::Default::degrees,
     Key::Stored::newer,
     fmt::format("the order in which stages compute: `{}`", fmt::join(kScheduleNames, "`, `")),
     [](const Strategy& s) -> StrategyValue { return std::string(to_string(effective_schedule(s))); },
     &pin_word<&Pin::schedule, &schedule_from>, &apply<&Pin::schedule, &Strategy::schedule>},
    {"framework",
     "framework",
     Key::Kind::loop,
     "framework that is modelled",
     {},
     0,
     Key::Pinned::by_job,
     Key::Default::own,
     Key::Stored::newer,
     "the training loop",
     [](const Strategy& s) -> StrategyValue { return std::string(framework_of(s).name()); },
     &pin_framework,
     &apply<&Pin::framework, &Strategy::framework>},
    {"pipeline_cuts",
     "cuts",
     Key::Kind::cuts,
     {},
     {},
     0,
     Key::Pinned::by_strategy,
     Key::Default::degrees,
     Key::Stored::always,
     "the last layer of each stage except the last; empty: equally many in each",
     &stated<&Strategy::pipeline_cuts>,
     &pin<&Pin::pipeline_cuts, std::vector<int>>,
     &apply<&Pin::pipeline_cuts, &Strategy::pipeline_cuts>}};

/// A member that is added to Strategy or Pin does not compile until it is counted here: give it its row above.
[[maybe_unused]] void every_member_has_a_row(const Strategy& s, const Pin& p) {
  [[maybe_unused]] const auto& [tensor, pipeline, virtual_pipeline, context, expert, expert_tensor, data,
                                micro_batch, sequence_parallel, zero1, recompute, flash, kv, precision,
                                bucket, cuts, schedule, framework, sharding, shard_ranks] = s;
  [[maybe_unused]] const auto& [p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17,
                                p18, p19, p20] = p;
  static_assert(std::size(kKeys) == 20);
}

}  // namespace

std::span<const StrategyKey> strategy_keys() {
  return kKeys;
}

const Key* brief_strategy_key(std::string_view brief) {
  const auto* found =
      std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& k) { return k.brief == brief; });
  return found == std::end(kKeys) ? nullptr : found;
}

void apply_pins(const Pin& pin, Strategy& s) {
  for (const StrategyKey& key : kKeys) key.apply(pin, s);
}

std::string text_of(const StrategyValue& value) {
  struct Words {
    std::string operator()(const std::string& word) const { return word; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int number) const { return std::to_string(number); }
    std::string operator()(const std::vector<int>& cuts) const {
      return fmt::format("{}", fmt::join(cuts, "/"));
    }
  };
  return std::visit(Words{}, value);
}

namespace {

std::optional<StrategyValue> value_of(const Key& key, std::string_view text) {
  switch (key.kind) {
    case Key::Kind::whole: {
      const auto number = parse_whole(text);
      if (!number || *number < 1 || *number > key.most) return std::nullopt;
      return *number;
    }
    case Key::Kind::flag:
      if (text != "true" && text != "false") return std::nullopt;
      return text == "true";
    case Key::Kind::cuts: {
      std::vector<int> layers;
      for (std::size_t from = 0, to = 0; to != std::string_view::npos; from = to + 1) {
        to = text.find('/', from);
        const auto layer = parse_whole(text.substr(from, to - from));
        if (!layer) return std::nullopt;
        layers.push_back(*layer);
      }
      return layers;
    }
    case Key::Kind::word:
    case Key::Kind::loop:
      break;
  }
  return std::string(text);
}

}  // namespace

void read_pairs(std::string_view text, Pin& pin, std::set<std::string, std::less<>>& seen,
                const std::function<void(const WrongPair&)>& wrong) {
  for (std::size_t from = 0, to = 0; to != std::string_view::npos; from = to + 1) {
    to = text.find(',', from);
    const std::string_view part = text.substr(from, to - from);
    const std::size_t equals = part.find('=');
    WrongPair pair{WrongPair::Why::no_value, part, part.substr(0, equals), {}, nullptr};
    if (equals == std::string_view::npos) {
      wrong(pair);
      continue;
    }
    pair.value = part.substr(equals + 1);
    pair.key = brief_strategy_key(pair.name);
    if (pair.name.empty()) {
      pair.why = WrongPair::Why::no_key;
    } else if (!seen.emplace(pair.name).second) {
      pair.why = WrongPair::Why::twice;
    } else if (pair.key == nullptr) {
      pair.why = WrongPair::Why::unknown;
    } else if (const auto value = value_of(*pair.key, pair.value); value && pair.key->pin(pin, *value)) {
      continue;
    } else {
      pair.why = WrongPair::Why::value;
    }
    wrong(pair);
  }
}

}  // namespace trnplan::models
