#include "calibrate/measured_runs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

#include "units/diagnostic.h"
#include "units/parse.h"

namespace trnplan::calibrate {

using models::MeasuredRun;

namespace {

struct Record {
  std::vector<std::string> fields;
  int line = 1;
};

/// RFC 4180: fields in double quotes may hold commas, line ends and doubled quotes.
std::vector<Record> split_csv(const std::string& text) {
  std::vector<Record> records;
  Record record;
  std::string field;
  bool quoted = false, any = false;
  int line = 1;
  record.line = line;
  const auto end_field = [&] {
    record.fields.push_back(std::move(field));
    field.clear();
  };
  const auto end_record = [&] {
    end_field();
    if (any) records.push_back(std::move(record));
    record = Record{{}, line};
    any = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += c;
        ++i;
      } else {
        quoted = false;
      }
      continue;
    }
    if (c == '\n') {
      end_record();
    } else if (c == ',') {
      any = true;
      end_field();
    } else if (c == '"') {
      any = true;
      quoted = true;
    } else if (c != '\r') {
      any = true;
      field += c;
    }
  }
  if (any) end_record();
  return records;
}

/// The stated policy, e.g. "selective (core attention + MLP)" or "full (uniform, every layer)".
models::Recompute recompute_of(std::string_view text) {
  models::Recompute r;
  r.full = text.find("full") == 0;
  r.core_attention = text.find("core attention") != std::string_view::npos;
  r.mlp = text.find("MLP") != std::string_view::npos;
  return r;
}

models::Precision precision_of(std::string_view text) {
  if (text.find("SR") != std::string_view::npos) return models::Precision::bf16_sr;
  if (text == "fp32") return models::Precision::fp32;
  return models::Precision::mixed_precision;
}

class Table {
 public:
  Table(std::vector<Record> records, std::string name)
      : records_(std::move(records)), name_(std::move(name)) {
    if (records_.empty()) {
      faults_.push_back({{name_, 0, 0}, "", "the file is empty", "give a CSV with a header line"});
      return;
    }
    const auto& header = records_.front().fields;
    for (std::size_t i = 0; i < header.size(); ++i) columns_[header[i]] = i;
    for (const char* needed : {"id", "kind", "model", "hardware", "nodes", "tp", "pp", "dp", "global_batch",
                               "seq_len", "step_s"}) {
      if (columns_.count(needed) == 0) {
        faults_.push_back(
            {{name_, 1, 1}, needed, "the column is missing", "see catalog/measured-runs.md for the columns"});
      }
    }
  }

  std::vector<MeasuredRun> read() {
    std::vector<MeasuredRun> runs;
    for (std::size_t i = 1; faults_.empty() && i < records_.size(); ++i) rows_.push_back(&records_[i]);
    for (const Record* r : rows_) {
      row_ = r;
      if (r->fields.size() != records_.front().fields.size()) {
        fault("",
              std::to_string(r->fields.size()) + " fields, the header has " +
                  std::to_string(records_.front().fields.size()),
              "quote fields that hold commas");
        continue;
      }
      runs.push_back(read_row());
    }
    if (!faults_.empty()) throw InputError(std::move(faults_));
    return runs;
  }

 private:
  std::string_view text(const char* column) const {
    const auto it = columns_.find(column);
    return it == columns_.end() ? std::string_view{} : std::string_view(row_->fields[it->second]);
  }

  void fault(const std::string& column, std::string problem, std::string fix) {
    faults_.push_back({{name_, row_->line, 1}, column, std::move(problem), std::move(fix)});
  }

  std::optional<double> number(const char* column) {
    const std::string_view t = text(column);
    if (t.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
    if (error != std::errc() || end != t.data() + t.size() || !std::isfinite(value) || value < 0) {
      fault(column, "\"" + printable(t) + "\" is not a number of at least 0",
            "correct the field or leave it empty");
      return std::nullopt;
    }
    return value;
  }

  int whole(const char* column, int fallback) {
    const auto value = number(column);
    if (!value) return fallback;
    if (*value != std::floor(*value) || *value > 1e9) {
      fault(column, "not a whole number", "correct the field or leave it empty");
      return fallback;
    }
    return static_cast<int>(*value);
  }

  /// Sequences, or "16M tokens" as some publications state it.
  int batch(int sequence) {
    constexpr std::string_view kTokens = " tokens";
    std::string_view t = text("global_batch");
    if (!t.ends_with(kTokens)) return whole("global_batch", 0);
    t.remove_suffix(kTokens.size());
    const auto tokens = parse_count(t);
    if (!tokens) fault("global_batch", "not a number of tokens", "write for example 16M tokens");
    return tokens && sequence > 0 ? static_cast<int>(std::min(*tokens / sequence, 1e9)) : 0;
  }

  MeasuredRun read_row() {
    MeasuredRun run;
    run.id = text("id");
    run.kind = text("kind");
    run.quality = text("quality");
    run.source = text("source");
    run.release = text("release");
    run.model = text("model");
    run.hardware = text("hardware");
    run.nodes = whole("nodes", 0);
    run.sequence = whole("seq_len", 0);
    run.global_batch = batch(run.sequence);
    run.step_seconds = number("step_s");
    models::Strategy& s = run.strategy;
    s.tensor_parallel = whole("tp", 1);
    s.pipeline_parallel = whole("pp", 1);
    s.virtual_pipeline = whole("vpp", 1);
    s.context_parallel = whole("cp", 1);
    s.data_parallel = whole("dp", 1);
    s.micro_batch = whole("micro_batch", 1);
    s.sequence_parallel = text("sp") == "yes";
    s.zero1 = text("zero1") == "yes";
    s.flash_attention = text("flash_attn") == "yes";
    s.recompute = recompute_of(text("recompute"));
    s.precision = precision_of(text("precision"));
    return run;
  }

  std::vector<Record> records_;
  std::string name_;
  std::map<std::string, std::size_t> columns_;
  std::vector<const Record*> rows_;
  const Record* row_ = nullptr;
  std::vector<Diagnostic> faults_;
};

}  // namespace

std::vector<MeasuredRun> parse_measured_runs(const std::string& text, const std::string& name) {
  return Table(split_csv(text), name).read();
}

}  // namespace trnplan::calibrate
