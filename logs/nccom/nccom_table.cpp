#include "logs/nccom/nccom_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "logs/nccom/bounds.h"
#include "logs/nccom/printed_number.h"
#include "models/collective/collective_timing.h"
#include "text/warnings.h"

namespace trnplan::logs {

namespace {

constexpr std::string_view kCount = "count(elems)", kType = "type", kTime = "time(us)",
                           kAlgbw = "algbw(GB/s)", kBusbw = "busbw(GB/s)", kAlgorithm = "algorithm";

/// Ratio of busbw to algbw; operations with a size of their own for each rank count as the others.
std::optional<double> bus_factor(std::string_view op, std::optional<int> ranks) {
  if (op.ends_with("_v")) op.remove_suffix(2);
  const auto known = models::collective_op(op);
  if (!known) return std::nullopt;
  if (ranks) return models::bus_factor(*known, *ranks);
  const double two = models::bus_factor(*known, 2);
  // The same for any number of ranks.
  return two == models::bus_factor(*known, 3) ? std::optional(two) : std::nullopt;
}

/// The numbers that a row printed, kept until the whole table is known.
struct PrintedRow {
  NccomRow row;
  std::optional<Printed> us, algbw, busbw;
};

class TableReader {
 public:
  TableReader(const NccomCommand& command, const std::string& name) : command_(command), name_(name) {
    table_.command = command.text;
    table_.ranks = command.ranks;
    table_.nodes = command.nodes;
    table_.op = command.op;
    table_.partners = command.partners;
  }

  NccomTable read(const std::vector<NccomRecord>& records) {
    for (const NccomRecord& record : records) read_row(record);
    decide_giga();
    for (PrintedRow& p : rows_) {
      check(p);
      table_.rows.push_back(std::move(p.row));
    }
    table_.warnings = warnings_.take();
    return std::move(table_);
  }

 private:
  void bad(const NccomRecord::Cell& cell, const char* expected) {
    warnings_.add({name_, cell.line, cell.column}, cell.heading,
                  fmt::format("\"{}\" is not {}; the row is left out", printable(cell.text, 40), expected),
                  "correct or remove the row");
    good_ = false;
  }

  std::optional<Printed> number(const NccomRecord::Cell& cell, double most, const char* expected) {
    const auto p = printed_number(cell.text);
    if (!p || p->value < 0 || p->value > most) {
      bad(cell, expected);
      return std::nullopt;
    }
    return p;
  }

  void read_row(const NccomRecord& record) {
    PrintedRow p;
    p.row.at = {name_, record.line, record.column};
    good_ = true;
    std::optional<double> average, median, first;
    std::optional<Printed> average_us, median_us, first_us;
    for (const NccomRecord::Cell& cell : record.cells) {
      if (cell.heading == kNccomSize) {
        const auto bytes = number(cell, kBytesMost, "a message size");
        if (bytes && bytes->value == 0) bad(cell, "a message size");
        if (bytes) p.row.bytes = bytes->value;
      } else if (cell.heading == kCount) {
        const auto count = number(cell, kBytesMost, "a number of elements");
        if (count && count->value != std::floor(count->value)) bad(cell, "a number of elements");
        if (count) p.row.count = static_cast<std::int64_t>(count->value);
      } else if (cell.heading == kType) {
        p.row.type = printable(cell.text, 40);
      } else if (cell.heading == kAlgbw) {
        p.algbw = number(cell, 1e9, "a bandwidth");
      } else if (cell.heading == kBusbw) {
        p.busbw = number(cell, 1e9, "a bandwidth");
      } else if (cell.heading == kAlgorithm) {
        p.row.algorithm = printable(cell.text, 40);
      } else if (const auto statistic = nccom_statistic(cell.heading)) {
        if (table_.time_heading.empty()) table_.time_heading = printable(cell.heading, 40);
        const auto us = number(cell, kSecondsMost * 1e6, "a time");
        if (us && us->value == 0 && *statistic != "std") bad(cell, "a time");
        if (!us) continue;
        p.row.statistics.emplace(printable(*statistic, 40), us->value * 1e-6);
        if (*statistic == "avg") average_us = us;
        if (*statistic == "p50") median_us = us;
        if (!first_us && *statistic != "std") first_us = us;  // a spread is no time
      }
    }
    p.us = average_us ? average_us : median_us ? median_us : first_us;
    if (!good_) return;
    if (p.row.bytes == 0 || !p.us) {
      warnings_.add(p.row.at, p.us ? kNccomSize : "time", "the row lacks it and is left out",
                    "give the output of nccom-test unchanged");
      return;
    }
    p.row.seconds = p.us->value * 1e-6;
    if (!average_us && !median_us) {
      warnings_.add(p.row.at, "time", "neither an average nor a median; the first printed time is used",
                    "run nccom-test with --stats avg");
    }
    // Bandwidths are those of the average.
    if (!average_us) p.us.reset();
    rows_.push_back(std::move(p));
  }

