#include "calibrate/detect.h"

#include <algorithm>
#include <map>
#include <utility>

#include "calibrate/compiler_lines.h"
#include "calibrate/event_file.h"
#include "calibrate/hf_metrics.h"
#include "calibrate/json_reader.h"
#include "calibrate/kineto.h"
#include "calibrate/log_lines.h"
#include "calibrate/measured_runs.h"
#include "calibrate/megatron_lines.h"
#include "calibrate/nccom_json.h"
#include "calibrate/neuron_monitor.h"
#include "calibrate/neuron_profile.h"
#include "calibrate/nxd_lines.h"
#include "calibrate/profile_tables.h"
#include "calibrate/progress_bars.h"
#include "calibrate/results_json.h"

namespace trnplan::calibrate {

namespace {

constexpr std::string_view kMonitorKey = "\"neuron_runtime_data\"";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kBinaryProbe = 4096;

enum class Json { none, nccom, monitor, summary, device, kineto, results, trainer, system };

/// By the keys at the top, and one level below.
class JsonKind {
 public:
  static Json of(std::string_view text) {
    JsonKind kind(text);
    if (kind.json_.peek() == JsonReader::Kind::array) {
      kind.json_.array([&] { kind.read_element(); });
    } else {
      kind.json_.object([&](std::string_view key) { kind.read_entry(key); });
    }
    return kind.found_;
  }

 private:
  explicit JsonKind(std::string_view text) : json_(text) {}

  void note(Json kind) {
    if (found_ == Json::none) found_ = kind;
  }

  void read_element() {
    if (found_ != Json::none || json_.peek() != JsonReader::Kind::object) return;
    json_.object([&](std::string_view key) {
      if (key == "size(B)") note(Json::nccom);
      if (key == "ph") note(Json::kineto);
    });
  }

  void read_entry(std::string_view key) {
    static constexpr std::pair<std::string_view, Json> kKeys[] = {{"neuron_runtime_data", Json::monitor},
                                                                  {"traceEvents", Json::kineto},
                                                                  {"trace_events", Json::system},
                                                                  {"summary", Json::device},
                                                                  {"instruction", Json::device},
                                                                  {"cc_ops", Json::device},
                                                                  {"train_steps_per_second", Json::trainer},
                                                                  {"train_runtime", Json::trainer},
                                                                  {"total_time", Json::summary}};
    for (const auto& [name, kind] : kKeys) {
      if (key == name) note(kind);
    }
    if (found_ != Json::none) return;
    if (key == "results") {
      if (json_.peek() == JsonReader::Kind::array) note(Json::nccom);
      if (json_.peek() == JsonReader::Kind::object) note(Json::results);
    } else if (json_.peek() == JsonReader::Kind::object) {
      json_.object([&](std::string_view inner) {
        if (inner == "total_time") note(Json::summary);
      });
    }
  }

  JsonReader json_;
  Json found_ = Json::none;
};

class Detector {
 public:
  Detector(std::string_view text, const std::string& name, const NccomCommand& fallback)
      : text_(text), name_(name), fallback_(fallback) {}

  Detected detect() {
    refuse_unread();
    if (is_event_file(text_)) {
      read_event_file(text_, name_, samples_);
      found("TensorBoard event file", 1);
    } else if (!read_table() && !read_json()) {
      read_log();
    }
    if (result_.kinds.empty()) refuse_unknown();
    return finish();
  }

 private:
  [[noreturn]] void refuse(std::string problem, std::string fix) const {
    throw InputError({{name_, 0, 0}, "", std::move(problem), std::move(fix)});
  }

  void refuse_unread() const {
    if (text_.find_first_not_of(kBlanks) == std::string_view::npos) {
      refuse("the file is empty", "give a log, or output of a Neuron tool");
    }
    if (text_.starts_with("\x1f\x8b")) refuse("packed with gzip", "unpack it first: gunzip FILE");
    if (text_.starts_with("PAR1")) {
      refuse("a Parquet file, which is not read",
             "write it as CSV: duckdb -c \"COPY (SELECT * FROM 'CcOp.parquet') TO 'CcOp.csv' (HEADER)\"");
    }
    if (text_.find("# time inside a compiled graph") != std::string_view::npos) {
      refuse("a table of trnplan collective --in-graph: its times lack launch and barrier",
             "make it without --in-graph");
    }
  }

