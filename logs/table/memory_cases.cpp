#include "logs/table/memory_cases.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "logs/table/run_columns.h"
#include "models/job/limits.h"
#include "text/csv.h"
#include "text/parse.h"
#include "units/product.h"

namespace trnplan::logs {

using models::MeasuredRun;

std::string_view to_string(MemoryFact f) {
  switch (f) {
    case MemoryFact::fits:
      return "fits";
    case MemoryFact::too_large:
      return "too_large";
    case MemoryFact::at_most:
      return "at_most";
  }
  return "?";
}

namespace {

int positive_whole(CsvReader& csv, const char* column) {
  const int value = count_of(csv, column, 0);
  if (value < 1)
    csv.fault(column, "not stated", "a case needs it; otherwise state in left_out why it is missing");
  return value;
}

models::Strategy read_strategy(CsvReader& csv) {
  models::Strategy s;
  s.tensor_parallel = positive_whole(csv, "tp");
  s.pipeline_parallel = positive_whole(csv, "pp");
  s.virtual_pipeline = positive_whole(csv, "vpp");
  s.context_parallel = positive_whole(csv, "cp");
  s.data_parallel = positive_whole(csv, "dp");
  s.expert_parallel = positive_whole(csv, "ep");
  s.micro_batch = positive_whole(csv, "micro_batch");
  s.sequence_parallel = csv.yes_or_no("sp");
  s.zero1 = csv.yes_or_no("zero1");
  s.flash_attention = csv.yes_or_no("flash");
  if (const auto policy = models::recompute_from(csv.text("recompute"))) {
    s.recompute = *policy;
  } else {
    csv.fault("recompute", "not a recompute policy",
              "write for example none, full or CoreAttention+LlamaMLP");
  }
  if (const auto precision = models::precision_from(csv.text("precision"))) {
    s.precision = *precision;
  } else {
    csv.fault("precision", "not a precision", "write " + models::precision_words());
  }
  return s;
}

MemoryCase read_case(CsvReader& csv) {
  MemoryCase c;
  c.kind = "case";
  c.id = csv.required("id", "give the row an id");
  csv.distinct("id", c.id);
  c.source = csv.required("source", "say where it is published");
  c.note = csv.text("note");
  c.shipped = c.note.find("presumed") != std::string::npos;
  c.model = csv.text("model");
  c.instance = csv.text("instance");
  c.left_out = csv.text("left_out");
  const std::string_view expected = csv.text("expected");
  if (expected == "too_large") c.fact = MemoryFact::too_large;
  if (expected != "too_large" && expected != "fits") {
    csv.fault("expected", "neither fits nor too_large", "write one of them");
  }
  if (!c.left_out.empty()) return c;
  c.nodes = positive_whole(csv, "nodes");
  c.sequence = positive_whole(csv, "sequence");
  c.global_batch = positive_whole(csv, "global_batch");
  c.strategy = read_strategy(csv);
  return c;
}

/// Returns the first of the names that the text contains; "" if it contains none. If two are possible, their
/// memory is the same.
std::string instance_of(const std::string& hardware, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (hardware.find(name) != std::string::npos) return name;
  }
  return "";
}

std::optional<MemoryCase> case_of(const MeasuredRun& run, const std::vector<std::string>& machines) {
  const bool memory = run.kind == "memory", too_large = run.kind == "oom", train = run.kind == "train";
  if (!memory && !too_large && !train && run.kind != "recipe" && run.kind != "limit") return std::nullopt;
  MemoryCase c;
  c.id = run.id;
  c.kind = run.kind;
  c.shipped = run.kind == "recipe";
  c.source = run.source;
  c.model = run.model.substr(0, run.model.find("-dims-"));
  c.instance = instance_of(run.hardware, machines);
  c.nodes = run.nodes;
  c.sequence = run.sequence;
  c.global_batch = run.global_batch;
  c.layers = run.layers;
  c.vocabulary = run.vocabulary;
  c.strategy = run.strategy;
  c.fact = memory ? MemoryFact::at_most : too_large ? MemoryFact::too_large : MemoryFact::fits;
  if (!run.has_layout() || run.sequence < 1 || run.nodes < 1) {
    c.left_out = "layout not stated";
  } else if (c.instance.empty()) {
    c.left_out = "machine not in the catalogue";
  }
  if (memory) {
    const auto bytes = parse_count(run.value);
    if (!bytes || *bytes <= 0) {
      c.left_out = "not a number of bytes";
    } else if (c.left_out.empty()) {
      c.at_most = Bytes(*bytes / run.accelerators);
    }
  }
  if (c.global_batch < 1) {
    c.global_batch = static_cast<int>(
        std::min<std::int64_t>(saturating_product({c.strategy.data_parallel, c.strategy.micro_batch}),
                               models::run_limits.global_batch));
  }
  return c;
}

}  // namespace

std::vector<MemoryCase> parse_memory_cases(std::string_view text, const std::string& name) {
  CsvReader csv(text, name,
                {"id",    "source",    "model",       "instance",     "nodes",    "tp",       "pp",
                 "vpp",   "cp",        "dp",          "ep",           "sp",       "zero1",    "recompute",
                 "flash", "precision", "micro_batch", "global_batch", "sequence", "expected", "left_out"},
                "see catalog/memory-cases.md for the columns");
  std::vector<MemoryCase> cases;
  while (csv.next()) cases.push_back(read_case(csv));
  csv.finish();
  return cases;
}

std::vector<MemoryCase> memory_cases_of(const std::vector<MeasuredRun>& runs,
                                        const std::vector<std::string>& machines) {
  std::vector<MemoryCase> cases;
  std::map<std::tuple<std::string, int, int, int, models::Strategy>, std::size_t> layouts;
  for (const MeasuredRun& run : runs) {
    auto c = case_of(run, machines);
    if (!c || run.quality == "D") continue;
    if (c->kind == "train" && c->left_out.empty()) {
      const auto [known, fresh] =
          layouts.try_emplace({c->model, c->layers, c->nodes, c->sequence, c->strategy}, cases.size());
      if (!fresh) {
        ++cases[known->second].rows;
        continue;
      }
    }
    cases.push_back(std::move(*c));
  }
  return cases;
}

}  // namespace trnplan::logs
