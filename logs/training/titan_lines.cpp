#include "logs/training/titan_lines.h"
#include "units/quantity.h"

#include <cmath>

namespace trnplan::logs {

namespace {

/// "7,530" or "7530".
std::optional<double> grouped_number(Scan& scan) {
  auto number = scan.whole();
  while (number && *number < 1'000'000'000 && scan.rest().starts_with(',') && scan.take(",")) {
    const auto thousands = scan.whole();
    if (!thousands || *thousands > 999) return std::nullopt;
    number = *number * 1000 + *thousands;
  }
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

}  // namespace

TitanLines::TitanLines(const std::string& name)
    : name_(name), log_({"TorchTitan steps", "differences of the printed clock"}, name) {}

bool TitanLines::read(const LogLine& line, Samples& out) {
  Scan scan(line.text);
  if (!scan.past("step:")) return false;
  const auto step = scan.whole();
  if (!step || !scan.take("loss:")) return false;
  Scan rest = scan;
  if (!rest.past("memory:")) return false;
  const auto gib = rest.number();
  if (!gib || !rest.take("GiB(") || !rest.past("tps:")) return false;
  StepRecord record;
  record.rank = line.rank;
  record.step = *step;
  record.line = line.number;
  if (Scan stamp(line.text); stamp.past("[titan] ")) {
    if (const auto time = calendar_time(stamp)) {
      record.clock = time->seconds;
      record.tick = time->tick;
    }
  }
  const auto loss = scan.number();
  if (!loss || *loss != -1) record.loss = loss.value_or(std::nan(""));
  if (const auto tokens = grouped_number(rest)) record.device_tokens_per_second = tokens;
  if (rest.past("tflops:"))
    if (const auto tflops = rest.number(); tflops && *tflops > 0)
      record.device_flops_per_second = *tflops * 1e12;
  if (scan.past("grad_norm:")) record.gradient_norm = scan.number().value_or(std::nan(""));
  memory_.add(*gib * kGiB, line.number);
  log_.add(record, out);
  return true;
}

void TitanLines::finish(Samples& out) {
  log_.finish("torchtitan", std::nullopt, out);
  memory_.finish(name_, "TorchTitan", out);
}

}  // namespace trnplan::logs
