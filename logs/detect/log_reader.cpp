#include "logs/detect/log_reader.h"

#include <utility>

#include "text/json_reader.h"

namespace trnplan::logs {

namespace {

constexpr std::string_view kMonitorKey = "\"neuron_runtime_data\"";

}  // namespace

LogReader::LogReader(const std::string& name, const NccomCommand& fallback)
    : name_(name),
      bars_(name),
      nxd_(name),
      megatron_(name),
      titan_(name),
      trainer_(name),
      compiler_(name),
      monitor_(name),
      tables_(name, fallback) {}

const LogLine& LogReader::read(const RawLine& raw, StepSink* sink) {
  line_ = log_line(raw.text, raw.number, !raw.ended, clean_);
  blank_ = blank_ && raw.text.find_first_not_of(" \t") == std::string_view::npos;
  refuse_own_table(raw.text, name_);
  read_tables(raw);
  if (trimmed(line_.text).starts_with('{')) {
    if (line_.text.find(kMonitorKey) != std::string_view::npos) {
      JsonReader json(line_.text, line_.text.find('{'), line_.number);
      monitor_.read(json, samples_);
    }
    return line_;
  }
  samples_.sink = sink;
  trainer_lines_ += trainer_.read(line_, samples_);
  if (bars_.read(line_, samples_)) {
    ++bar_lines_;
  } else if (nxd_.read(line_, samples_)) {
    ++nxd_lines_;
  } else if (megatron_.read(line_, samples_)) {
    ++megatron_lines_;
  } else if (titan_.read(line_, samples_)) {
    ++titan_lines_;
  } else {
    compiler_lines_ += compiler_.read(line_, samples_);
  }
  samples_.sink = nullptr;
  return line_;
}

void LogReader::read_tables(const RawLine& line) {
  table_words_ = table_words_ || line.text.find(kNccomSize) != std::string_view::npos;
  if (table_faults_) return;
  try {
    tables_.read(line);
  } catch (const InputError& e) {
    table_faults_ = e;
  }
}

/// Words without a table, or too many tables: the rest of the log still counts.
void LogReader::finish_tables(Detected& result) {
  if (!table_words_) return;
  try {
    if (!table_faults_) result.tables = tables_.finish();
    if (!table_faults_ && result.tables.empty()) table_faults_ = no_nccom_table(name_);
  } catch (const InputError& e) {
    table_faults_ = e;
  }
  if (!table_faults_) return;
  if (result.kinds.empty()) throw InputError(*table_faults_);
  for (const Diagnostic& fault : table_faults_->faults()) {
    samples_.warnings.add(fault.at, fault.key, fault.problem, fault.fix);
  }
}

Detected LogReader::finish() {
  Detected result;
  const auto found = [&](const char* kind, std::size_t pieces) {
    if (pieces > 0) result.kinds.push_back({kind, pieces});
  };
  bars_.finish(samples_);
  nxd_.finish(samples_);
  megatron_.finish(samples_);
  titan_.finish(samples_);
  trainer_.finish(samples_);
  compiler_.finish(samples_);
  const auto reports = static_cast<std::size_t>(monitor_.reports());
  monitor_.finish(samples_);
  found("progress-bar line", bar_lines_);
  found("NxD line", nxd_lines_);
  found("Megatron iteration", megatron_lines_);
  found("TorchTitan step", titan_lines_);
  found("Trainer metrics line", trainer_lines_);
  found("compiler line", compiler_lines_);
  found("neuron-monitor report", reports);
  finish_tables(result);
  found("nccom-test table", result.tables.size());
  take_samples(std::move(samples_), result);
  return result;
}

}  // namespace trnplan::logs