  [[noreturn]] void refuse_unknown() const {
    if (text_.substr(0, kBinaryProbe).find('\0') != std::string_view::npos) {
      refuse("a binary file of no known kind",
             "give what the tools print as text, JSON or CSV (neuron-profile view --output-format "
             "summary-json)");
    }
    refuse(
        "nothing in it is known: no step of a training run, no nccom-test table, no profile, no memory "
        "report",
        "give a training log, or output of nccom-test, neuron-monitor or neuron-profile view");
  }

  void found(std::string kind, std::size_t pieces) {
    if (pieces > 0) result_.kinds.push_back({std::move(kind), pieces});
  }

  bool read_table() {
    std::string_view heading = text_.substr(0, text_.find_first_of("\r\n"));
    if (heading.starts_with("\xEF\xBB\xBF")) heading.remove_prefix(3);
    const auto has = [&](std::string_view column) { return heading.find(column) != std::string_view::npos; };
    if (!has(",")) return false;
    if (has("measured_us")) {
      result_.points = parse_measured_collectives(text_, name_);
      found("published point", result_.points.size());
    } else if (has("device_us") && has("kernel")) {
      result_.kernels = parse_measured_kernels(text_, name_);
      found("published kernel", result_.kernels.rows);
    } else if (has("step_s") && has("hardware") && has("kind")) {
      result_.runs = parse_measured_runs(std::string(text_), name_);
      found("published run", result_.runs.size());
    } else if (const ProfileTable table = profile_table_of(text_); table != ProfileTable::none) {
      read_profile_table(text_, name_, samples_);
      found(table == ProfileTable::collectives ? "CcOp table" : "Instruction table", 1);
    } else {
      return false;
    }
    return true;
  }

  bool read_json() {
    const std::size_t start = text_.find_first_not_of(kBlanks);
    if (text_[start] != '{' && text_[start] != '[') return false;
    const Json kind = JsonKind::of(text_);
    if (kind == Json::none) return false;
    if (kind == Json::monitor) return read_monitor(start);
    JsonReader json(text_);
    switch (kind) {
      case Json::nccom:
        result_.tables.push_back(read_nccom_report(json, fallback_, name_));
        found("nccom-test report", 1);
        break;
      case Json::summary:
        read_summaries(json);
        break;
      case Json::trainer:
        read_trainer(json);
        break;
      case Json::device:
        read_device_profile(json, name_, samples_);
        found("device profile", 1);
        break;
      case Json::kineto:
        read_kineto(json, name_, samples_);
        found("Kineto trace", 1);
        break;
      case Json::results:
        json.object([&](std::string_view key) {
          if (key == "results") read_results(json, name_, samples_);
        });
        found("results.json", 1);
        break;
      case Json::system:
      case Json::monitor:
      case Json::none:
        found("system profile", 1);
        samples_.warnings.add({name_, 1, 1}, "trace_events",
                              "a system profile: it says nothing of steps that is read",
                              "give neuron-profile view --output-format summary-json of the device profile");
        return true;
    }
    if (json.failed()) {
      samples_.warnings.add({name_, json.line(), 0}, "", json.problem() + "; what stands before it is read",
                            "give the file as the tool wrote it");
    }
    return true;
  }

  void read_summaries(JsonReader& json) {
    bool bare = false;
    json.object([&](std::string_view key) {
      bare |= key == "total_time";
      if (!bare && json.peek() == JsonReader::Kind::object) {
        read_profile_summary(json, std::string(key), name_, samples_);
      }
    });
    if (bare) {
      JsonReader again(text_);
      read_profile_summary(again, "", name_, samples_);
    }
    found("profile summary", 1);
  }

  void read_trainer(JsonReader& json) {
    std::map<std::string, double, std::less<>> metrics;
    json.object([&](std::string_view key) {
      if (!key.starts_with("train_") || metrics.size() == 100) return;
      if (const auto value = json.number()) metrics.insert_or_assign(std::string(key), *value);
    });
    if (auto sample = hf_sample(metrics, {name_, 1, 1}, json.line())) {
      samples_.steps.push_back(std::move(*sample));
    } else {
      samples_.warnings.add({name_, 1, 1}, "train_steps_per_second", "these metrics lack it",
                            "give the whole file");
    }
    found("Trainer metrics", 1);
  }

