#include "targets/nxdt/baseline.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "planner/check/judge.h"
#include "targets/nxdt/nxdt_target.h"

namespace trnplan::targets {

using models::Job;
using models::Strategy;

namespace {

/// Keys that a strategy sets, and NxDT's defaults for absent keys.
/// aws-neuron/neuronx-distributed-training@9169aa03:examples/conf and src/neuronx_distributed_training.
struct Setting {
  std::string_view key, absent;
};
constexpr std::string_view kRequests = "aync_exec_max_inflight_requests";
constexpr Setting kSettings[] = {
    {"model_source", "hf"},
    {"trainer.devices", "auto"},
    {"trainer.num_nodes", "1"},
    {"exp_manager.checkpoint_callback_params.model_parallel_size", ""},
    {"distributed_strategy.tensor_model_parallel_size", "1"},
    {"distributed_strategy.pipeline_model_parallel_size", "1"},
    {"distributed_strategy.virtual_pipeline_model_parallel_size", "1"},
    {"distributed_strategy.context_parallel_size", "1"},
    {"distributed_strategy.expert_model_parallel_size", "1"},
    {"distributed_strategy.zero1", "True"},
    {"distributed_strategy.sequence_parallel", "False"},
    {"distributed_strategy.kv_replicator", "1"},
    {"data.micro_batch_size", ""},
    {"data.global_batch_size", ""},
    {"model.qkv_linear", "False"},
    {"model.pipeline_cuts", "null"},
    {"model.activations_checkpoint_granularity", "null"},
    {"model.activations_checkpoint_recompute", "null"},
    {"model.fusions.flash_attention", "False"},
    {"model.fusions.ring_attention", "False"},
    {"precision.type", "mixed_precision"},
    {kRequests, ""},
};

SourcePos place_of(const NxdtConfig& config, std::string_view key) {
  const NxdtKey* leaf = config.find(key);
  return leaf == nullptr ? SourcePos{config.file, 0, 0} : leaf->at;
}

/// Text without quotes and spaces, with one spelling of booleans and of null.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '"' && c != '\'') out += c;
  }
  if (out == "true") return "True";
  if (out == "false") return "False";
  if (out.empty() || out == "~" || out == "Null" || out == "NULL" || out == "[]") return "null";
  return out;
}

std::string shown(const NxdtConfig& config, std::string_view key) {
  const NxdtKey* leaf = config.find(key);
  return leaf == nullptr || leaf->text.empty() ? "null" : leaf->text;
}

bool is_recompute(std::string_view key) {
  return key.starts_with("model.activations_checkpoint_");
}

Job job_on(const Job& job, const NxdtReading& reading, const planner::Plan* winner) {
  Job on = job;
  on.software.in_flight = reading.software.in_flight;
  if (winner != nullptr) {
    on.cluster.nodes = winner->nodes;
    for (const topology::Instance& i : job.space.instances) {
      if (i.name == winner->instance) on.cluster.instance = i;
    }
  }
  on.training.global_batch = reading.training.global_batch;
  on.training.precision = reading.strategy.precision;
  on.pin = {};
  on.space = {};
  return on;
}

Strategy strategy_on(const Job& job, const NxdtReading& reading) {
  Strategy s = reading.strategy;
  const std::int64_t left = job.cluster.cores() / std::max<std::int64_t>(1, s.model_parallel());
  s.data_parallel = static_cast<int>(std::max<std::int64_t>(1, left));
  return models::canonical(s);
}

void add_lint(Baseline& baseline, const NxdtConfig& config, const models::Architecture& trained,
              const std::string& release) {
  for (const Finding& f : lint(config, trained, release)) {
    const bool said = std::any_of(baseline.broken.begin(), baseline.broken.end(),
                                  [&](const planner::Violation& v) { return v.rule == f.rule; });
    if (f.severity != Severity::error || said) continue;
    baseline.broken.push_back({f.rule, f.key.empty() ? f.message : f.key + ": " + f.message, f.fix});
  }
}

void add_remarks(Baseline& baseline, const Job& job, const NxdtConfig& config, const NxdtReading& reading) {
  const auto say = [&](std::string_view key, std::string text) {
    const SourcePos at = place_of(config, key);
    baseline.remarks.push_back(at.line > 0
                                   ? fmt::format("{}:{}:{}: {}: {}", at.file, at.line, at.column, key, text)
                                   : fmt::format("{}: {}: {}", at.file, key, text));
  };
  const models::SearchSpace& free = job.space;
  const int batch = reading.training.global_batch;
  const bool other_batch = free.largest_batch > 0
                               ? batch < free.smallest_batch || batch > free.largest_batch
                               : free.batch_per_node == 0 && batch != job.training.global_batch;
  if (other_batch)
    say("data.global_batch_size",
        fmt::format("{} is not the job's global batch {}: tokens per second are compared", batch,
                    job.training.global_batch));
  if (!free.precision && reading.strategy.precision != job.training.precision)
    say("precision.type", fmt::format("{} is not the job's {}, which trains differently",
                                      models::to_string(reading.strategy.precision),
                                      models::to_string(job.training.precision)));
  if (config.text("model_source") == "megatron")
    say("model_source",
        "a plan is for NxDT's HF path, whose other keys differ too: use the whole nxdt.yaml of --out");
  if (const int hosts = baseline.job.cluster.hosts(); reading.nodes != hosts)
    say("trainer.num_nodes", fmt::format("{}, but predicted on {} like the plan", reading.nodes, hosts));
}