  /// Decides the unit: each row that fits only one of the two votes for it.
  void decide_giga() {
    int decimal = 0, binary = 0;
    for (const PrintedRow& p : rows_) {
      if (!p.us || !p.algbw) continue;
      const bool fits_decimal = is_rate_of(*p.algbw, p.row.bytes, *p.us, 1e9);
      const bool fits_binary = is_rate_of(*p.algbw, p.row.bytes, *p.us, 0x1p30);
      decimal += fits_decimal && !fits_binary;
      binary += fits_binary && !fits_decimal;
    }
    if (decimal > binary) table_.printed_giga = 1e9;
    if (binary > decimal) table_.printed_giga = 0x1p30;
  }

  void contradiction(PrintedRow& p, std::string_view key, std::string problem) {
    p.row.contradicts = true;
    warnings_.add(p.row.at, key, std::move(problem),
                  "do not calibrate with this row unless its origin is clear");
  }

  void check(PrintedRow& p) {
    const double giga = table_.printed_giga.value_or(1e9);
    if (p.algbw) p.row.algbw = p.algbw->value * giga;
    if (p.busbw) p.row.busbw = p.busbw->value * giga;
    const auto width = models::element_bytes(p.row.type);
    if (width && p.row.count > 0 && *width * static_cast<double>(p.row.count) != p.row.bytes) {
      contradiction(p, kCount,
                    fmt::format("{} elements of type {} are {} bytes, not {}", p.row.count, p.row.type,
                                *width * static_cast<double>(p.row.count), p.row.bytes));
    }
    if (p.us && p.algbw && !is_rate_of(*p.algbw, p.row.bytes, *p.us, giga) &&
        (table_.printed_giga || !is_rate_of(*p.algbw, p.row.bytes, *p.us, 0x1p30))) {
      contradiction(p, kAlgbw,
                    fmt::format("{} is printed, but size over time is {:.4g}", p.algbw->value,
                                p.row.bytes / p.row.seconds / giga));
    }
    const auto factor = command_.several_groups ? std::nullopt : bus_factor(table_.op, table_.ranks);
    if (factor && p.algbw && p.busbw && !is_multiple_of(*p.busbw, *p.algbw, *factor)) {
      contradiction(p, kBusbw,
                    fmt::format("{} is printed, but algbw {} is a bus bandwidth of {:.4g} for {} of {} ranks",
                                p.busbw->value, p.algbw->value, *factor * p.algbw->value, table_.op,
                                table_.ranks.value_or(2)));
    }
  }

  const NccomCommand& command_;
  const std::string& name_;
  NccomTable table_;
  Warnings warnings_;
  std::vector<PrintedRow> rows_;
  bool good_ = true;
};

}  // namespace

std::optional<std::string_view> nccom_statistic(std::string_view heading) {
  if (heading == kTime) return "avg";
  if (!heading.starts_with("time:") || !heading.ends_with("(us)")) return std::nullopt;
  return heading.substr(5, heading.size() - 9);
}

NccomTable nccom_table(const NccomCommand& command, const std::vector<NccomRecord>& records,
                       const std::string& name) {
  return TableReader(command, name).read(records);
}

}  // namespace trnplan::logs