  /// Reports one after the other; behind a damaged one the next line that opens one is taken.
  bool read_monitor(std::size_t start) {
    NeuronMonitor monitor(name_);
    int line = 1 + static_cast<int>(
                       std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
    while (start < text_.size()) {
      std::size_t next = start;
      if (text_[start] == '{') {
        JsonReader json(text_, start, line);
        monitor.read(json, samples_);
        if (!json.failed()) next = json.offset();
      }
      // To the next line, or the next report in this one.
      const std::size_t end = next > start ? text_.find_first_not_of(kBlanks, next) : text_.find('\n', start);
      next = end == std::string_view::npos ? text_.size() : next > start ? end : end + 1;
      line += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(start),
                                          text_.begin() + static_cast<std::ptrdiff_t>(next), '\n'));
      start = next;
    }
    found("neuron-monitor report", static_cast<std::size_t>(monitor.reports()));
    monitor.finish(samples_);
    return true;
  }

  void read_log() {
    ProgressBars bars(name_);
    NxdLines nxd(name_);
    MegatronLines megatron(name_);
    HfMetrics trainer(name_);
    CompilerLines compiler(name_);
    NeuronMonitor monitor(name_);
    std::size_t bar_lines = 0, nxd_lines = 0, megatron_lines = 0, trainer_lines = 0, compiler_lines = 0;
    for (LogLines lines(text_); lines.next();) {
      const LogLine& line = lines.line();
      if (trimmed(line.text).starts_with('{')) {
        if (line.text.find(kMonitorKey) == std::string_view::npos) continue;
        JsonReader json(line.text, line.text.find('{'), line.number);
        monitor.read(json, samples_);
        continue;
      }
      trainer_lines += trainer.read(line, samples_);
      if (bars.read(line, samples_)) {
        ++bar_lines;
      } else if (nxd.read(line, samples_)) {
        ++nxd_lines;
      } else if (megatron.read(line, samples_)) {
        ++megatron_lines;
      } else {
        compiler_lines += compiler.read(line, samples_);
      }
    }
    bars.finish(samples_);
    nxd.finish(samples_);
    megatron.finish(samples_);
    trainer.finish(samples_);
    compiler.finish(samples_);
    const auto reports = static_cast<std::size_t>(monitor.reports());
    monitor.finish(samples_);
    found("progress-bar line", bar_lines);
    found("NxD line", nxd_lines);
    found("Megatron iteration", megatron_lines);
    found("Trainer metrics line", trainer_lines);
    found("compiler line", compiler_lines);
    found("neuron-monitor report", reports);
    read_tables();
  }

  void read_tables() {
    if (text_.find("size(B)") == std::string_view::npos) return;
    try {
      result_.tables = parse_nccom_test(text_, name_, fallback_);
    } catch (const InputError& e) {
      // Words without a table, or too many tables: the rest of the log still counts.
      if (result_.kinds.empty()) throw;
      for (const Diagnostic& fault : e.faults()) {
        samples_.warnings.add(fault.at, fault.key, fault.problem, fault.fix);
      }
    }
    found("nccom-test table", result_.tables.size());
  }

  Detected finish() {
    result_.steps = std::move(samples_.steps);
    result_.memory = std::move(samples_.memory);
    result_.collectives = std::move(samples_.collectives);
    result_.devices = std::move(samples_.devices);
    result_.skipped = samples_.warnings.take();
    const auto by_line = [](const auto& a, const auto& b) { return a.at.line < b.at.line; };
    std::stable_sort(result_.steps.begin(), result_.steps.end(), by_line);
    std::stable_sort(result_.skipped.begin(), result_.skipped.end(), by_line);
    return std::move(result_);
  }

  std::string_view text_;
  const std::string& name_;
  const NccomCommand& fallback_;
  Samples samples_;
  Detected result_;
};

}  // namespace

Detected detect(std::string_view text, const std::string& name, const NccomCommand& fallback) {
  return Detector(text, name, fallback).detect();
}

}  // namespace trnplan::calibrate
