// Tables of comma-separated values, read column by name with every fault at its place.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan {

/// One record of a CSV text.
struct CsvRecord {
  struct Field {
    std::string text;
    int line = 1, column = 1;  ///< position of its first character
    bool unclosed = false;     ///< the text ends within its quotes
  };
  std::vector<Field> fields;
  int line = 1;
};

/// Splits as RFC 4180 does: fields in double quotes may hold commas, line ends and doubled quotes. Leaves out
/// blank lines.
std::vector<CsvRecord> split_csv(std::string_view text);

/// The text as a field of a CSV: in double quotes if it has a comma, a quote or a line end.
[[nodiscard]] std::string csv_field(std::string_view text);

/// Reads a CSV with a header line row by row and collects faults instead of throwing. Use:
///
///   CsvReader csv(text, name, {"id", "nodes"}, "see catalog/runs.md for the columns");
///   while (csv.next()) { run.nodes = csv.whole("nodes", 0); ... }
///   csv.finish();   // throws InputError when anything was wrong
class CsvReader {
 public:
  /// The header must name the columns `needed`; `help` says where the columns are described. Other columns
  /// are ignored.
  CsvReader(std::string_view text, std::string name, std::initializer_list<const char*> needed,
            const std::string& help);

  /// A column without which the table says too little, and the fault where it is missing. Requires: before
  /// the first next(), which then returns false.
  void need(std::string_view column, std::string fix, std::string problem = "the column is missing");

  /// Goes to the next row that has as many fields as the header. Returns false at the end, or at once when
  /// the header is faulty.
  bool next();

  bool has(std::string_view column) const {
    ask(column);
    return columns_.contains(column);
  }
  /// Columns of the header that were not asked for up to the first row, each with names that were asked for in vain
  /// and that it may mean. Requires: every row is read alike.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> not_asked() const;
  /// The field of the current row; "" when the table has no such column.
  std::string_view text(std::string_view column) const;
  /// A number of at least 0; nullopt when the field is empty. Anything else is a fault and gives nullopt too.
  std::optional<double> number(std::string_view column);
  /// A whole number from 0 to `most`; `fallback` when the field is empty or, with a fault, when it holds
  /// anything else.
  int whole(std::string_view column, int fallback, int most = 1'000'000'000);
  /// Position of that column in the current row.
  SourcePos at(std::string_view column) const;
  void fault(std::string_view column, std::string problem, std::string fix);
  /// The field of the current row, with a fault if it is empty.
  std::string_view required(std::string_view column, const char* fix);
  /// "yes" or "no", with a fault for anything else.
  bool yes_or_no(std::string_view column);
  /// Adds a fault if an earlier row has the id too; `id` is that of the current row, which `column` begins.
  void distinct(std::string_view column, std::string_view id, const char* fix = "give the row its own");

  /// Returns the faults so far, which finish() then no longer throws. For callers that go on without the
  /// faulty rows.
  [[nodiscard]] std::vector<Diagnostic> take_faults();
  /// Throws InputError with all faults if there are any.
  void finish();

 private:
  void ask(std::string_view column) const {
    if (row_ <= 1) asked_.emplace(column);
  }

  mutable std::set<std::string, std::less<>> asked_;
  std::vector<CsvRecord> records_;
  std::string name_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::map<std::string, int, std::less<>> ids_;  ///< line of each
  std::size_t row_ = 0;
  int header_line_ = 0;  ///< 0: there is none
  std::vector<Diagnostic> faults_;
};

}  // namespace trnplan
