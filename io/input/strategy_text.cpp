#include "io/input/strategy_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/input/framework_names.h"
#include "models/framework/framework.h"
#include "models/job/limits.h"
#include "planner/plan/space.h"
#include "text/diagnostic.h"
#include "text/parse.h"

namespace trnplan::io {

using models::Job;
using models::Strategy;

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (true) {
    const std::size_t to = text.find(separator, from);
    parts.push_back(text.substr(from, to - from));
    if (to == std::string::npos) return parts;
    from = to + 1;
  }
}

/// More gave NaN (aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py).
constexpr int kLargestBucket = 140;

/// The chunks of a schedule that has virtual stages, and as many always.
std::optional<int> only_chunks(models::Schedule s) {
  const auto [least, most] = models::chunks_of(s);
  return least > 1 && least == most ? std::optional(least) : std::nullopt;
}

class StrategyParser {
 public:
  explicit StrategyParser(Job job) : job_(std::move(job)) {}

  Strategy parse(const std::string& text) {
    if (text.empty())
      fault("", "the strategy is empty", "write for example tp=8,pp=1,recompute=CoreAttention+LlamaMLP");
    for (const std::string& part : split(text, ',')) {
      if (!text.empty()) read(part);
    }
    if (seen_.contains("zero1") && seen_.contains("shard"))
      fault("shard", "says what zero1 says too", "keep one of them");
    if (!faults_.empty()) throw InputError(std::move(faults_));
    if (schedule_ && !job_.pin.virtual_pipeline) job_.pin.virtual_pipeline = only_chunks(*schedule_);
    Strategy s = planner::default_strategy(job_);
    s.precision = job_.training.precision;
    s.pipeline_cuts = cuts_;
    if (bucket_ > 0) s.bucket_mb = bucket_;
    if (framework_) s.framework = *framework_;
    s.sharding = job_.pin.sharding.value_or(models::framework_of(s).shardings().front());
    s.shard_ranks = job_.pin.shard_degree.value_or(0);
    if (const std::string problem = models::sharding_problem(models::framework_of(s), models::canonical(s));
        !problem.empty())
      throw InputError({{"--strategy", 0, 0},
                        job_.pin.shard_degree ? "shard_degree" : "shard",
                        problem,
                        "leave it out, or name a framework that has it: framework=fsdp"});
    check_ranks(s);
    if (schedule_) set_schedule(s, *schedule_, {"--strategy", 0, 0}, "schedule");
    return models::canonical(s);
  }

 private:
  void fault(const std::string& key, std::string problem, std::string fix) {
    faults_.push_back({{"--strategy", 0, 0}, key, std::move(problem), std::move(fix)});
  }

  void read(const std::string& part) {
    static const std::map<std::string, std::optional<int> models::Pin::*> kWhole = {
        {"tp", &models::Pin::tensor_parallel},       {"pp", &models::Pin::pipeline_parallel},
        {"vpp", &models::Pin::virtual_pipeline},     {"cp", &models::Pin::context_parallel},
        {"ep", &models::Pin::expert_parallel},       {"dp", &models::Pin::data_parallel},
        {"mbs", &models::Pin::micro_batch},          {"kv", &models::Pin::kv_replicator},
        {"shard_degree", &models::Pin::shard_degree}};
    static const std::map<std::string, std::optional<bool> models::Pin::*> kBoolean = {
        {"sp", &models::Pin::sequence_parallel},
        {"zero1", &models::Pin::zero1},
        {"flash", &models::Pin::flash_attention}};

    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    if (equals == std::string::npos) return fault(key, "no value", "write key=value, for example tp=8");
    const std::string value = part.substr(equals + 1);
    if (key.empty()) return fault(part, "no key", "write key=value, for example tp=8");
    if (!seen_.emplace(key, 1).second) return fault(key, "given twice", "keep one of them");
    if (const auto it = kWhole.find(key); it != kWhole.end()) {
      const auto number = parse_whole(value);
      if (!number || *number < 1)
        return fault(key, fmt::format("\"{}\" is not a whole number of at least 1", value),
                     "write for example " + key + "=8");
      if (*number > models::run_limits.ranks)
        return fault(key, fmt::format("{} is above {}", value, models::run_limits.ranks),
                     "write for example " + key + "=8");
      job_.pin.*(it->second) = *number;
    } else if (const auto flag = kBoolean.find(key); flag != kBoolean.end()) {
      if (value != "true" && value != "false")
        return fault(key, fmt::format("\"{}\" is neither true nor false", value),
                     "write " + key + "=true or " + key + "=false");
      job_.pin.*(flag->second) = value == "true";
    } else {
      read_other(key, value);
    }
  }

