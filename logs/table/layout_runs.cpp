#include "logs/table/layout_runs.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "logs/table/run_columns.h"
#include "text/csv.h"
#include "units/product.h"
#include "units/quantity.h"

namespace trnplan::logs {

namespace {

/// Megatron-LM's functional tests of these suites run on one node of 8 GPUs (tests/test_utils/recipes,
/// `nodes: 1`, `gpus: 8`).
constexpr int kSuiteGpus = 8;

bool yes(std::string_view text) {
  return text == "true" || text == "yes";
}

void read_network(CsvReader& csv, LayoutRun& run) {
  run.gpu = csv.text("gpu");
  run.layers = count_of(csv, "layers", 0);
  run.hidden = count_of(csv, "hidden", 0);
  run.intermediate = count_of(csv, "ffn", 0);
  run.heads = count_of(csv, "heads", 0);
  run.sequence = count_of(csv, "seq", 0);
  run.tensor_parallel = count_of(csv, "tp", 1);
  run.pipeline_parallel = count_of(csv, "pp", 1);
  run.context_parallel = count_of(csv, "cp", 1);
  run.expert_parallel = count_of(csv, "ep", 1);
  run.recompute = csv.text("recompute");
}

/// Rate in a note: "measured all-reduce 180.4 GB/s".
std::optional<double> all_reduce_of(std::string_view note) {
  constexpr std::string_view kWords = "measured all-reduce ";
  const auto at = note.find(kWords);
  if (at == std::string_view::npos) return std::nullopt;
  double value = 0;
  const std::string_view rest = note.substr(at + kWords.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{} || !(value > 0) ||
      !rest.substr(static_cast<std::size_t>(end - rest.data())).starts_with(" GB/s"))
    return std::nullopt;
  return value * 1e9;
}

LayoutRun gpu_run(CsvReader& csv) {
  LayoutRun run;
  run.at = csv.at("id");
  run.id = csv.text("id");
  run.source = csv.text("source");
  run.quality = csv.text("quality");
  run.model = csv.text("model");
  run.task = csv.text("task");
  read_network(csv, run);
  run.kv_heads = count_of(csv, "kv_heads", 0);
  run.vocabulary = count_of(csv, "vocab", 0);
  run.mlp = csv.text("mlp");
  run.gpus = count_of(csv, "gpus", 0);
  run.virtual_pipeline = count_of(csv, "vpp", 1);
  run.data_parallel = count_of(csv, "dp", 0);
  run.sharding = csv.text("sharding");
  run.micro_batch = count_of(csv, "micro_batch", 0);
  run.global_batch = count_of(csv, "global_batch", 0);
  run.precision = csv.text("precision");
  run.framework = csv.text("framework");
  run.instance = csv.text("instance");
  run.release = csv.text("release");
  run.out_of_memory = csv.text("measured") == "oom";
  if (run.id.empty()) csv.fault("id", "the row has no id", "give it one of its own");
  const auto seconds = csv.number("step_s");
  if (seconds && !(*seconds > 0))
    csv.fault("step_s", "a step takes some time", "leave it empty if not known");
  if (seconds && run.out_of_memory)
    csv.fault("step_s", "a run that did not fit has no step time", "leave it empty, or correct `measured`");
  run.step_seconds = seconds;
  if (const auto gib = csv.number("mem_gib"); gib && *gib > 0) run.memory_bytes = *gib * kGiB;
  run.note = csv.text("note");
  run.all_reduce = all_reduce_of(run.note);
  return run;
}

LayoutRun memory_case(CsvReader& csv) {
  LayoutRun run;
  run.at = csv.at("case");
  run.id = std::string(csv.text("suite")) + "/" + std::string(csv.text("case"));
  run.source = "NVIDIA/Megatron-LM:tests/functional_tests";
  run.quality = "A";
  run.model = csv.text("case");
  read_network(csv, run);
  run.kv_heads = count_of(csv, "kv", 0);
  run.experts = count_of(csv, "experts", 0);
  run.micro_batch = count_of(csv, "mbs", 0);
  run.global_batch = count_of(csv, "gbs", 0);
  run.precision = csv.text("dtype");
  run.sharding = yes(csv.text("fsdp")) ? "fsdp" : yes(csv.text("dist_opt")) ? "zero1" : "none";
  run.gpus = kSuiteGpus;
  const std::int64_t parts =
      saturating_product({run.tensor_parallel, run.pipeline_parallel, run.context_parallel});
  if (parts > 0 && parts <= kSuiteGpus && kSuiteGpus % parts == 0)
    run.data_parallel = static_cast<int>(kSuiteGpus / parts);
  const std::int64_t round = saturating_product({count_of(csv, "vpp_layers", 0), run.pipeline_parallel});
  if (round > 0 && run.layers % round == 0)
    run.virtual_pipeline = std::max(1, static_cast<int>(run.layers / round));
  if (const auto bytes = csv.number("mem_max"); bytes && *bytes > 0) run.memory_bytes = *bytes;
  return run;
}

}  // namespace

std::optional<RunTable> table_of(std::string_view text) {
  constexpr std::size_t kMostHeader = 1 << 16;
  const auto records = split_csv(text.substr(0, std::min(text.find('\n'), kMostHeader)));
  if (records.empty()) return std::nullopt;
  const auto& fields = records.front().fields;
  const auto has = [&](std::string_view column) {
    return std::any_of(fields.begin(), fields.end(), [&](const auto& f) { return f.text == column; });
  };
  if (has("id") && has("source") && has("gpu") && has("gpus") && has("measured")) return RunTable::gpu_runs;
  if (has("case") && has("suite") && has("mem_max")) return RunTable::gpu_memory;
  if (has("id") && has("kind") && has("hardware")) return RunTable::neuron_runs;
  if (has("strategy") || has("tp") || has("pp") || has("dp")) return RunTable::own_runs;
  return std::nullopt;
}

std::vector<LayoutRun> parse_layout_runs(std::string_view text, const std::string& name, RunTable table) {
  const bool memory = table == RunTable::gpu_memory;
  constexpr const char* kHelp = "see docs/json.md for the columns";
  CsvReader csv =
      memory ? CsvReader(text, name, {"case", "suite", "gpu", "tp", "pp", "mbs", "gbs", "mem_max"}, kHelp)
             : CsvReader(text, name,
                         {"id", "source", "gpu", "gpus", "layers", "hidden", "seq", "tp", "pp", "dp",
                          "micro_batch", "global_batch", "measured", "step_s"},
                         kHelp);
  csv.finish();
  return runs_of(csv, [memory](CsvReader& row) {
    LayoutRun run = memory ? memory_case(row) : gpu_run(row);
    row.distinct(memory ? "case" : "id", run.id);
    return run;
  });
}

std::vector<LayoutRun> runs_of(CsvReader& csv, const std::function<LayoutRun(CsvReader&)>& read) {
  std::vector<LayoutRun> runs;
  const auto unread = [&](std::vector<Diagnostic> faults) {
    for (Diagnostic& fault : faults) {
      LayoutRun run;
      run.at = fault.at;
      run.faults.push_back(std::move(fault));
      runs.push_back(std::move(run));
    }
  };
  while (csv.next()) {
    unread(csv.take_faults());  // rows before this one with another number of fields
    LayoutRun run = read(csv);
    run.faults = csv.take_faults();
    runs.push_back(std::move(run));
  }
  unread(csv.take_faults());
  return runs;
}

std::vector<StatedPrediction> parse_predictions(std::string_view text, const std::string& name) {
  CsvReader csv(text, name, {"id", "step_s"}, "the columns are id,step_s and, where known, mem_gib");
  std::vector<StatedPrediction> all;
  while (csv.next()) {
    StatedPrediction p;
    p.id = csv.text("id");
    p.step_seconds = csv.number("step_s");
    if (p.step_seconds && !(*p.step_seconds > 0))
      csv.fault("step_s", "a step takes some time", "leave it empty");
    if (const auto gib = csv.number("mem_gib")) p.memory_bytes = *gib * kGiB;
    csv.distinct("id", p.id, "state each row once");
    all.push_back(std::move(p));
  }
  csv.finish();
  return all;
}

}  // namespace trnplan::logs
