#include "text/log_lines.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "units/quantity.h"

namespace trnplan {

namespace {

constexpr std::size_t kLongLine = 65536;
constexpr std::size_t kRankDigits = 7;
constexpr std::size_t kPodLength = 600;  ///< pod names have at most 253 bytes, container names 63
constexpr double kHoursMost = 1e6;

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// The digits at `start` if there are 1 to kRankDigits of them and `close` follows.
std::string_view rank_at(std::string_view text, std::size_t start, std::string_view close) {
  std::size_t end = start;
  while (end < text.size() && end - start < kRankDigits && digit(text[end])) ++end;
  if (end == start || text.substr(end, close.size()) != close) return {};
  return text.substr(start, end - start);
}

/// The label at the start of `text` and the text after it; the label is empty when there is none.
struct Label {
  std::string_view of, rest;
};

/// Name in the label "[pod/NAME/CONTAINER] " of kubectl logs --prefix.
Label pod_label(std::string_view text) {
  constexpr std::string_view kPod = "[pod/";
  if (!text.starts_with(kPod)) return {{}, text};
  const std::size_t end = text.find("] "), slash = text.find('/', kPod.size());
  if (slash >= end || end == std::string_view::npos || end > kPodLength) return {{}, text};
  return {text.substr(kPod.size(), slash - kPod.size()), text.substr(end + 2)};
}

/// Number in the label "0: " of srun --label.
Label task_label(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  const std::string_view rank = rank_at(text, start, ":");
  const std::size_t end = start + rank.size() + 1;
  // "12:30 ..." is a time.
  if (rank.empty() || (end < text.size() && !blank(text[end]))) return {{}, text};
  return {rank, text.substr(std::min(end + 1, text.size()))};
}

/// Number in the label "[default7]:" or "[rank7]:" of torchrun.
Label process_label(std::string_view text) {
  static constexpr std::string_view kTorchrun[] = {"[default", "[rank"};
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  for (const std::string_view label : kTorchrun) {
    if (!text.substr(start).starts_with(label)) continue;
    const std::string_view rank = rank_at(text, start + label.size(), "]:");
    if (!rank.empty()) return {rank, text.substr(start + label.size() + rank.size() + 2)};
  }
  return {{}, text};
}

/// Takes the labels off. Where there are several, appends their names to `clean` behind the text, joined by
/// slashes.
void split_label(LogLine& line, std::string& clean) {
  std::string_view labels[3];
  std::size_t count = 0;
  for (const auto read : {pod_label, task_label, process_label}) {
    const Label label = read(line.text);
    if (label.of.empty()) continue;
    labels[count++] = label.of;
    line.text = label.rest;
  }
  if (count == 1) line.rank = labels[0];
  if (count < 2) return;
  std::string joined(line.text);
  const std::size_t length = joined.size();
  for (std::size_t i = 0; i < count; ++i) joined.append(i == 0 ? "" : "/").append(labels[i]);
  clean = std::move(joined);
  line.text = std::string_view(clean).substr(0, length);
  line.rank = std::string_view(clean).substr(length);
}

}  // namespace

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

void copy_without_escapes(std::string_view text, std::string& clean) {
  clean.clear();
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      clean += text[i];
      continue;
    }
    if (i + 1 == text.size() || text[i + 1] != '[') continue;
    std::size_t end = i + 2;
    while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
    i = end < text.size() && text[end] >= 0x40 ? end : end - 1;
  }
}

std::vector<Word> words_of(std::string_view line, std::size_t most) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < line.size() && words.size() < most;) {
    while (i < line.size() && blank(line[i])) ++i;
    const std::size_t start = i;
    while (i < line.size() && !blank(line[i])) ++i;
    if (i > start) words.push_back({line.substr(start, i - start), static_cast<int>(start) + 1});
  }
  return words;
}

LogLine log_line(std::string_view raw, int number, bool cut, std::string& clean) {
  LogLine line{raw, {}, number, cut};
  if (raw.find('\x1b') != std::string_view::npos) {
    copy_without_escapes(raw, clean);
    line.text = clean;
  }
  split_label(line, clean);
  if (line.text.size() > kLongLine && !trimmed(line.text).starts_with('{')) {
    line.text = line.text.substr(0, kLongLine);
  }
  return line;
}

