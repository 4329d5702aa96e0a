#include "io/input/strategy_text.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/input/framework_names.h"
#include "models/framework/framework.h"
#include "models/framework/strategy_keys.h"
#include "planner/plan/space.h"
#include "text/diagnostic.h"
#include "text/parse.h"

namespace trnplan::io {

using models::Job;
using models::Strategy;

namespace {

using models::StrategyKey;

constexpr std::string_view kLoop = "framework";

/// The chunks of a schedule that has virtual stages, and as many always.
std::optional<int> only_chunks(models::Schedule s) {
  const auto [least, most] = models::chunks_of(s);
  return least > 1 && least == most ? std::optional(least) : std::nullopt;
}

/// First part that is not a number.
std::string wrong_cut(const std::string& cuts) {
  for (std::size_t from = 0, to = 0; to != std::string::npos; from = to + 1) {
    to = cuts.find('/', from);
    std::string cut = cuts.substr(from, to - from);
    if (!parse_whole(cut)) return cut;
  }
  return cuts;
}

class StrategyParser {
 public:
  explicit StrategyParser(Job job) : job_(std::move(job)) {}

  Strategy parse(const std::string& text) {
    job_.pin.schedule.reset();  // that of the job is left to the degrees
    if (text.empty())
      fault("", "the strategy is empty", "write for example tp=8,pp=1,recompute=CoreAttention+LlamaMLP");
    else
      models::read_pairs(text, job_.pin, seen_, [&](const models::WrongPair& pair) { refuse(pair); });
    if (seen_.contains("zero1") && seen_.contains("shard"))
      fault("shard", "repeats zero1", "keep one of them");
    if (!faults_.empty()) throw InputError(std::move(faults_));
    const std::optional<models::Schedule> schedule = std::exchange(job_.pin.schedule, std::nullopt);
    if (schedule && !job_.pin.virtual_pipeline) job_.pin.virtual_pipeline = only_chunks(*schedule);
    Strategy s = planner::default_strategy(job_);
    if (const std::string problem = models::sharding_problem(models::framework_of(s), models::canonical(s));
        !problem.empty())
      throw InputError({{"--strategy", 0, 0},
                        job_.pin.shard_degree ? "shard_degree" : "shard",
                        problem,
                        "leave it out, or name a framework that has it: framework=fsdp"});
    check_ranks(s);
    if (schedule) set_schedule(s, *schedule, {"--strategy", 0, 0}, "schedule");
    return models::canonical(s);
  }

 private:
  void fault(std::string_view key, std::string problem, std::string fix) {
    faults_.push_back({{"--strategy", 0, 0}, std::string(key), std::move(problem), std::move(fix)});
  }

  void refuse(const models::WrongPair& pair) {
    const std::string name(pair.name);
    switch (pair.why) {
      case models::WrongPair::Why::no_value:
        return fault(name, "no value", "write key=value, for example tp=8");
      case models::WrongPair::Why::no_key:
        return fault(pair.part, "no key", "write key=value, for example tp=8");
      case models::WrongPair::Why::twice:
        return fault(name, "given twice", "keep one of them");
      case models::WrongPair::Why::unknown:
        return unknown(name);
      case models::WrongPair::Why::value:
        return no_value(*pair.key, std::string(pair.value));
    }
  }

  void no_value(const StrategyKey& key, const std::string& value) {
    switch (key.kind) {
      case StrategyKey::Kind::whole: {
        const std::string example = fmt::format("write for example {}={}", key.brief, std::min(8, key.most));
        if (const auto number = parse_whole(value); number && *number > key.most)
          return fault(key.brief, fmt::format("{} is above {}", value, key.most), example);
        return fault(key.brief, fmt::format("\"{}\" is not a whole number of at least 1", printable(value)),
                     example);
      }
      case StrategyKey::Kind::flag:
        return fault(key.brief, fmt::format("\"{}\" is neither true nor false", printable(value)),
                     fmt::format("write {0}=true or {0}=false", key.brief));
      case StrategyKey::Kind::cuts:
        return fault(key.brief, fmt::format("\"{}\" is not a layer number", printable(wrong_cut(value))),
                     "write for example cuts=18/39/60");
      case StrategyKey::Kind::word:
      case StrategyKey::Kind::loop:
        return no_word(key, value);
    }
  }

