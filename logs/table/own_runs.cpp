#include "logs/table/own_runs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "logs/table/run_columns.h"
#include "text/csv.h"
#include "units/quantity.h"

namespace trnplan::logs {

namespace {

/// Names of one column, or of columns of which one is enough; "" is none.
using Names = std::array<std::string_view, 3>;

/// The first of the names that is a column; the first name where none is.
std::string_view column_of(const CsvReader& csv, const Names& names) {
  const auto* found = std::find_if(names.begin(), names.end(),
                                   [&](std::string_view name) { return !name.empty() && csv.has(name); });
  return found == names.end() ? names.front() : *found;
}

bool has_any(const CsvReader& csv, const Names& names) {
  return csv.has(column_of(csv, names));
}

void need_any(CsvReader& csv, const Names& names, const char* fix) {
  if (!has_any(csv, names)) csv.need(names.front(), fix);
}

constexpr Names kSequences = {"seq", "seq_len", "sequence"};
constexpr Names kBatches = {"global_batch", "gbs"};
constexpr Names kMicroBatches = {"micro_batch", "mbs"};
constexpr Names kGpus = {"gpus", "accelerators"};

/// One fault for each column without which nothing says what ran.
void need_columns(CsvReader& csv, const StatedBeside& stated) {
  const bool strategy = csv.has("strategy");
  csv.need("id", "name each row in a column id");
  csv.need("step_s", "state the seconds of a step in a column step_s");
  if (stated.job) return;
  if (strategy && !has_any(csv, {"model", "layers"}) && !has_any(csv, kSequences) &&
      !has_any(csv, kBatches)) {
    csv.need("model, seq and others", "add --job with a job.yaml or a model that trnplan models lists",
             "nothing says what these strategies train");
    return;
  }
  if (!csv.has("model")) {
    if (!has_any(csv, {"layers", "hidden", "heads"})) {
      csv.need("model",
               "add it, with names that trnplan models lists, or layers, hidden, ffn, heads, kv_heads and "
               "vocab; or --job JOB.yaml");
    } else {
      for (const char* column : {"layers", "hidden", "heads", "vocab"})
        csv.need(column, "add it, or the name of the model in a column model");
    }
  }
  need_any(csv, kSequences, "add the tokens of a sequence, or --job JOB.yaml");
  need_any(csv, kBatches, "add the sequences of a step, or --job JOB.yaml");
  if (!stated.instance && !has_any(csv, {"instance", "gpu"}))
    csv.need("instance", "add it, or --instance TYPE with one that trnplan instances lists");
  if (!strategy) need_any(csv, kMicroBatches, "add the sequences of a micro-batch");
  if (!has_any(csv, {"dp", "nodes"}) && !has_any(csv, kGpus)) csv.need("dp", "add it, or nodes or gpus");
}

LayoutRun own_run(CsvReader& csv) {
  LayoutRun run;
  run.at = csv.at("id");
  run.id = csv.required("id", "give it one of its own");
  run.source = csv.text("source");
  run.quality = csv.text("quality");
  run.model = csv.text("model");
  run.task = csv.text("task");
  run.gpu = csv.text("gpu");
  run.mlp = csv.text("mlp");
  run.strategy = csv.text("strategy");
  run.framework = csv.text("framework");
  run.instance = csv.text("instance");
  run.release = csv.text("release");
  run.sharding = csv.text("sharding");
  run.recompute = csv.text("recompute");
  run.precision = csv.text("precision");
  const auto count = [&](const Names& names, int fallback) {
    return count_of(csv, column_of(csv, names), fallback);
  };
  run.layers = count({"layers"}, 0);
  run.hidden = count({"hidden"}, 0);
  run.intermediate = count({"ffn"}, 0);
  run.heads = count({"heads"}, 0);
  run.kv_heads = count({"kv_heads", "kv"}, 0);
  run.vocabulary = count({"vocab"}, 0);
  run.sequence = count(kSequences, 0);
  run.global_batch = count(kBatches, 0);
  run.micro_batch = count(kMicroBatches, 0);
  run.nodes = count({"nodes"}, 0);
  run.gpus = count(kGpus, 0);
  run.tensor_parallel = count({"tp"}, 1);
  run.pipeline_parallel = count({"pp"}, 1);
  run.virtual_pipeline = count({"vpp"}, 1);
  run.context_parallel = count({"cp"}, 1);
  run.expert_parallel = count({"ep"}, 1);
  run.data_parallel = count({"dp"}, 0);
  if (const auto seconds = csv.number("step_s")) {
    if (*seconds > 0)
      run.step_seconds = seconds;
    else
      csv.fault("step_s", "a step takes some time", "leave it empty if not known");
  }
  if (const auto gib = csv.number("mem_gib"); gib && *gib > 0) run.memory_bytes = *gib * kGiB;
  csv.distinct("id", run.id);
  return run;
}

/// Remark on the columns that no row was read from; nullopt without any.
std::optional<Diagnostic> unread_columns(const CsvReader& csv, const std::string& name) {
  std::string columns, meant;
  for (const auto& [column, near] : csv.not_asked()) {
    columns += (columns.empty() ? "" : ", ") + printable(column, 40);
    if (near.empty()) continue;
    meant += (meant.empty() ? "did you mean " : ", ") + near.front();
    for (std::size_t i = 1; i < near.size(); ++i) meant += " or " + near[i];
    meant += " for " + printable(column, 40);
  }
  if (columns.empty()) return std::nullopt;
  return Diagnostic{{name, 1, 1},
                    "",
                    "columns that are not read: " + columns,
                    meant.empty() ? "docs/json.md lists the columns" : meant + "?"};
}

}  // namespace

std::vector<LayoutRun> parse_own_runs(std::string_view text, const std::string& name,
                                      const StatedBeside& stated, std::optional<Diagnostic>* unread) {
  CsvReader csv(text, name, {}, "");
  need_columns(csv, stated);
  csv.finish();
  std::vector<LayoutRun> runs = runs_of(csv, own_run);
  if (unread != nullptr && !runs.empty()) *unread = unread_columns(csv, name);
  return runs;
}

}  // namespace trnplan::logs
