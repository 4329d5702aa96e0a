#include "logs/training/titan_lines.h"
#include "units/quantity.h"

#include <chrono>
#include <cmath>

namespace trnplan::logs {

namespace {

constexpr double kMostGiB = 1e5;
constexpr double kTick = 1e-3;  ///< s, of the printed clock

/// Seconds since 1970 of "2026-08-21 10:15:30,123", after `mark`; nullopt if there is no such time.
std::optional<double> printed_clock(std::string_view line, std::string_view mark) {
  Scan scan(line);
  if (!scan.past(mark)) return std::nullopt;
  const auto year = scan.whole();
  if (!year || !scan.take("-")) return std::nullopt;
  const auto month = scan.whole();
  if (!month || !scan.take("-")) return std::nullopt;
  const auto day = scan.whole();
  const auto hour = day ? scan.whole() : std::nullopt;
  if (!hour || !scan.take(":")) return std::nullopt;
  const auto minute = scan.whole();
  if (!minute || !scan.take(":")) return std::nullopt;
  const auto second = scan.whole();
  if (!second || *year < 1970 || *year > 9999 || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month % 100)),
                                         std::chrono::day(static_cast<unsigned>(*day % 100))};
  if (*month > 12 || *day > 31 || !date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  const auto thousandths = scan.take(",") ? scan.whole() : std::nullopt;
  const std::int64_t seconds = ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
  return static_cast<double>(seconds) + static_cast<double>(thousandths.value_or(0) % 1000) * kTick;
}

}  // namespace

TitanLines::TitanLines(const std::string& name)
    : name_(name), log_({"TorchTitan steps", "differences of the printed clock", false, kTick}, name) {}

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
  record.clock = printed_clock(line.text, "[titan] ");
  const auto loss = scan.number();
  if (!loss || *loss != -1) record.loss = loss.value_or(std::nan(""));
  if (scan.past("grad_norm:")) record.gradient_norm = scan.number().value_or(std::nan(""));
  if (*gib >= 0 && *gib < kMostGiB) {
    ++memory_lines_;
    if (memory_lines_ == 1 || *gib > peak_gib_) {
      peak_gib_ = *gib;
      peak_line_ = line.number;
    }
  }
  log_.add(record, out);
  return true;
}

void TitanLines::finish(Samples& out) {
  log_.finish("torchtitan", std::nullopt, out);
  if (memory_lines_ > 0) {
    out.memory.push_back({{name_, peak_line_, 1},
                          peak_gib_ * kGiB,
                          std::nullopt,
                          "TorchTitan, the most that PyTorch reserved on a device",
                          memory_lines_});
  }
}

}  // namespace trnplan::logs