  void read_other(const std::string& key, const std::string& value) {
    if (key == "recompute") {
      job_.pin.recompute = models::recompute_from(value);
      if (!job_.pin.recompute)
        fault(key, fmt::format("\"{}\" is no recompute policy", value),
              "write none, full, full/2 for every second layer, SelectiveOp, or classes joined by +: "
              "CoreAttention, LlamaMLP, LlamaRMSNorm, ActivationMultiplyMLP");
    } else if (key == "precision") {
      const auto precision = models::precision_from(value);
      if (!precision)
        return fault(key, fmt::format("\"{}\" is no precision", value),
                     "write mixed_precision, autocast, bf16SR, fp32, manual or fp8");
      job_.training.precision = *precision;
    } else if (key == "bucket") {
      const auto megabytes = parse_whole(value);
      if (!megabytes || *megabytes < 1 || *megabytes > kLargestBucket)
        return fault(key, fmt::format("\"{}\" is no bucket of 1 to {} MB", printable(value), kLargestBucket),
                     "write for example bucket=130, NxD's own");
      bucket_ = *megabytes;
    } else if (key == "schedule") {
      schedule_ = models::schedule_from(value);
      if (!schedule_)
        fault(key, fmt::format("\"{}\" is no pipeline schedule", printable(value)),
              fmt::format("write {}", fmt::join(models::kScheduleNames, ", ")));
    } else if (key == "shard") {
      const auto sharding = models::sharding_from(value);
      if (value != "none" && !sharding)
        return fault(
            key, fmt::format("\"{}\" is no sharding that is modelled", printable(value)),
            "write none, or zero1: optimizer states over the data-parallel ranks; with framework=fsdp "
            "zero2 or zero3");
      job_.pin.zero1 = value != "none";
      job_.pin.sharding = sharding;
    } else if (key == "framework") {
      const std::vector<std::string_view> known = models::framework_names();
      if (std::find(known.begin(), known.end(), value) == known.end())
        return fault(key, fmt::format("\"{}\" is no framework that is modelled", printable(value)),
                     loop_fix(value));
      framework_ = models::stated_framework(value);
    } else if (key == "cuts") {
      for (const std::string& cut : split(value, '/')) {
        const auto layer = parse_whole(cut);
        if (!layer)
          return fault(key, fmt::format("\"{}\" is not a layer number", cut),
                       "write for example cuts=18/39/60");
        cuts_.push_back(*layer);
      }
    } else {
      std::vector<std::string> open = {"tp",       "pp",        "vpp",          "cp",       "ep",
                                       "dp",       "mbs",       "sp",           "zero1",    "recompute",
                                       "kv",       "precision", "flash",        "cuts",     "bucket",
                                       "schedule", "shard",     "shard_degree", "framework"};
      std::erase_if(open, [&](const std::string& known) { return seen_.contains(known); });
      const std::string near = nearest(key, open);
      fault(key, "unknown key",
            near.empty()
                ? "known keys: tp pp vpp cp ep dp mbs sp zero1 recompute kv precision flash cuts bucket "
                  "schedule shard shard_degree framework"
                : "did you mean " + near + "?");
    }
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
  std::map<std::string, int> seen_;
  std::vector<int> cuts_;
  int bucket_ = 0;  ///< 0 = not stated
  std::optional<models::Schedule> schedule_;
  std::optional<std::string_view> framework_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

void set_schedule(Strategy& s, models::Schedule schedule, const SourcePos& place, const char* key) {
  const std::string_view name = models::to_string(schedule);
  s.schedule = schedule;
  const auto refuse = [&](std::string problem, const char* fix) {
    throw InputError({place, key, std::move(problem), fix});
  };
  if (s.pipeline_parallel == 1 && schedule != models::Schedule::one_f_one_b)
    refuse(fmt::format("{} is an order of pipeline stages, and there is one stage", name),
           "choose pp=2 or more, or leave the schedule away");
  const models::ChunkCounts chunks = models::chunks_of(schedule);
  if (chunks.has(s.virtual_pipeline)) return;
  if (models::settled_schedule(s) != schedule)
    refuse(
        s.virtual_pipeline > 1 ? "with virtual stages it is interleaved" : "interleaved needs virtual stages",
        "choose another vpp, or leave the schedule away");
  throw InputError({place, key, models::schedule_of(s).obstacle(models::shape_of(s)),
                    fmt::format("choose vpp={}, or leave the schedule away",
                                s.virtual_pipeline < chunks.least ? chunks.least : chunks.most)});
}

Strategy parse_strategy(const std::string& text, Job job) {
  return StrategyParser(std::move(job)).parse(text);
}

}  // namespace trnplan::io