bool LogLines::next() {
  if (rest_.empty()) return false;
  const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
  const std::string_view raw = rest_.substr(0, end);
  const bool cut = end == rest_.size();
  rest_.remove_prefix(std::min(rest_.size(), end + (rest_.substr(end, 2) == "\r\n" ? 2 : 1)));
  line_ = log_line(raw, line_.number + 1, cut, clean_);
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> number_of(std::string_view text) {
  Scan scan(text);
  const auto value = scan.number();
  return value && scan.rest().empty() ? value : std::nullopt;
}

std::optional<std::int64_t> whole_number_of(std::string_view text) {
  Scan scan(text);
  const auto value = scan.whole();
  return value && scan.rest().empty() ? value : std::nullopt;
}

bool Scan::past(std::string_view word) {
  const std::size_t at = rest_.find(word);
  if (at == std::string_view::npos) return false;
  rest_.remove_prefix(at + word.size());
  return true;
}

bool Scan::take(std::string_view word) {
  skip_blanks();
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  return true;
}

void Scan::skip(std::size_t count) {
  rest_.remove_prefix(std::min(count, rest_.size()));
}

std::optional<double> Scan::number() {
  skip_blanks();
  double value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

std::optional<std::int64_t> Scan::whole() {
  skip_blanks();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

void Scan::skip_blanks() {
  while (!rest_.empty() && blank(rest_.front())) rest_.remove_prefix(1);
}

std::optional<double> clock_seconds(std::string_view text) {
  double days = 0;
  if (const auto at = text.find(" day"); at != std::string_view::npos) {
    const auto stated = whole_number_of(text.substr(0, at));
    Scan scan(text.substr(at));
    if (!stated || !scan.past(",")) return std::nullopt;
    days = static_cast<double>(*stated);
    text = scan.rest();
  }
  double seconds = 0;
  Scan scan(text);
  for (int part = 0; part < 3; ++part) {
    // Only the last part may have a fraction.
    const std::size_t colon = scan.rest().find(':');
    if (colon == std::string_view::npos) {
      const auto last = number_of(scan.rest());
      if (part == 0 || !last || *last < 0 || *last >= 60) return std::nullopt;
      return days * kDay + seconds * 60 + *last;
    }
    const auto value = scan.whole();
    const double most = part == 0 ? kHoursMost : 59;
    if (!value || static_cast<double>(*value) > most || !scan.take(":")) return std::nullopt;
    seconds = seconds * 60 + static_cast<double>(*value);
  }
  return std::nullopt;
}

std::optional<double> asctime_seconds(Scan& scan) {
  static constexpr std::string_view kDays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  static constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (std::none_of(std::begin(kDays), std::end(kDays), [&](auto day) { return scan.take(day); })) return {};
  unsigned month = 0;
  while (month < std::size(kMonths) && !scan.take(kMonths[month])) ++month;
  const auto day = scan.whole();
  const auto hour = scan.whole();
  if (month == std::size(kMonths) || !day || !hour || !scan.take(":")) return {};
  const auto minute = scan.whole();
  if (!minute || !scan.take(":")) return {};
  const auto second = scan.whole();
  const auto year = scan.whole();
  if (!second || !year || *day < 1 || *day > 31 || *hour > 23 || *minute > 59 || *second > 60 ||
      *year < 1970 || *year > 9999) {
    return {};
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(month + 1),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return {};
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * kDay + static_cast<double>(*hour * 3600 + *minute * 60 + *second);
}

std::optional<CalendarTime> calendar_time(Scan& scan) {
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
  if (!second || *year < 1970 || *year > 9999 || *month > 12 || *day > 31 || *hour > 23 || *minute > 59 ||
      *second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  CalendarTime time;
  time.seconds = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) * kDay +
                 static_cast<double>((*hour * 60 + *minute) * 60 + *second);
  const std::string_view rest = scan.rest();
  if (rest.size() < 2 || (rest[0] != ',' && rest[0] != '.')) return time;
  std::size_t digits = 1;
  for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits) {
    time.tick /= 10;
    time.seconds += time.tick * (rest[digits] - '0');
  }
  scan.skip(digits > 1 ? digits : 0);
  return time;
}

}  // namespace trnplan