/// Faults of shape: differences that make two models different programs.
struct Dimension {
  const char* key;
  int models::Architecture::*member;
};
constexpr Dimension kDimensions[] = {{"model.num_layers", &models::Architecture::layers},
                                     {"model.hidden_size", &models::Architecture::hidden},
                                     {"model.ffn_hidden_size", &models::Architecture::intermediate},
                                     {"model.num_attention_heads", &models::Architecture::heads},
                                     {"model.num_kv_heads", &models::Architecture::kv_heads},
                                     {"model.model_config", &models::Architecture::vocabulary},
                                     {"model.moe.num_experts", &models::Architecture::experts}};

}  // namespace

std::vector<Diagnostic> baseline_faults(const Job& job, const NxdtConfig& config,
                                        const models::Architecture& trained) {
  std::vector<Diagnostic> faults;
  const models::Architecture& wanted = job.architecture;
  for (const Dimension& d : kDimensions) {
    if (trained.*d.member == wanted.*d.member) continue;
    const std::string_view key = config.find(d.key) != nullptr ? d.key : "model.model_config";
    faults.push_back({place_of(config, key), std::string(key),
                      fmt::format("this config trains another model than the job's {}: {} instead of {}",
                                  printable(wanted.name), trained.*d.member, wanted.*d.member),
                      "give the config of the job's model, or name its model in the job"});
    break;  // every dimension of another model differs
  }
  const NxdtReading reading = interpret(config, trained);
  if (reading.training.sequence != job.training.sequence) {
    faults.push_back(
        {place_of(config, "model.encoder_seq_length"), "model.encoder_seq_length",
         fmt::format("sequence {} is not the job's {}", reading.training.sequence, job.training.sequence),
         "give a config of the same sequence length, or change training.sequence of the job"});
  }
  if (const NxdtKey* open = unresolved_degree(config)) {
    faults.push_back(
        {open->at, open->key, printable(open->text) + " cannot be resolved here", "write the number itself"});
  }
  return faults;
}

std::vector<Change> changes_to(const Job& job, const Strategy& strategy, const NxdtConfig& config,
                               const models::Architecture& trained) {
  const NxdtConfig wanted = to_nxdt(job, strategy);
  const NxdtReading now = interpret(config, trained);
  const bool same_recompute = models::canonical(now.strategy).recompute == strategy.recompute &&
                              now.strategy.flash_attention == strategy.flash_attention;
  std::vector<Change> changes;
  for (const Setting& s : kSettings) {
    if (s.key == kRequests && now.software.in_flight != 1) continue;  // all values above one are equivalent
    if (is_recompute(s.key) && same_recompute) continue;
    const NxdtKey* here = config.find(s.key);
    if (s.absent.empty() && here == nullptr) continue;
    const bool stated = here != nullptr && plain(here->text) != "null";
    const NxdtKey* there = wanted.find(s.key);
    const std::string from = plain(stated ? std::string_view(here->text) : s.absent);
    const std::string to = plain(there == nullptr ? s.absent : std::string_view(there->text));
    if (from == to) continue;
    changes.push_back({std::string(s.key), shown(config, s.key),
                       there == nullptr ? std::string(s.absent) : there->text, place_of(config, s.key)});
  }
  return changes;
}

Baseline baseline_of(const Job& job, const NxdtConfig& config, const models::Architecture& trained,
                     const models::Profile& profile, const planner::Plan* winner) {
  const NxdtReading reading = interpret(config, trained);
  Baseline b;
  b.job = job_on(job, reading, winner);
  b.job.architecture = trained;
  b.strategy = strategy_on(b.job, reading);
  planner::Judgement judged = planner::judge(b.job, b.strategy, profile, &nxdt());
  b.broken = std::move(judged.broken);
  b.plan = std::move(judged.plan);
  for (const std::string& feature : reading.not_modelled) {
    b.broken.push_back({"not-modelled", feature + " is not modelled", "compare plain pre-training"});
    b.plan.reset();
  }
  add_lint(b, config, trained, job.software.release);
  add_remarks(b, job, config, reading);
  if (winner == nullptr) return b;
  Job of_winner = b.job;
  of_winner.training.global_batch = winner->global_batch;
  of_winner.training.precision = winner->strategy.precision;
  try {
    b.changes = changes_to(of_winner, winner->strategy, config, trained);
  } catch (const std::invalid_argument& e) {
    b.no_changes = e.what();
  }
  return b;
}

bool Baseline::runs() const {
  return std::all_of(broken.begin(), broken.end(), [](const planner::Violation& v) { return v.doubtful; });
}

double speedup(const planner::Plan& winner, const Baseline& baseline) {
  if (!baseline.plan || !baseline.runs()) return 0;
  return winner.report.tokens_per_second / baseline.plan->report.tokens_per_second;
}

}  // namespace trnplan::targets
