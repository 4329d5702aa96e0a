// A table of nccom-test: rows of numbers under headings.
//
// Columns: aws-neuron/aws-neuron-sdk@81ce03ae:tools/neuron-sys-tools/nccom-test.rst. The headings of
// bandwidths say GB/s, but builds before about 2025 divide by 2^30 and later ones by 10^9: size and time show
// which.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/nccom/nccom_command.h"
#include "text/diagnostic.h"

namespace trnplan::logs {

/// Heading of message sizes, the first of a table.
inline constexpr std::string_view kNccomSize = "size(B)";

/// Statistic of a heading of times: "avg" of time:avg(us) and of time(us); nullopt for other headings.
std::optional<std::string_view> nccom_statistic(std::string_view heading);

/// One message size.
struct NccomRow {
  double bytes = 0;        ///< all-gather: gathered; reduce-scatter: before it; others: per rank
  std::int64_t count = 0;  ///< elements, 0 if not printed
  std::string type;        ///< fp32, bf16, uint8, ...; empty if not printed
  double seconds = 0;      ///< per operation: the average, else the median
  std::map<std::string, double> statistics;  ///< seconds by name as printed: avg, p50, p99, ...
  double algbw = 0, busbw = 0;  ///< byte/s as printed, rounded there (small sizes print 0.00): prefer
                                ///< bytes / seconds
  std::string algorithm;        ///< mesh, rdh, kangaring, ...; empty if not printed
  /// Not to be used: its numbers contradict each other, or nccom-test found errors in its table; a warning
  /// says why.
  bool contradicts = false;
  SourcePos at;
};

struct NccomTable {
  std::string command;  ///< as printed, may be empty
  std::optional<int> ranks, nodes;
  std::string op;            ///< canonical, empty if unknown
  std::string partners;      ///< as in NccomCommand
  std::string time_heading;  ///< of the first time: "time(us)" before 2024, later "time:avg(us)" ...
  /// Bytes of a printed GB: 10^9 or 2^30; nullopt if no row shows it: then 10^9 is used.
  std::optional<double> printed_giga;
  std::vector<NccomRow> rows;
  std::vector<Diagnostic> warnings;  ///< in the order of lines; if many, some are only counted
  SourcePos at;                      ///< of its header
};

/// A row before it is interpreted: text by column heading.
struct NccomRecord {
  struct Cell {
    std::string_view heading;
    std::string text;
    int line = 0, column = 0;
  };
  std::vector<Cell> cells;
  int line = 0, column = 0;
};

/// Interprets rows, in whatever form they were printed. Rows without size or time, with numbers that are not
/// finite, negative or beyond reason become warnings. Rows that contradict themselves (count and type against
/// size, algbw against size and time, busbw against algbw and operation) are kept and marked, with a warning.
NccomTable nccom_table(const NccomCommand& command, const std::vector<NccomRecord>& records,
                       const std::string& name);

}  // namespace trnplan::logs
