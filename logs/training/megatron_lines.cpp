#include "logs/training/megatron_lines.h"

#include <algorithm>
#include <cmath>

namespace trnplan::logs {

namespace {

constexpr double kSameRate = 0.02;  ///< a throughput this near to batch over time is in samples

}  // namespace

MegatronLines::MegatronLines(const std::string& name)
    : name_(name), log_({"Megatron iterations", "elapsed time per iteration as printed", true}, name) {}

bool MegatronLines::read(const LogLine& line, Samples& out) {
  Scan scan(line.text);
  if (!scan.past("iteration ")) return false;
  const auto step = scan.whole();
  if (!step || !scan.take("/")) return false;
  const auto total = scan.whole();
  if (!total || !scan.take("|")) return false;
  StepRecord record;
  record.total = *total;
  record.rank = line.rank;
  record.step = *step;
  record.line = line.number;
  std::optional<double> rate, samples_rate;
  std::string_view fields = scan.rest();
  bool timed = false;
  while (!fields.empty()) {
    const std::size_t end = std::min(fields.find('|'), fields.size());
    const std::string_view field = fields.substr(0, end);
    fields.remove_prefix(std::min(end + 1, fields.size()));
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trimmed(field.substr(0, colon));
    const auto value = number_of(trimmed(field.substr(colon + 1)));
    if (key.starts_with("elapsed time per iteration")) {
      timed = true;
      if (value && key.ends_with("(ms)")) record.seconds = *value * 1e-3;
      if (value && key.ends_with("(s)")) record.seconds = value;
    } else if (key == "global batch size") {
      record.batch = value;
    } else if (key == "throughput") {
      rate = value;
    } else if (key == "lm loss" || key == "lm-loss") {
      record.loss = value.value_or(std::nan(""));
    } else if (key == "grad norm") {
      record.gradient_norm = value.value_or(std::nan(""));
    } else if (key == "samples per second") {
      samples_rate = value;
    }
  }
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

}  // namespace trnplan::logs
