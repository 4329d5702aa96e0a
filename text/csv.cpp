#include "text/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "text/byte_stream.h"

namespace trnplan {

namespace {

/// The most fields that are read. A field takes some 50 bytes, and as much again where all rows are faulty.
constexpr std::ptrdiff_t kMostFields = 3'000'000;

/// Returns the position of the first delimiter.
template <typename IsDelimiter>
std::size_t run_end(std::string_view text, std::size_t from, IsDelimiter is_delimiter) {
  return static_cast<std::size_t>(
      std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), is_delimiter) -
      text.begin());
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::vector<CsvRecord> split_csv(std::string_view text) {
  text = without_mark(text);
  std::vector<CsvRecord> records;
  CsvRecord record;
  CsvRecord::Field field;
  bool quoted = false, any = false;
  int line = 1;
  std::size_t line_start = 0;
  const auto start_field = [&](std::size_t at) {
    field.text.clear();
    field.line = line;
    field.column = static_cast<int>(at - line_start) + 1;
  };
  const auto end_record = [&] {
    record.fields.push_back(std::move(field));
    if (any) records.push_back(std::move(record));
    any = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      line_start = i + 1;
    }
    if (quoted) {
      if (c != '"') {
        const std::size_t end = run_end(text, i + 1, [](char k) { return k == '"' || k == '\n'; });
        field.text.append(text, i, end - i);
        i = end - 1;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field.text += c;
        ++i;
      } else {
        quoted = false;
      }
      continue;
    }
    if (c == '\n') {
      end_record();
      const std::size_t width = records.empty() ? 0 : records.back().fields.size();
      record = CsvRecord{{}, line};
      record.fields.reserve(width);
      start_field(i + 1);
    } else if (c == ',') {
      any = true;
      record.fields.push_back(std::move(field));
      start_field(i + 1);
    } else if (c == '"') {
      any = true;
      quoted = true;
    } else if (c != '\r') {
      any = true;
      const std::size_t end =
          run_end(text, i, [](char k) { return k == ',' || k == '\n' || k == '"' || k == '\r'; });
      field.text.append(text, i, end - i);
      i = end - 1;
    }
  }
  field.unclosed = quoted;
  if (any) end_record();
  return records;
}

CsvReader::CsvReader(std::string_view text, std::string name, std::initializer_list<const char*> needed,
                     const std::string& help)
    : name_(std::move(name)) {
  // An upper bound of the number of fields: it also counts delimiters in quotes.
  const auto ends = std::count_if(text.begin(), text.end(), [](char c) { return c == ',' || c == '\n'; });
  if (ends > kMostFields) {
    faults_.push_back({{name_, 0, 0},
                       "",
                       "the table has more than " + std::to_string(kMostFields) + " fields",
                       "split it, or leave out columns that are not read"});
    return;
  }
  records_ = split_csv(text);
  if (records_.empty()) {
    faults_.push_back({{name_, 0, 0}, "", "the file is empty", "give a CSV with a header line"});
    return;
  }
  if (const auto& last = records_.back().fields.back(); last.unclosed) {
    faults_.push_back({{name_, last.line, last.column},
                       "",
                       "the quotes of this field are never closed",
                       "close them; quotes within a field are doubled"});
  }
  header_line_ = records_.front().line;
  const auto& header = records_.front().fields;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (columns_.emplace(header[i].text, i).second) continue;
    faults_.push_back({{name_, header[i].line, header[i].column},
                       printable(header[i].text),
                       "two columns have this name",
                       "rename or remove one"});
  }
  for (const char* column : needed) {
    if (columns_.count(column) == 0) {
      faults_.push_back({{name_, records_.front().line, 1}, column, "the column is missing", help});
    }
  }
  if (!faults_.empty()) records_.clear();
}

void CsvReader::need(std::string_view column, std::string fix, std::string problem) {
  if (header_line_ == 0 || columns_.contains(column)) return;
  faults_.push_back({{name_, header_line_, 1}, std::string(column), std::move(problem), std::move(fix)});
  records_.clear();
}

bool CsvReader::next() {
  while (row_ + 1 < records_.size()) {
    const std::size_t found = records_[++row_].fields.size(), expected = records_.front().fields.size();
    if (found == expected) return true;
    faults_.push_back({{name_, records_[row_].line, 1},
                       "",
                       std::to_string(found) + " fields, the header has " + std::to_string(expected),
                       found > expected ? "quote fields that hold commas"
                                        : "give every row all fields; one without a value is left empty"});
  }
  return false;
}

std::vector<std::pair<std::string, std::vector<std::string>>> CsvReader::not_asked() const {
  std::vector<std::string> wanted;
  for (const std::string& column : asked_) {
    if (!columns_.contains(column)) wanted.push_back(column);
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  if (header_line_ == 0 || records_.empty()) return all;
  for (const CsvRecord::Field& field : records_.front().fields) {
    if (asked_.contains(field.text)) continue;
    std::vector<std::string> meant;
    if (std::string near = nearest(field.text, wanted); !near.empty()) {
      meant.push_back(std::move(near));
    } else {
      std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(meant), [&](const std::string& column) {
        return column.ends_with("_" + field.text) ||
               (field.text.size() > 3 && column.starts_with(field.text));
      });
    }
    all.emplace_back(field.text, std::move(meant));
  }
  return all;
}

std::string_view CsvReader::text(std::string_view column) const {
  ask(column);
  const auto it = columns_.find(column);
  return it == columns_.end() ? std::string_view{} : records_[row_].fields[it->second].text;
}

SourcePos CsvReader::at(std::string_view column) const {
  const auto it = columns_.find(column);
  if (it == columns_.end()) return {name_, records_[row_].line, 1};
  const CsvRecord::Field& field = records_[row_].fields[it->second];
  return {name_, field.line, field.column};
}

void CsvReader::fault(std::string_view column, std::string problem, std::string fix) {
  faults_.push_back({at(column), std::string(column), std::move(problem), std::move(fix)});
}

std::optional<double> CsvReader::number(std::string_view column) {
  const std::string_view t = text(column);
  if (t.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
  if (error != std::errc() || end != t.data() + t.size() || !std::isfinite(value) || value < 0) {
    fault(column, "\"" + printable(t) + "\" is not a number of at least 0",
          "correct the field or leave it empty");
    return std::nullopt;
  }
  return value;
}

int CsvReader::whole(std::string_view column, int fallback, int most) {
  const auto value = number(column);
  if (!value) return fallback;
  if (*value != std::floor(*value) || *value > most) {
    fault(column, in_quotes(text(column)) + " is not a whole number from 0 to " + std::to_string(most),
          "correct the field or leave it empty");
    return fallback;
  }
  return static_cast<int>(*value);
}

std::string_view CsvReader::required(std::string_view column, const char* fix) {
  const std::string_view field = text(column);
  if (field.empty()) fault(column, "not stated", fix);
  return field;
}

bool CsvReader::yes_or_no(std::string_view column) {
  const std::string_view field = text(column);
  if (field != "yes" && field != "no") fault(column, "neither yes nor no", "write yes or no");
  return field == "yes";
}

void CsvReader::distinct(std::string_view column, std::string_view id, const char* fix) {
  if (id.empty()) return;
  const auto [first, fresh] = ids_.emplace(id, at(column).line);
  if (!fresh) fault(column, "line " + std::to_string(first->second) + " has this id too", fix);
}

std::vector<Diagnostic> CsvReader::take_faults() {
  return std::exchange(faults_, {});
}

void CsvReader::finish() {
  if (!faults_.empty()) throw InputError(std::move(faults_));
}

}  // namespace trnplan