  void no_word(const StrategyKey& key, const std::string& value) {
    fault(key.brief, fmt::format("\"{}\" is not a {}", printable(value), key.noun),
          key.kind == StrategyKey::Kind::loop ? loop_fix(value) : fmt::format("write {}", key.words));
  }

  void unknown(const std::string& name) {
    std::vector<std::string> open;
    std::string all = "known keys:";
    for (const StrategyKey& key : models::strategy_keys()) {
      all += fmt::format(" {}", key.brief);
      if (!seen_.contains(std::string(key.brief))) open.emplace_back(key.brief);
    }
    const std::string near = nearest(name, open);
    fault(name, "unknown key", near.empty() ? all : "did you mean " + near + "?");
  }

  void check_ranks(const Strategy& s) const {
    const std::int64_t model = s.model_parallel();
    const std::int64_t ranks = saturating_product({model, s.data_parallel});
    const int cores = job_.cluster.cores();
    if (ranks == cores) return;
    const std::string_view device = topology::device_word(job_.cluster.instance.traits.accelerator);
    throw InputError(
        {{"--strategy", 0, 0},
         "dp",
         fmt::format("tp {} x pp {} x cp {} x dp {} is {} ranks, the cluster has {} {}s", s.tensor_parallel,
                     s.pipeline_parallel, s.context_parallel, s.data_parallel, ranks, cores, device),
         cores % model == 0
             ? fmt::format("leave dp out, or write dp={}", cores / model)
             : fmt::format("choose tp, pp and cp whose product divides the number of {}s", device)});
  }

  Job job_;
  std::set<std::string, std::less<>> seen_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

bool states_loop(const std::string& strategy) {
  const std::string key = std::string(kLoop) + "=";
  return strategy.starts_with(key) || strategy.find("," + key) != std::string::npos;
}

void set_schedule(Strategy& s, models::Schedule schedule, const SourcePos& place, const char* key) {
  const std::string_view name = models::to_string(schedule);
  s.schedule = schedule;
  const auto refuse = [&](std::string problem, const char* fix) {
    throw InputError({place, key, std::move(problem), fix});
  };
  if (s.pipeline_parallel == 1 && schedule != models::Schedule::one_f_one_b)
    refuse(fmt::format("{} is an order of pipeline stages, but there is only one stage", name),
           "choose pp=2 or more, or leave the schedule out");
  const models::ChunkCounts chunks = models::chunks_of(schedule);
  if (chunks.has(s.virtual_pipeline)) return;
  if (models::effective_schedule(s) != schedule)
    refuse(s.virtual_pipeline > 1 ? "with virtual stages the schedule is interleaved"
                                  : "interleaved needs virtual stages",
           "choose another vpp, or leave the schedule out");
  throw InputError(
      {place, key, models::schedule_of(s).obstacle(models::shape_of(s)),
       fmt::format("choose vpp={}, or leave the schedule out", chunks.nearest(s.virtual_pipeline))});
}

Strategy parse_strategy(const std::string& text, Job job) {
  return StrategyParser(std::move(job)).parse(text);
}

Strategy strategy_there(const std::string& text, const Job& job) {
  Strategy s = parse_strategy(text, job);
  if (!states_loop(text)) return s;
  auto wrong = loop_fault(s.framework, job.cluster.instance, {"--strategy", 0, 0}, std::string(kLoop));
  if (wrong) throw InputError(*std::move(wrong));
  return s;
}

}  // namespace trnplan::io
