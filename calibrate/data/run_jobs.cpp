#include "calibrate/data/run_jobs.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "models/step/step.h"

namespace trnplan::calibrate {

namespace {

using models::MeasuredRun;

bool says(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

/// Positions that a model's own table holds: BERT's 512, GPT-3's 2048 (their config.json).
constexpr int kBertPositions = 512;

/// True for an encoder. Measured runs state the MLP, and for an encoder the model or its training program.
bool is_encoder(const MeasuredRun& run) {
  return says(run.model, "BERT") || (run.framework && models::stack_named(*run.framework).trains_encoders);
}

models::Architecture architecture_of(const MeasuredRun& run) {
  const bool encoder = is_encoder(run), table = encoder || run.mlp == "plain";
  models::Architecture a;
  a.name = run.model;
  a.layers = run.layers;
  a.hidden = run.hidden;
  a.intermediate = run.intermediate;
  a.heads = run.heads;
  a.kv_heads = run.kv_heads > 0 ? run.kv_heads : run.heads;
  a.head_dim = run.hidden / run.heads;
  a.vocabulary = run.vocabulary;
  a.max_positions = encoder ? std::max(kBertPositions, run.sequence) : run.sequence;
  a.mlp = run.mlp == "plain" ? models::Mlp::plain : models::Mlp::gated;
  a.tied_embeddings = table;
  a.learned_positions = table;
  a.norm = table ? models::Norm::layer : models::Norm::rms;
  a.causal = !encoder;
  a.token_types = encoder ? 2 : 0;
  a.biases = table;
  a.flash_attention = run.strategy.flash_attention;
  return a;
}

/// Framework for a table without the column `framework`: the rule that first filled the catalogue's column.
std::string guessed_framework(const MeasuredRun& run) {
  if (is_encoder(run)) return "bert";
  if (says(run.source, "neuronx-distributed-training") || says(run.source, "NxDT")) return "nxdt";
  if (says(run.source, "nemo-megatron")) return "nemo-megatron";
  if (run.strategy.precision != models::Precision::bf16_sr) return "nxd";
  return run.strategy.sequence_parallel ? "nemo-megatron" : "megatron";
}

/// "2.19" for "Neuron 2.19.1 (by date)" and "2.11" for "Neuron 2.11/2.12": the first number with a point.
std::string release_of(const std::string& text) {
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!digit(i) || (i > 0 && digit(i - 1))) continue;
    std::size_t end = i;
    while (digit(end)) ++end;
    if (end >= text.size() || text[end] != '.' || !digit(end + 1)) continue;
    ++end;
    while (digit(end)) ++end;
    return text.substr(i, end - i);
  }
  return "";
}

/// Reason why a training row is unusable; "" if it is usable.
std::string no_use(const MeasuredRun& run, const topology::Instance& instance) {
  if (run.quality == "D") return "quality D: contradicts itself";
  if (run.quality != "A" && run.quality != "B") {
    return "quality " + (run.quality.empty() ? "not stated" : run.quality) +
           ": something essential is missing";
  }
  if (!says(run.hardware, instance.name) && !says(run.hardware, instance.family))
    return "not on " + instance.family;
  if (!run.step_seconds || !(*run.step_seconds > 0)) return "no step time";
  if (!run.has_layout()) return "layout not stated, or not for all cores";
  if (run.nodes < 1 || run.sequence < 1 || run.global_batch < 1) return "nodes, sequence or batch not stated";
  if (run.layers < 1 || run.hidden < 1 || run.intermediate < 1 || run.heads < 1 || run.vocabulary < 1 ||
      run.hidden % run.heads != 0 || (run.kv_heads > 0 && run.heads % run.kv_heads != 0)) {
    return "the network is not stated";
  }
  return "";
}

}  // namespace

std::string configuration_of(const std::string& model, const models::Job& job, const models::Strategy& s) {
  return fmt::format("{}, {} node{}, TP {} PP {} DP {}, sequence {}, recompute {}", model, job.cluster.nodes,
                     job.cluster.nodes == 1 ? "" : "s", s.tensor_parallel, s.pipeline_parallel,
                     s.data_parallel, job.training.sequence, to_string(s.recompute));
}

MappedRuns map_runs(const std::vector<MeasuredRun>& runs, const topology::Instance& instance,
                    const RunReading& reading) {
  MappedRuns out;
  for (const MeasuredRun& run : runs) {
    if (run.kind != "train") continue;
    std::string reason = no_use(run, instance);
    if (!reason.empty()) {
      out.excluded.push_back({run.id, std::move(reason)});
      continue;
    }
    MeasuredStep step;
    step.id = run.id;
    step.group = run.group;
    step.quality = run.quality;
    step.outlier = run.outlier;
    step.kind = is_encoder(run) ? "bert" : "decoder";
    step.job.architecture = architecture_of(run);
    step.job.cluster = {instance, run.nodes};
    step.job.training = {run.sequence, run.global_batch, 0, run.strategy.precision};
    const std::string framework = run.framework ? *run.framework : guessed_framework(run);
    step.framework_guessed = !run.framework;
    const std::string release = release_of(run.release);
    step.job.software = {framework, release};
    const QuantityReading quantity = quantity_of(reading, run, framework, release);
    step.seconds = *run.step_seconds * quantity.ratio;
    step.log_sd = quantity.log_sd;
    step.at_most = quantity.at_most;
    step.job.architecture.dropout = models::stack_named(framework).drops_in_runs;
    step.strategy = run.strategy;
    step.strategy.precision = precision_of(reading, run.strategy.precision, framework, release);
    step.job.training.precision = step.strategy.precision;
    step.strategy.kv_replicator = std::max(1, run.strategy.tensor_parallel / step.job.architecture.kv_heads);
    step.configuration = configuration_of(run.model, step.job, step.strategy);
    reason = models::StepModel::not_modelled(step.job, step.strategy);
    if (reason.empty()) {
      out.steps.push_back(std::move(step));
    } else {
      out.excluded.push_back({run.id, "not modelled: " + reason});
    }
  }
  return out;
}

}  // namespace trnplan::calibrate
