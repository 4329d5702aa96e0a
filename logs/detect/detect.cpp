#include "logs/detect/detect.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "logs/detect/json_kind.h"
#include "logs/detect/log_reader.h"
#include "logs/detect/report_window.h"
#include "logs/nccl/torch_pickle.h"
#include "logs/nccom/bounds.h"
#include "logs/nccom/nccom_json.h"
#include "logs/profile/kineto.h"
#include "logs/profile/neuron_monitor.h"
#include "logs/profile/neuron_profile.h"
#include "logs/profile/nsys_export.h"
#include "logs/profile/parquet_footer.h"
#include "logs/profile/profile_tables.h"
#include "logs/profile/sqlite_tables.h"
#include "logs/table/kernel_times.h"
#include "logs/table/measured_runs.h"
#include "logs/training/event_file.h"
#include "logs/training/hf_metrics.h"
#include "logs/training/results_json.h"
#include "text/gzip_stream.h"
#include "text/json_reader.h"
#include "text/line_splitter.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kHead = 1 << 20;  ///< bytes that show what a file is

class Detector {
 public:
  Detector(HeadedStream& bytes, const std::string& name, const NccomCommand& fallback, StepSink* sink)
      : bytes_(bytes), head_(bytes.head()), name_(name), fallback_(fallback), sink_(sink) {
    samples_.sink = sink;
  }

  Detected detect() {
    if (is_parquet(head_)) return read_parquet();
    refuse_unread(head_, name_);
    refuse_own_table(head_, name_);
    if (is_event_file(head_)) {
      read_events();
    } else if (is_sqlite(head_)) {
      read_nsys_export(bytes_, name_, samples_);
      found("Nsight Systems export", 1);
    } else if (is_torch_pickle(head_)) {
      read_pickle();
    } else if (!read_table() && !read_json() && !read_nccl()) {
      read_log();
    }
    if (result_.kinds.empty()) throw InputError(unknown_content(head_, name_));
    take_samples(std::move(samples_), result_);
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string problem, std::string fix) const {
    throw InputError({{name_, 0, 0}, "", std::move(problem), std::move(fix)});
  }

  void found(std::string kind, std::size_t pieces) {
    if (pieces > 0) result_.kinds.push_back({std::move(kind), pieces});
  }

  template <class Each>
  void each_chunk(Each&& each) {
    std::string chunk;
    while (append_from(bytes_, chunk)) {
      each(std::string_view(chunk));
      chunk.clear();
    }
  }

  template <class Each>
  void each_line(Each&& each) {
    LineSplitter lines;
    each_chunk([&](std::string_view chunk) { lines.feed(chunk, each); });
    lines.finish(each);
  }

  /// Its footer is at the end: bytes that come in order are held.
  Detected read_parquet() {
    std::string all;
    const bool in_order = !bytes_.size();
    while (in_order && append_from(bytes_, all)) {
      if (all.size() > kWholeMost) {
        refuse(
            fmt::format("a Parquet file above {} MiB cannot be read from a pipe or gzip", kWholeMost >> 20),
            "give the file itself, unpacked");
      }
    }
    TextStream held(all);
    const ProfileTable table =
        read_parquet_table(in_order ? static_cast<ByteStream&>(held) : bytes_, name_, samples_);
    if (table == ProfileTable::none) {
      refuse(
          "a Parquet file without the columns of a table that is read: CcOp, Instruction, Summary or "
          "Metadata",
          "give the folder of the profile, or these tables of it");
    }
    found(table_name(table), 1);
    take_samples(std::move(samples_), result_);
    return std::move(result_);
  }

  static const char* table_name(ProfileTable table) {
    switch (table) {
      case ProfileTable::collectives:
        return "CcOp table";
      case ProfileTable::instructions:
        return "Instruction table";
      case ProfileTable::summary:
        return "Summary table";
      case ProfileTable::metadata:
        return "Metadata table";
      case ProfileTable::none:
        return "table";
    }
    return "table";
  }

  void read_events() {
    EventFile events(name_);
    each_chunk([&](std::string_view chunk) { events.feed(chunk); });
    events.finish(samples_);
    found("TensorBoard event file", 1);
  }

  std::string whole(const char* what, const char* fix) {
    std::string text;
    while (append_from(bytes_, text)) {
      if (text.size() > kWholeMost) refuse(fmt::format("{} larger than {} MiB", what, kWholeMost >> 20), fix);
    }
    return text;
  }

  /// A table of measurements, with all its faults reported at once.
  std::string whole_table() {
    return whole("a table of measurements",
                 "split it by rows, each part with the heading, and give them all");
  }

  bool read_table() {
    std::string_view heading = head_.substr(0, head_.find_first_of("\r\n"));
    if (heading.starts_with("\xEF\xBB\xBF")) heading.remove_prefix(3);
    const auto has = [&](std::string_view column) { return heading.find(column) != std::string_view::npos; };
    if (!has(",")) return false;
    if (has("measured_us")) {
      result_.points = parse_measured_collectives(whole_table(), name_);
      found("published point", result_.points.size());
    } else if (has("device_us") && has("kernel")) {
      result_.kernels = parse_measured_kernels(whole_table(), name_);
      found("published kernel", result_.kernels.rows);
    } else if (is_kernel_times(heading)) {
      result_.times = parse_kernel_times(whole_table(), name_);
      found("timed kernel", result_.times.size());
    } else if (has("step_s") && has("hardware") && has("kind")) {
      result_.runs = parse_measured_runs(whole_table(), name_);
      found("published run", result_.runs.size());
    } else if (const ProfileTable table = profile_table_of(head_); table != ProfileTable::none) {
      read_profile_table(bytes_, name_, samples_);
      found(table_name(table), 1);
    } else {
      return false;
    }
    return true;
  }

