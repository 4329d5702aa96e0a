#include "logs/table/measured_runs.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "logs/table/run_columns.h"
#include "models/job/limits.h"
#include "text/csv.h"
#include "text/parse.h"

namespace trnplan::logs {

using models::MeasuredRun;

namespace {

/// The stated policy, e.g. "selective (core attention + MLP)" or "full (uniform, every layer)". Bare
/// "selective" is Megatron's, the attention core.
models::Recompute recompute_of(std::string_view text) {
  const auto says = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
  models::Recompute r;
  r.full = text.find("full") == 0;
  r.core_attention = says("core attention") || text == "selective";
  r.activation_multiply = says("MLP multiply");
  r.mlp = says("MLP") && !r.activation_multiply;
  r.rms_norm = says("RMSNorm");
  return r;
}

models::Precision precision_of(std::string_view text) {
  if (text.find("SR") != std::string_view::npos) return models::Precision::bf16_sr;
  if (text == "fp32" || text == "FP32") return models::Precision::fp32;
  return models::Precision::mixed_precision;
}

/// Sequences, also from "16M tokens" as some publications state it.
int batch_of(CsvReader& csv, int sequence) {
  constexpr std::string_view kTokens = " tokens";
  std::string_view t = csv.text("global_batch");
  if (!t.ends_with(kTokens)) return count_of(csv, "global_batch", 0);
  t.remove_suffix(kTokens.size());
  const auto tokens = parse_count(t);
  if (!tokens) csv.fault("global_batch", "not a number of tokens", "write for example 16M tokens");
  return tokens && sequence > 0
             ? static_cast<int>(std::min<double>(*tokens / sequence, models::run_limits.global_batch))
             : 0;
}

/// Frameworks of the runs in the table: a stack's factor could not be found by another name.
constexpr std::string_view kFrameworks[] = {"bert", "megatron", "nemo-megatron", "nxd", "nxdt"};

std::optional<std::string> framework_of(CsvReader& csv) {
  if (!csv.has("framework")) return std::nullopt;
  const std::string_view text = csv.text("framework");
  if (!text.empty() &&
      std::find(std::begin(kFrameworks), std::end(kFrameworks), text) == std::end(kFrameworks))
    csv.fault("framework", "\"" + printable(text, 40) + "\" is not a framework of runs",
              "write bert, megatron, nemo-megatron, nxd or nxdt, or leave it empty");
  return std::string(text);
}

MeasuredRun read_run(CsvReader& csv) {
  MeasuredRun run;
  run.id = csv.text("id");
  run.group = csv.text("run_group");
  run.kind = csv.text("kind");
  run.quality = csv.text("quality");
  run.source = csv.text("source");
  run.release = csv.text("release");
  run.framework = framework_of(csv);
  run.model = csv.text("model");
  run.hardware = csv.text("hardware");
  run.nodes = count_of(csv, "nodes", 0);
  run.accelerators = count_of(csv, "accelerators", 0);
  run.layers = count_of(csv, "layers", 0);
  run.hidden = count_of(csv, "hidden", 0);
  run.intermediate = count_of(csv, "ffn", 0);
  run.heads = count_of(csv, "heads", 0);
  run.kv_heads = count_of(csv, "kv_heads", 0);
  run.mlp = csv.text("mlp");
  run.precision = csv.text("precision");
  run.vocabulary = count_of(csv, "vocab", 0);
  run.quantity = csv.text("quantity");
  run.value = csv.text("value");
  run.outlier = csv.text("notes").find("outlier") != std::string_view::npos;
  run.sequence = count_of(csv, "seq_len", 0);
  run.global_batch = batch_of(csv, run.sequence);
  run.step_seconds = csv.number("step_s");
  models::Strategy& s = run.strategy;
  s.tensor_parallel = count_of(csv, "tp", 1);
  s.pipeline_parallel = count_of(csv, "pp", 1);
  s.virtual_pipeline = count_of(csv, "vpp", 1);
  s.context_parallel = count_of(csv, "cp", 1);
  s.data_parallel = count_of(csv, "dp", 1);
  s.micro_batch = count_of(csv, "micro_batch", 1);
  s.sequence_parallel = csv.text("sp") == "yes";
  s.zero1 = csv.text("zero1") == "yes";
  s.flash_attention = csv.text("flash_attn") == "yes" || csv.text("flash_attn") == "ring";
  s.recompute = recompute_of(csv.text("recompute"));
  s.precision = precision_of(csv.text("precision"));
  return run;
}

}  // namespace

std::vector<MeasuredRun> parse_measured_runs(const std::string& text, const std::string& name) {
  CsvReader csv(
      text, name,
      {"id", "kind", "model", "hardware", "nodes", "tp", "pp", "dp", "global_batch", "seq_len", "step_s"},
      "see catalog/measured-runs.md for the columns");
  std::vector<MeasuredRun> runs;
  while (csv.next()) {
    runs.push_back(read_run(csv));
    csv.distinct("id", runs.back().id);
  }
  csv.finish();
  return runs;
}

}  // namespace trnplan::logs
