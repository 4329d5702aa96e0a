#include "logs/training/megatron_lines.h"

#include <algorithm>
#include <cmath>

#include "logs/training/fields.h"

namespace trnplan::logs {

namespace {

constexpr double kSameRate = 0.02;  ///< a throughput this near to batch over time is in samples

std::optional<std::int64_t> count_of(std::optional<double> value) {
  if (!value || *value < 0 || *value > 1e9) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

/// "[2025-03-04 10:00:06.123456] iteration ...": the time of the line.
std::optional<double> stamp_of(std::string_view line) {
  Scan scan(line.substr(0, line.find("iteration ")));
  while (scan.past("[")) {
    Scan time = scan;
    if (const auto stamp = calendar_time(time)) return stamp->seconds;
  }
  return std::nullopt;
}

}  // namespace

MegatronLines::MegatronLines(const std::string& name)
    : name_(name), log_({"Megatron iterations", "elapsed time per iteration as printed", true}, name) {}

/// "[Rank 8] (after 2 iterations) memory (MB) | ... | max reserved: 23288.0", in MiB.
void MegatronLines::note_memory(const LogLine& line) {
  Scan scan(line.text);
  if (!scan.past(" memory (MB) |") || !scan.past("| max reserved: ")) return;
  if (const auto mib = scan.number()) memory_.add(*mib * kMiB, line.number);
}

/// The arguments that the layout consists of. Those behind an iteration are of another start of the program.
void MegatronLines::note_arguments(const LogLine& line) {
  Scan scan(line.text);
  Scan groups = scan;
  const bool of_groups = groups.take("using world size:");
  if (!of_groups && line.text.find(" ...") == std::string_view::npos) return;
  Arguments stated = starts_.empty() || iterates_ ? Arguments{line.number, {}, {}, {}} : starts_.back();
  StatedLayout& layout = stated.layout;
  bool any = of_groups;
  if (of_groups) {
    layout.devices = groups.whole();
    const auto size = [&](std::string_view key) {
      Scan group = groups;
      return group.past(key) ? group.whole() : std::nullopt;
    };
    layout.tensor_parallel = size("tensor-model-parallel size:");
    layout.pipeline_parallel = size("pipeline-model-parallel size:");
  }
  for (const auto& [key, value] : {std::pair{"world_size", &layout.devices},
                                   {"tensor_model_parallel_size", &layout.tensor_parallel},
                                   {"pipeline_model_parallel_size", &layout.pipeline_parallel},
                                   {"virtual_pipeline_model_parallel_size", &layout.virtual_pipeline},
                                   {"context_parallel_size", &layout.context_parallel},
                                   {"micro_batch_size", &layout.micro_batch},
                                   {"seq_length", &stated.sequence},
                                   {"global_batch_size", &stated.batch}}) {
    Scan argument = scan;
    if (of_groups || !argument.take(key) || !argument.take("..")) continue;
    const std::size_t behind = argument.rest().find_first_not_of('.');
    argument.skip(behind == std::string_view::npos ? argument.rest().size() : behind);
    const bool no_chunks = value == &layout.virtual_pipeline && argument.take("None");
    *value = no_chunks ? std::optional<std::int64_t>(1) : argument.whole();
    any = true;
  }
  if (!any) return;
  if (starts_.empty() || iterates_) {
    if (starts_.size() == kMostRuns) return;
    starts_.emplace_back();
  }
  iterates_ = false;
  starts_.back() = stated;
}

bool MegatronLines::read(const LogLine& line, Samples& out) {
  note_memory(line);
  note_arguments(line);
  Scan scan(line.text);
  if (!scan.past("iteration ")) return false;
  const auto step = scan.whole();
  if (!step || !scan.take("/")) return false;
  const auto total = scan.whole();
  if (!total || !scan.take("|")) return false;
  iterates_ = true;
  StepRecord record;
  record.total = *total;
  record.rank = line.rank;
  record.step = *step;
  record.line = line.number;
  record.stamp = stamp_of(line.text);
  std::optional<double> rate, samples_rate;
  bool timed = false;
  each_field(scan.rest(), [&](std::string_view key, std::string_view text) {
    const auto value = number_of(text);
    if (key.starts_with("elapsed time per iteration")) {
      timed = true;
      if (value && key.ends_with("(ms)")) record.seconds = *value * 1e-3;
      if (value && key.ends_with("(s)")) record.seconds = value;
    } else if (key == "global batch size") {
      record.batch = value;
    } else if (key == "throughput") {
      rate = value;
    } else if (key == "throughput per GPU (TFLOP/s/GPU)") {
      if (value && *value > 0) record.device_flops_per_second = *value * 1e12;
    } else if (key == "lm loss" || key == "lm-loss") {
      record.loss = value.value_or(std::nan(""));
    } else if (key == "grad norm") {
      record.gradient_norm = value.value_or(std::nan(""));
    } else if (key == "number of nan iterations") {
      record.nan_steps = count_of(value);
    } else if (key == "number of skipped iterations") {
      record.skipped_steps = count_of(value);
    } else if (key == "samples per second") {
      samples_rate = value;
    }
  });
  // The mean of losses that are numbers; without one it is left out.
  if (record.nan_steps.value_or(0) > 0 && !record.loss) record.loss = std::nan("");
  if (!record.seconds) {
    out.warnings.add(
        {name_, line.number, 1}, "elapsed time per iteration",
        timed ? "not a number of ms or s; the line is left out" : "the line lacks it and is left out",
        "give whole lines");
    return true;
  }
  // "throughput" is samples or FLOPs, depending on the version.
  if (!samples_rate && rate && record.batch &&
      std::abs(*rate * *record.seconds - *record.batch) <= kSameRate * *record.batch) {
    samples_rate = rate;
  }
  record.sequences_per_second = samples_rate;
  log_.add(record, out);
  return true;
}

void MegatronLines::finish(Samples& out) {
  const std::size_t before = out.steps.size();
  log_.finish("megatron", std::nullopt, out);
  for (std::size_t i = before; i < out.steps.size(); ++i) {
    StepSample& sample = out.steps[i];
    for (const Arguments& start : starts_) {
      if (start.line > sample.at.line) break;
      sample.layout = start.layout;
      sample.sequence.reset();
      sample.full_batch.reset();
      if (start.batch && *start.batch > 0) sample.full_batch = static_cast<double>(*start.batch);
      if (start.sequence && *start.sequence > 0) sample.sequence = static_cast<double>(*start.sequence);
    }
  }
  memory_.finish(name_, "Megatron", out);
}

}  // namespace trnplan::logs
