// Tables of training runs of any machine, a row each with its layout: that of catalog/gpu-runs.csv, and peak
// memory of Megatron-LM's continuous integration.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/csv.h"
#include "text/diagnostic.h"
#include "units/quantity.h"

namespace trnplan::logs {

/// A row as it is stated: numbers that are not stated are 0, texts "". Nothing is interpreted here.
struct LayoutRun {
  SourcePos at;
  std::string id, source, quality, model, gpu;
  std::string mlp, sharding, recompute, precision;
  std::string task;  ///< "pretrain", "lora"
  std::string note;  ///< clauses, "; " between them
  // Of tables that state them themselves, without rules for their words:
  std::string strategy;   ///< in the grammar of --strategy, instead of the layout
  std::string framework;  ///< a stack or a training loop
  std::string instance;   ///< a type of the catalogue
  std::string release;    ///< of the Neuron SDK
  int nodes = 0;
  int layers = 0, hidden = 0, intermediate = 0, heads = 0, kv_heads = 0, vocabulary = 0, experts = 0;
  int sequence = 0, gpus = 0;
  int tensor_parallel = 1, pipeline_parallel = 1, virtual_pipeline = 1, context_parallel = 1,
      expert_parallel = 1, data_parallel = 0;
  int micro_batch = 0, global_batch = 0;
  bool out_of_memory = false;          ///< it was tried and did not fit
  std::optional<double> step_seconds;  ///< absent if it ran out of memory or none is stated
  std::optional<double> memory_bytes;  ///< peak, as the source counts it
  std::optional<double> all_reduce;    ///< bytes a second that the run itself measured, if its note says so
  /// Reasons why parts of the row could not be read; such a row states nothing.
  std::vector<Diagnostic> faults;
};

/// Kinds of tables, by their columns.
enum class RunTable {
  neuron_runs,  ///< catalog/measured-runs.csv: `id`, `kind`, `hardware`
  gpu_runs,     ///< catalog/gpu-runs.csv: `id`, `gpu`, `gpus`, `measured`
  gpu_memory,   ///< `case`, `suite`, `gpu`, `mem_max`
  own_runs      ///< a user's: `id`, `step_s`, and `strategy` or columns of the layout (logs/table/own_runs.h)
};
/// Kind of a table by its header; nullopt if it is none of them. A table with a strategy or a layout that
/// lacks columns of the others is the user's. Cost: the first line.
[[nodiscard]] std::optional<RunTable> table_of(std::string_view text);

/// All rows of a table other than neuron_runs and own_runs in their order. A row that cannot be read carries
/// its faults; the others are not affected. Throws InputError if the table has no usable rows: no header,
/// columns missing or named twice, quotes that are never closed. Cost: linear; each record is held once.
[[nodiscard]] std::vector<LayoutRun> parse_layout_runs(std::string_view text, const std::string& name,
                                                       RunTable table);

/// Rows of a table whose columns are there, each by `read`, with the faults of each.
[[nodiscard]] std::vector<LayoutRun> runs_of(CsvReader& csv,
                                             const std::function<LayoutRun(CsvReader&)>& read);

/// Another tool's predictions, `id,step_s[,mem_gib]`. Throws InputError with every bad row.
struct StatedPrediction {
  std::string id;
  std::optional<double> step_seconds, memory_bytes;
};
[[nodiscard]] std::vector<StatedPrediction> parse_predictions(std::string_view text, const std::string& name);

}  // namespace trnplan::logs
