#include "logs/profile/neuron_monitor.h"

#include <fmt/format.h>

#include <string_view>

#include "logs/nccom/bounds.h"
#include "text/log_lines.h"

namespace trnplan::logs {

namespace {

constexpr int kCoresMost = 4096;  ///< of a node
constexpr std::size_t kParts = 32;

}  // namespace

void NeuronMonitor::read_cores(JsonReader& json, Cores& cores) {
  json.object([&](std::string_view index) {
    const auto core = whole_number_of(index);
    if (!core || *core >= kCoresMost) return;
    auto& parts = cores[static_cast<int>(*core)];
    json.object([&](std::string_view part) {
      const auto bytes = json.number();
      if (bytes && *bytes >= 0 && *bytes <= kBytesMost && parts.size() < kParts) {
        parts[std::string(part)] += *bytes;
      }
    });
  });
}

void NeuronMonitor::read_runtime(JsonReader& json, Cores& cores) {
  const auto within = [&](std::string_view wanted, auto&& read) {
    json.object([&, wanted](std::string_view key) {
      if (key == wanted) read();
    });
  };
  within("report", [&] {
    within("memory_used", [&] {
      within("neuron_runtime_used_bytes", [&] {
        within("usage_breakdown",
               [&] { within("neuroncore_memory_usage", [&] { read_cores(json, cores); }); });
      });
    });
  });
}

void NeuronMonitor::read(JsonReader& json, Samples& out) {
  const SourcePos at{name_, json.line(), 1};
  Cores cores;
  json.object([&](std::string_view key) {
    if (key == "neuron_runtime_data") json.array([&] { read_runtime(json, cores); });
    if (key == "instance_info") {
      json.object([&](std::string_view entry) {
        if (entry == "instance_type") instance_ = printable(json.text(), 40);
      });
    }
  });
  ++reports_;
  for (auto& [core, parts] : cores) {
    double bytes = 0;
    for (const auto& [part, size] : parts) bytes += size;
    Peak& peak = peaks_[core];
    if (bytes > peak.bytes) peak = {at, bytes, std::move(parts)};
  }
  if (json.failed()) {
    out.warnings.add({name_, json.line(), 1}, "", json.problem() + "; what comes before it is read",
                     "give whole reports of neuron-monitor");
  }
}

void NeuronMonitor::finish(Samples& out) {
  for (const auto& [core, peak] : peaks_) {
    if (peak.bytes <= 0) continue;
    MemorySample sample;
    sample.at = peak.at;
    sample.bytes = peak.bytes;
    sample.core = core;
    sample.count = reports_;
    sample.where = fmt::format("neuron-monitor{}: most of {} report{}",
                               instance_.empty() ? "" : " " + instance_, reports_, reports_ == 1 ? "" : "s");
    for (const auto& [part, bytes] : peak.parts) {
      if (bytes > 0) sample.where += fmt::format(", {} {:.0f}", printable(part, 40), bytes);
    }
    out.memory.push_back(std::move(sample));
  }
  peaks_.clear();
}

}  // namespace trnplan::logs
