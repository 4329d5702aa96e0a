#include "logs/profile/neuron_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "logs/nccom/bounds.h"
#include "logs/nccom/collective_groups.h"
#include "logs/profile/profile_tables.h"

namespace trnplan::logs {

namespace {

constexpr double kCountMost = 1e24;    ///< FLOPs and bytes of a graph
constexpr double kPercentAbove = 1.5;  ///< no fraction is larger
constexpr double kClockLeast = 1e8, kClockMost = 1e10;
constexpr std::size_t kOperations = 2'000'000;
constexpr std::string_view kEngine = "_engine_active_time";

std::optional<double> metric(const ProfileMetrics& metrics, std::string_view key, double most) {
  const auto found = metrics.find(key);
  if (found == metrics.end() || found->second < 0 || found->second > most) return std::nullopt;
  return found->second;
}

/// Nanoseconds as printed, exactly while they are subtracted.
struct Span {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;

  void add(std::int64_t start, std::int64_t duration) {
    first = std::min(first, start);
    last = std::max(last,
                    start > std::numeric_limits<std::int64_t>::max() - duration ? start : start + duration);
  }
  double length() const { return first < last ? static_cast<double>(last - first) : 0; }
};

/// An operation before the unit of its time is known.
struct Raw {
  TimedOperation operation;
  double duration = 0;
  int line = 0;
};

class DeviceProfile {
 public:
  DeviceProfile(JsonReader& json, const std::string& name, Samples& out)
      : json_(json), name_(name), out_(out) {}

  void read() {
    const SourcePos at{name_, json_.line(), 1};
    const std::size_t before = out_.devices.size();
    json_.object([&](std::string_view key) {
      if (key == "summary") {
        json_.array([&] { read_profile_summary(json_, "", name_, out_); });
      } else if (key == "metadata") {
        read_metadata();
      } else if (key == "instruction") {
        json_.array([&] { read_instruction(); });
      } else if (key == "cc_ops") {
        json_.array([&] { read_operation(); });
      }
    });
    if (simulated_) {
      out_.devices.resize(before);
      warn_simulated(at, out_);
      return;
    }
    const double unit = unit_of_time(before);
    DeviceSample* device = before < out_.devices.size() ? &out_.devices[before] : nullptr;
    if (device == nullptr && span_.length() > 0 && span_.length() * unit <= kSecondsMost) {
      out_.devices.push_back({});
      device = &out_.devices.back();
      device->at = at;
      device->seconds = span_.length() * unit;
    }
    if (device != nullptr) {
      for (const auto& [engine, busy] : engines_) device->engine_seconds[engine] += busy * unit;
    }
    CollectiveGroups groups;
    for (Raw& raw : operations_) {
      raw.operation.seconds = raw.duration * unit;
      if (!groups.add(raw.operation, {name_, raw.line, 1})) ++unusable_;
    }
    groups.finish(out_);
    if (unusable_ > 0) {
      out_.warnings.add(at, "cc_ops",
                        fmt::format("{} collective{} without size or duration {} left out", unusable_,
                                    unusable_ == 1 ? "" : "s", unusable_ == 1 ? "is" : "are"),
                        "give the profile as the tool wrote it");
    }
  }

 private:
  void read_metadata() {
    const auto one = [&] {
      json_.object([&](std::string_view key) {
        if (key != "is_simulation") return;
        simulated_ |= json_.word() == "true";
      });
    };
    if (json_.peek() == JsonReader::Kind::array) {
      json_.array(one);
    } else {
      one();
    }
  }

  void read_instruction() {
    std::optional<std::int64_t> start, duration;
    std::string engine;
    json_.object([&](std::string_view key) {
      if (key == "timestamp") start = json_.whole();
      if (key == "duration") duration = json_.whole();
      if (key == "label" || (key == "subgroup" && engine.empty())) engine = json_.text(40);
    });
    if (!start || !duration) return;
    span_.add(*start, *duration);
    if (!engine.empty() && (engines_.size() < kEnginesMost || engines_.contains(engine))) {
      engines_[printable(engine, 40)] += static_cast<double>(*duration);
    }
  }

  void read_operation() {
    Raw raw;
    raw.line = json_.line();
    std::optional<std::int64_t> start, duration;
    json_.object([&](std::string_view key) {
      if (key == "timestamp" || key == "start_ts") {
        start = json_.whole();
      } else if (key == "duration" || key == "duration_ns") {
        duration = json_.whole();
      } else if (key == "operation") {
        raw.operation.op = json_.text(80);
      } else if (key == "dtype") {
        raw.operation.type = json_.text(20);
      } else if (key == "algorithm") {
        raw.operation.algorithm = json_.text(40);
      } else if (key == "input_size" || key == "output_size") {
        raw.operation.bytes = std::max(raw.operation.bytes, json_.number().value_or(0));
      } else if (key == "replica_group" && json_.peek() == JsonReader::Kind::text) {
        raw.operation.ranks = first_group_size(json_.text());
      }
    });
    if (start && duration) span_.add(*start, *duration);
    if (!duration || raw.operation.op.empty() || operations_.size() == kOperations) {
      ++unusable_;
      return;
    }
    raw.duration = static_cast<double>(*duration);
    operations_.push_back(std::move(raw));
  }

