#include "logs/detect/log_reader.h"

#include <utility>

#include "text/json_reader.h"

namespace trnplan::logs {

namespace {

constexpr std::string_view kMonitorKey = "\"neuron_runtime_data\"";

template <class Tuple, std::size_t... I>
Tuple made_of(const std::string& name, std::index_sequence<I...>) {
  return Tuple(std::tuple_element_t<I, Tuple>(name)...);
}
/// Constructs each reader from the file's name.
template <class Tuple>
Tuple made_of(const std::string& name) {
  return made_of<Tuple>(name, std::make_index_sequence<std::tuple_size_v<Tuple>>());
}

}  // namespace

LogReader::LogReader(const std::string& name, const NccomCommand& fallback)
    : name_(name),
      trainer_(name),
      readers_(made_of<LineReaders>(name)),
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
    samples_.sink = sink;
    const bool metrics = std::get<ProgressBars>(readers_).read_metrics(line_, samples_);
    trainer_lines_ += metrics || trainer_.read_dict(line_) ? 1 : 0;
    samples_.sink = nullptr;
    return line_;
  }
  samples_.sink = sink;
  trainer_lines_ += trainer_.read(line_, samples_);
  std::apply(
      [&](auto&... reader) {
        std::size_t i = 0;
        const auto takes = [&](auto& one) {
          const bool taken = one.read(line_, samples_);
          lines_[i++] += taken ? 1 : 0;
          return taken;
        };
        (void)(takes(reader) || ...);
      },
      readers_);
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

/// Adds the tables. Words without a table, or too many tables, do not affect the rest of the log.
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
  std::apply([&](auto&... reader) { (reader.finish(samples_), ...); }, readers_);
  trainer_.finish(samples_);
  const auto reports = static_cast<std::size_t>(monitor_.reports());
  monitor_.finish(samples_);
  std::apply(
      [&](const auto&... reader) {
        std::size_t i = 0;
        (found(reader.kKind, lines_[i++]), ...);
      },
      readers_);
  found(HfMetrics::kKind, trainer_lines_);
  found("neuron-monitor report", reports);
  finish_tables(result);
  found("nccom-test table", result.tables.size());
  take_samples(std::move(samples_), result);
  return result;
}

}  // namespace trnplan::logs
