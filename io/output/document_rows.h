// Rows of a document as a table, for spreadsheets (CSV, RFC 4180) and for pull requests (Markdown).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trnplan::io {

/// Unit of a column of a Markdown table.
enum class ShownAs {
  text,      ///< as it is; lists joined by ", ", a strategy in words
  number,    ///< four digits
  percent,   ///< of 1, whole or with one decimal
  micros,    ///< seconds as microseconds
  gibibytes  ///< bytes as GiB
};

/// A column of a Markdown table.
struct RowColumn {
  std::string_view header;
  std::string_view key;  ///< of the row; a key of an object in it after a point: "memory_bytes_per_core.peak"
  ShownAs as = ShownAs::text;
};

/// The rows of a kind of document.
struct DocumentRows {
  std::string_view key;  ///< of the document, with a list of objects
  std::vector<RowColumn> columns;
};

/// Rows of the documents of plan, whatif, collective and validate.
[[nodiscard]] const DocumentRows& plan_rows();
[[nodiscard]] const DocumentRows& whatif_rows();
[[nodiscard]] const DocumentRows& offerings_rows();
[[nodiscard]] const DocumentRows& collective_rows();
[[nodiscard]] const DocumentRows& validation_rows();
/// Rows of the table of a sweep.
[[nodiscard]] const DocumentRows& sweep_rows();

/// Every row with every number and word that it holds: columns are keys, with those of an object joined by a
/// point, in the order of their first appearance; both ends of an interval have a column of their own
/// ("days_90.low"). Numbers are as in the document. A list of numbers or words is joined by "/"; a list of
/// objects is left out. Requires: `document` is JSON of this program.
[[nodiscard]] std::string csv_of(std::string_view document, const DocumentRows& rows);
/// The records of a CSV as the "rows" of a document.
[[nodiscard]] std::string document_of_csv(std::string_view csv);
/// The columns of `rows`, rounded; a value that a row lacks is "-".
[[nodiscard]] std::string markdown_of(std::string_view document, const DocumentRows& rows);

}  // namespace trnplan::io