  double unit_of_time(std::size_t device) const {
    constexpr double kPico = 1e-12;
    if (device >= out_.devices.size() || span_.length() == 0) return kNano;
    // The two differ by a factor of 1000; the nearer one on a logarithmic scale.
    return span_.length() * kNano / out_.devices[device].seconds > std::sqrt(kNano / kPico) ? kPico : kNano;
  }

  JsonReader& json_;
  const std::string& name_;
  Samples& out_;
  bool simulated_ = false;
  Span span_;
  std::map<std::string, double> engines_;
  std::vector<Raw> operations_;
  int unusable_ = 0;
};

}  // namespace

bool is_profile_metric(std::string_view key) {
  static constexpr std::string_view kWanted[] = {"total_time",
                                                 "total_active_time",
                                                 "model_flops",
                                                 "hardware_flops",
                                                 "hbm_read_bytes",
                                                 "hbm_write_bytes",
                                                 "cc_op_time",
                                                 "cc_op_active_time",
                                                 "mfu_estimated_percent",
                                                 "neuroncore_cycle_count"};
  return key.ends_with(kEngine) ||
         std::find(std::begin(kWanted), std::end(kWanted), key) != std::end(kWanted);
}

void warn_simulated(const SourcePos& at, Samples& out) {
  out.warnings.add(at, "is_simulation", "an estimate of the compiler, not a measurement; left out",
                   "give a profile captured on a device");
}

void read_profile_summary(JsonReader& json, const std::string& graph, const std::string& name, Samples& out) {
  const SourcePos at{name, json.line(), 1};
  ProfileMetrics metrics;
  json.object([&](std::string_view key) {
    if (!is_profile_metric(key) || (key.ends_with(kEngine) && metrics.size() >= kEnginesMost)) return;
    if (const auto value = json.number()) metrics.insert_or_assign(std::string(key), *value);
  });
  add_profile_summary(metrics, graph, at, out);
}

void add_profile_summary(const ProfileMetrics& metrics, const std::string& graph, const SourcePos& at,
                         Samples& out) {
  const auto total = metric(metrics, "total_time", kSecondsMost);
  if (!total || *total == 0) {
    out.warnings.add(at, "total_time", "this summary lacks it and is left out",
                     "give the file that view --output-format summary-json wrote");
    return;
  }
  DeviceSample d;
  d.at = at;
  d.name = printable(graph, 80);
  d.seconds = *total;
  d.active_seconds = metric(metrics, "total_active_time", kSecondsMost);
  d.model_flops = metric(metrics, "model_flops", kCountMost);
  d.hardware_flops = metric(metrics, "hardware_flops", kCountMost);
  const auto in = metric(metrics, "hbm_read_bytes", kCountMost),
             to = metric(metrics, "hbm_write_bytes", kCountMost);
  if (in && to) d.hbm_bytes = *in + *to;
  d.collective_seconds = metric(metrics, "cc_op_time", kSecondsMost * 1e3);
  d.collective_active_seconds = metric(metrics, "cc_op_active_time", kSecondsMost);
  d.mfu = metric(metrics, "mfu_estimated_percent", 1e3);
  if (d.mfu && *d.mfu > kPercentAbove) *d.mfu /= 100;
  if (const auto cycles = metric(metrics, "neuroncore_cycle_count", kCountMost)) {
    d.clock_hz = *cycles / *total;
    if (*d.clock_hz < kClockLeast || *d.clock_hz > kClockMost) {
      out.warnings.add(at, "neuroncore_cycle_count",
                       fmt::format("{:.4g} cycles in {:.4g} s is not the clock of a core", *cycles, *total),
                       "total_time must be in seconds");
    }
  }
  for (const auto& [key, value] : metrics) {
    if (!key.ends_with(kEngine) || value < 0 || value > kSecondsMost) continue;
    d.engine_seconds.emplace(printable(key.substr(0, key.size() - kEngine.size()), 40), value);
  }
  out.devices.push_back(std::move(d));
}

void read_device_profile(JsonReader& json, const std::string& name, Samples& out) {
  DeviceProfile(json, name, out).read();
}

}  // namespace trnplan::logs
