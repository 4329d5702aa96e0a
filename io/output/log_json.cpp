#include "io/output/fit_json.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

using logs::CollectiveSample;
using logs::DeviceSample;
using logs::MemorySample;
using logs::StepSample;

namespace {

/// A part of a log that was left out.
struct SkippedPiece {
  Diagnostic why;
};

std::vector<SkippedPiece> skipped_of(const ReadLog& log) {
  std::vector<SkippedPiece> all;
  const auto add = [&all](const std::vector<Diagnostic>& list) {
    for (const Diagnostic& d : list) all.push_back({d});
  };
  add(log.content->skipped);
  add(log.content->kernels.left_out);
  for (const logs::NccomTable& table : log.content->tables) add(table.warnings);
  return all;
}

/// Line of a sample.
template <class Sample>
int line_of(const Sample& s) {
  return s.at.line;
}

}  // namespace

template <>
const Record<StepSample>& record() {
  static const Record<StepSample> described(
      "StepSample", "The steps of a run, as a log shows them.",
      {{"file", path(&StepSample::at, &SourcePos::file)},
       {"line", &line_of<StepSample>},
       {"last_line", &StepSample::last_line},
       {"format", &StepSample::format},
       {"basis", &StepSample::basis, "what `seconds` measures"},
       {"framework", &StepSample::framework, "if the log states it; otherwise `\"\"`"},
       {"release", &StepSample::release, "likewise"},
       {"seconds", &StepSample::seconds,
        "of a step: the median; with a clock of whole seconds the mean without pauses"},
       {"spread_seconds", &StepSample::spread, "the standard deviation of a step"},
       {"count", &StepSample::count, "the steps used"},
       {"left_out", &StepSample::left_out, "warm-up and pauses"},
       {"wall_seconds", &StepSample::wall_seconds,
        "from step to step by the clock, or else by the throughput that the log states"},
       {"global_batch", &StepSample::global_batch, "if the log states it; otherwise `null`"},
       {"sequence", &StepSample::sequence, "likewise"},
       {"sequences_per_second", &StepSample::sequences_per_second, "likewise"},
       {"tokens_per_second", &StepSample::tokens_per_second, "likewise"}});
  return described;
}

template <>
const Record<MemorySample>& record() {
  static const Record<MemorySample> described(
      "", "Memory of a core.",
      {{"line", &line_of<MemorySample>},
       {"bytes", &MemorySample::bytes, "`null`: it is only known that it did not fit"},
       {"core", &MemorySample::core},
       {"where", &MemorySample::where, "where it is from"},
       {"count", &MemorySample::count, "of equal lines or of reports"}});
  return described;
}

template <>
const Record<CollectiveSample>& record() {
  static const Record<CollectiveSample> described(
      "", "A collective inside compiled graphs, without a launch. The fit does not use it.",
      {{"line", &line_of<CollectiveSample>},
       {"op", &CollectiveSample::op},
       {"type", &CollectiveSample::type},
       {"algorithm", &CollectiveSample::algorithm},
       {"ranks",
        [](const CollectiveSample& c) { return c.ranks > 0 ? std::optional(c.ranks) : std::nullopt; }},
       {"bytes", &CollectiveSample::bytes, "the larger of input and output"},
       {"seconds", &CollectiveSample::seconds, "the least of `count` times"},
       {"median_seconds", &CollectiveSample::median_seconds},
       {"count", &CollectiveSample::count}});
  return described;
}

template <>
const Record<DeviceSample>& record() {
  static const Record<DeviceSample> described(
      "", "Runs of a compiled graph as the profiler sums them up.",
      {{"line", &line_of<DeviceSample>},
       {"name", &DeviceSample::name},
       {"seconds", &DeviceSample::seconds},
       {"active_seconds", &DeviceSample::active_seconds},
       {"model_flops", &DeviceSample::model_flops},
       {"hardware_flops", &DeviceSample::hardware_flops},
       {"hbm_bytes", &DeviceSample::hbm_bytes},
       {"collective_seconds", &DeviceSample::collective_seconds},
       {"collective_active_seconds", &DeviceSample::collective_active_seconds},
       {"mfu", &DeviceSample::mfu, "a fraction"},
       {"clock_hz", &DeviceSample::clock_hz},
       {"engine_seconds", &DeviceSample::engine_seconds}});
  return described;
}

template <>
const Record<SkippedPiece>& record() {
  static const Record<SkippedPiece> described(
      "Skipped", "What was left out; also a remark on standard error.",
      {{"line", path(&SkippedPiece::why, &line_of<Diagnostic>), "of an event file the record"},
       {"key", path(&SkippedPiece::why, &Diagnostic::key)},
       {"problem", path(&SkippedPiece::why, &Diagnostic::problem)},
       {"fix", path(&SkippedPiece::why, &Diagnostic::fix)}});
  return described;
}

template <>
const Record<logs::Detected::Kind>& record() {
  using Kind = logs::Detected::Kind;
  static const Record<Kind> described("Understood", "The number of lines, tables or reports of a kind.",
                                      {{"kind", &Kind::name}, {"pieces", &Kind::pieces}});
  return described;
}

template <>
const Record<ReadLog>& record() {
  using logs::Detected;
  const auto content = [](auto get) { return path(&ReadLog::content, get); };
  static const Record<ReadLog> described("LogFile", "The kind of a file and its contents.",
                                         {{"file", &ReadLog::path},
                                          {"understood", content(&Detected::kinds)},
                                          {"steps", content(&Detected::steps)},
                                          {"memory", content(&Detected::memory)},
                                          {"collectives", content(&Detected::collectives)},
                                          {"graphs", content(&Detected::devices)},
                                          {"skipped", &skipped_of}});
  return described;
}

}  // namespace trnplan::io
