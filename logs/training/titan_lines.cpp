#include "logs/training/titan_lines.h"
#include "units/quantity.h"

#include <cmath>

namespace trnplan::logs {

namespace {

constexpr std::size_t kMostDigits = 18;  ///< of a rate

/// "1,234.50", "7,530" or "7530".
std::optional<double> grouped_number(std::string_view text) {
  const auto digits_at = [&](std::size_t at) {
    const std::size_t end = text.find_first_not_of("0123456789", at);
    return (end == std::string_view::npos ? text.size() : end) - at;
  };
  text = trimmed(text);
  std::size_t at = digits_at(0);
  std::string plain(text.substr(0, at));
  while (at < text.size() && text[at] == ',' && digits_at(at + 1) == 3) {
    plain += text.substr(at + 1, 3);
    at += 4;
  }
  if (at < text.size() && text[at] == '.') plain += text.substr(at, 1 + digits_at(at + 1));
  return plain.size() <= kMostDigits ? Scan(plain).number() : std::nullopt;
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
  if (const auto tokens = grouped_number(rest.rest())) record.device_tokens_per_second = tokens;
  if (rest.past("tflops:"))
    if (const auto tflops = grouped_number(rest.rest()); tflops && *tflops > 0)
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