  bool read_nccl() {
    if (!looks_like_nccl_tests(head_)) return false;
    NcclReader reader(name_);
    each_line([&](const RawLine& line) { reader.read(line.text, line.number); });
    result_.nccl = reader.finish();
    found("nccl-tests table", result_.nccl.size());
    return true;
  }

  bool read_json() {
    const std::size_t start = head_.find_first_not_of(kBlanks);
    if (start == std::string_view::npos || (head_[start] != '{' && head_[start] != '[')) return false;
    const JsonKind kind = json_kind();
    if (kind == JsonKind::none) return false;
    if (kind == JsonKind::monitor) return read_monitor();
    JsonReader json(bytes_);
    switch (kind) {
      case JsonKind::nccom:
        result_.tables.push_back(read_nccom_report(json, fallback_, name_));
        found("nccom-test report", 1);
        break;
      case JsonKind::summary:
        read_summaries(json);
        break;
      case JsonKind::trainer:
        read_trainer(json);
        break;
      case JsonKind::device:
        read_device_profile(json, name_, samples_);
        found("device profile", 1);
        break;
      case JsonKind::kineto:
        read_kineto(json, name_, samples_);
        found("Kineto trace", 1);
        break;
      case JsonKind::flight:
        read_flight(json);
        break;
      case JsonKind::results:
        json.object([&](std::string_view key) {
          if (key == "results") read_results(json, name_, samples_);
        });
        found("results.json", 1);
        break;
      case JsonKind::system:
      case JsonKind::monitor:
      case JsonKind::none:
        found("system profile", 1);
        samples_.warnings.add({name_, 1, 1}, "trace_events",
                              "a system profile: nothing in it about steps is read",
                              "give neuron-profile view --output-format summary-json of the device profile");
        return true;
    }
    if (json.failed()) {
      samples_.warnings.add({name_, json.line(), 0}, "", json.problem() + "; what comes before it is read",
                            "give the file itself as the tool wrote it");
    }
    return true;
  }

  void read_flight(JsonReader& json) {
    FlightReading reading = read_flight_dump(json, name_, samples_);
    result_.dumps.push_back(std::move(reading.dump));
    result_.nccl = std::move(reading.tables);
    found("flight recorder dump", 1);
  }

  void read_pickle() {
    const std::string text = json_of_torch_pickle(
        whole("a pickle", "record fewer collectives: TORCH_NCCL_TRACE_BUFFER_SIZE"), name_);
    JsonReader json(text);
    if (json_kind_of(json) != JsonKind::flight)
      refuse("a pickle of torch, and no dump of its flight recorder",
             "give the file of TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    JsonReader again(text);
    read_flight(again);
  }

  /// A kind that only keys after the head show is found only if the bytes can be read twice.
  JsonKind json_kind() {
    JsonReader head(head_);
    const JsonKind kind = json_kind_of(head);
    if (kind != JsonKind::none || head_.size() < kHead || !bytes_.twice()) return kind;
    JsonReader all(bytes_);
    const JsonKind found = json_kind_of(all);
    bytes_.rewind();
    return found;
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
      if (!bytes_.rewind())
        refuse("a profile summary this long cannot be read from a pipe", "give the file itself");
      JsonReader again(bytes_);
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

  /// Reads reports one after the other; after a damaged one it continues at the next line that opens a
  /// report.
  bool read_monitor() {
    NeuronMonitor monitor(name_);
    ReportWindow window(bytes_);
    for (window.skip_blanks(); !window.over();) {
      if (window.opens() && window.read(monitor, samples_)) {
        window.skip_blanks();
      } else {
        window.skip_line();
      }
    }
    found("neuron-monitor report", static_cast<std::size_t>(monitor.reports()));
    monitor.finish(samples_);
    return true;
  }

  void read_log() {
    LogReader reader(name_, fallback_);
    each_line([&](const RawLine& line) { reader.read(line, sink_); });
    if (reader.blank()) refuse("the file is empty", "give a log, or output of a Neuron tool");
    result_ = reader.finish();
    if (result_.kinds.empty()) throw InputError(unknown_content(head_, name_));
  }

  HeadedStream& bytes_;
  std::string_view head_;
  const std::string& name_;
  const NccomCommand& fallback_;
  StepSink* sink_;
  Samples samples_;
  Detected result_;
};

std::string head_of(ByteStream& bytes) {
  std::string head;
  while (head.size() < kHead && append_from(bytes, head, kHead - head.size())) {
  }
  return head;
}

/// Contents of a gzip file: of damaged data the part before the damage, with a warning.
Detected detect_packed(ByteStream& packed, const std::string& name, const NccomCommand& fallback,
                       StepSink* sink) {
  GzipStream bytes(packed, name);
  HeadedStream headed(head_of(bytes), bytes);
  if (headed.head().empty() && bytes.fault()) throw InputError(*bytes.fault());
  Detected result = Detector(headed, name, fallback, sink).detect();
  if (bytes.fault()) result.skipped.push_back(*bytes.fault());
  return result;
}

}  // namespace

Detected detect(ByteStream& bytes, const std::string& name, const NccomCommand& fallback, StepSink* sink) {
  HeadedStream headed(head_of(bytes), bytes);
  return is_gzip(headed.head()) ? detect_packed(headed, name, fallback, sink)
                                : Detector(headed, name, fallback, sink).detect();
}

Detected detect(std::string_view text, const std::string& name, const NccomCommand& fallback) {
  TextStream stream(text);
  return detect(stream, name, fallback);
}

}  // namespace trnplan::logs
