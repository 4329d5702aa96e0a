// JSON of neuron-profile and neuron-explorer: view --output-format summary-json, and json.
//
// Formats: aws-neuron/aws-neuron-sdk@81ce03ae, the schema reference of Neuron Explorer (SDK 2.31) and
// archive/profiler/neuron-profiler-2-0-beta-user-guide.rst. AWS says keys may change between versions: they
// are read by name, none is required but total_time, others are skipped. NEFF and NTFF files are not public
// and not read.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "logs/training/samples.h"
#include "text/json_reader.h"

namespace trnplan::logs {

/// Metrics of one graph, by the profiler's names and in its units.
using ProfileMetrics = std::map<std::string, double, std::less<>>;
/// True for the metrics that add_profile_summary() reads.
bool is_profile_metric(std::string_view key);
/// Adds the device sample that the metrics tell of, with the warnings of read_profile_summary().
void add_profile_summary(const ProfileMetrics& metrics, const std::string& graph, const SourcePos& at,
                         Samples& out);
/// Warns of a profile that the compiler estimated.
void warn_simulated(const SourcePos& at, Samples& out);

/// Reads the metrics of one graph: {"total_time": 0.0537, "mfu_estimated_percent": 0.378, ...}. Numbers may
/// be in quotes. Percentages are fractions; if mfu is above 1.5 they are read as percent. A warning if there
/// is no total_time, or cycles and time give no clock between 0.1 and 10 GHz.
void read_profile_summary(JsonReader& json, const std::string& graph, const std::string& name, Samples& out);

/// Reads the profile of a device: {"summary": [{...}], "metadata": [...], "instruction": [{"timestamp",
/// "duration", "label"}, ...], "cc_ops": [{"timestamp", "duration", "operation", "input_size",
/// "replica_group"}, ...]}. Timestamps are ns by the documents, ps in some old files: the unit that makes
/// their span total_time; ns without one. A simulated profile (is_simulation) gives a warning and nothing
/// else.
void read_device_profile(JsonReader& json, const std::string& name, Samples& out);

}  // namespace trnplan::logs
