#include "io/output/document_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "io/format/json_tree.h"
#include "io/format/stored_strategy.h"
#include "text/csv.h"
#include "text/document.h"
#include "units/quantity.h"

namespace trnplan::io {

namespace {

Json rows_of(const Json& document, const DocumentRows& rows) {
  return document.value(std::string(rows.key), Json::array());
}

/// Names of a cell and its texts, in order.
using Cells = std::vector<std::pair<std::string, std::string>>;

bool is_blank(const Json& value) {
  return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty());
}

std::string word(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_interval(const Json& value) {
  return value.size() == 2 && value[0].is_number_float() && value[1].is_number_float();
}

std::string joined(const Json& list, std::string_view between) {
  std::string all;
  for (const Json& item : list) {
    if (item.is_structured()) return {};
    if (!all.empty()) all += between;
    all += word(item);
  }
  return all;
}

void flatten(const std::string& name, const Json& value, Cells& cells) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      flatten(name.empty() ? key : name + "." + key, inner, cells);
  } else if (!value.is_array()) {
    cells.emplace_back(name, word(value));
  } else if (is_interval(value)) {
    cells.emplace_back(name + ".low", word(value[0]));
    cells.emplace_back(name + ".high", word(value[1]));
  } else if (value.empty() || !value.front().is_structured()) {
    cells.emplace_back(name, joined(value, "/"));
  }
}

Json number_or_text(const std::string& text) {
  Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : Json(text);
}

/// The value at a path of keys; null where there is none.
Json at_path(const Json& row, std::string_view path) {
  const std::size_t point = path.find('.');
  const auto found = row.find(std::string(path.substr(0, point)));
  if (found == row.end()) return {};
  return point == std::string_view::npos ? *found : at_path(*found, path.substr(point + 1));
}

/// The text of describe() for the object of a strategy.
std::string in_words(const Json& strategy) {
  std::vector<Diagnostic> faults;
  const Node node = parse_document(strategy.dump(), "strategy");
  MapReader map(node, "strategy", faults);
  return models::describe(strategy_from(map));
}

std::string shown(const Json& value, ShownAs as) {
  if (is_blank(value)) return "-";
  if (as == ShownAs::text) {
    if (value.is_object()) return in_words(value);
    return value.is_array() ? joined(value, ", ") : word(value);
  }
  const auto number = value.get<double>();
  switch (as) {
    case ShownAs::percent:
      return fmt::format("{:.1f} %", 100 * number);
    case ShownAs::micros:
      return fmt::format("{:.4g}", number * 1e6);
    case ShownAs::gibibytes:
      return fmt::format("{:.1f}", number / kGiB);
    default:
      return number >= 1e4 ? fmt::format("{:.0f}", number) : fmt::format("{:.4g}", number);
  }
}

/// A cell of Markdown: a bar would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return out;
}

}  // namespace

const DocumentRows& plan_rows() {
  static const DocumentRows rows{"plans",
                                 {{"rank", "rank"},
                                  {"strategy", "strategy"},
                                  {"batch", "global_batch"},
                                  {"step s", "step_seconds", ShownAs::number},
                                  {"90 % interval", "step_seconds_90", ShownAs::number},
                                  {"tokens/s", "tokens_per_second", ShownAs::number},
                                  {"MFU", "mfu", ShownAs::percent},
                                  {"GiB a core", "memory_bytes_per_core.peak", ShownAs::gibibytes},
                                  {"works", "works_probability", ShownAs::percent}}};
  return rows;
}

const DocumentRows& whatif_rows() {
  static const DocumentRows rows{"points",
                                 {{"type", "instance"},
                                  {"nodes", "nodes"},
                                  {"strategy", "strategy"},
                                  {"step s", "step_seconds", ShownAs::number},
                                  {"days", "days", ShownAs::number},
                                  {"days, 90 % likely", "days_at_90", ShownAs::number},
                                  {"USD", "usd", ShownAs::number},
                                  {"works", "works_probability", ShownAs::percent},
                                  {"works and in the limits", "probability_in_limits", ShownAs::percent},
                                  {"no other is as fast and as cheap", "pareto"},
                                  {"why there is no plan", "why"}}};
  return rows;
}

const DocumentRows& offerings_rows() {
  static const DocumentRows rows{"buy",
                                 {{"id", "id"},
                                  {"start", "start"},
                                  {"end", "end"},
                                  {"instances", "instances"},
                                  {"type", "instance"},
                                  {"zone", "zone"},
                                  {"USD", "usd", ShownAs::number}}};
  return rows;
}

const DocumentRows& collective_rows() {
  static const DocumentRows rows{"results",
                                 {{"operation", "op"},
                                  {"ranks", "ranks"},
                                  {"bytes", "bytes"},
                                  {"algorithm", "algorithm"},
                                  {"us", "seconds", ShownAs::micros},
                                  {"90 % interval", "seconds_90", ShownAs::micros},
                                  {"us by nccom-test", "nccom_seconds", ShownAs::micros},
                                  {"bus GB/s", "busbw_gbps", ShownAs::number}}};
  return rows;
}

const DocumentRows& validation_rows() {
  static const DocumentRows rows{"rows",
                                 {{"row", "id"},
                                  {"of", "configuration"},
                                  {"of", "group"},
                                  {"measured s", "measured_step_seconds", ShownAs::number},
                                  {"predicted s", "predicted_step_seconds", ShownAs::number},
                                  {"90 % interval", "step_seconds_90", ShownAs::number},
                                  {"error", "error", ShownAs::percent},
                                  {"not predicted because", "skipped"}}};
  return rows;
}

const DocumentRows& sweep_rows() {
  static const DocumentRows rows{"rows",
                                 {{"type", "instance"},
                                  {"nodes", "nodes"},
                                  {"sequence", "sequence"},
                                  {"batch", "global_batch"},
                                  {"strategy", "strategy"},
                                  {"step s", "step_seconds", ShownAs::number},
                                  {"MFU", "mfu", ShownAs::percent},
                                  {"works", "works", ShownAs::percent},
                                  {"days", "days", ShownAs::number},
                                  {"USD", "usd", ShownAs::number},
                                  {"why there is no plan", "why"}}};
  return rows;
}

std::string document_of_csv(std::string_view csv) {
  Json rows = Json::array();
  const std::vector<CsvRecord> records = split_csv(csv);
  for (std::size_t i = 1; i < records.size(); ++i) {
    Json row = Json::object();
    for (std::size_t k = 0; k < records[i].fields.size() && k < records[0].fields.size(); ++k)
      row[records[0].fields[k].text] = number_or_text(records[i].fields[k].text);
    rows.push_back(std::move(row));
  }
  return Json{{"rows", std::move(rows)}}.dump();
}

std::string csv_of(std::string_view document, const DocumentRows& rows) {
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> lines;
  std::set<std::string> seen;
  for (const Json& row : rows_of(Json::parse(document), rows)) {
    Cells cells;
    flatten("", row, cells);
    for (const auto& [name, text] : cells)
      if (seen.insert(name).second) names.push_back(name);
    lines.emplace_back(cells.begin(), cells.end());
  }
  if (names.empty()) return {};
  std::string out;
  const auto line = [&out, &names](const auto& text_of) {
    std::string all;
    for (const std::string& name : names)
      all += (all.empty() && &name == &names.front() ? "" : ",") + csv_field(text_of(name));
    out += all + "\n";
  };
  line([](const std::string& name) { return name; });
  for (auto& cells : lines) line([&cells](const std::string& name) { return cells[name]; });
  return out;
}

namespace {

/// The columns that have a value in any row.
std::vector<RowColumn> columns_of(const Json& rows, const std::vector<RowColumn>& all) {
  std::vector<RowColumn> columns;
  for (const RowColumn& c : all) {
    const auto has = [&c](const Json& row) { return !is_blank(at_path(row, c.key)); };
    if (std::any_of(rows.begin(), rows.end(), has)) columns.push_back(c);
  }
  return columns;
}

std::string cell_of(const Json& row, const RowColumn& c) {
  const Json value = at_path(row, c.key);
  if (c.as != ShownAs::text && value.is_array()) {
    if (value.size() != 2 || value[0].is_null() || value[1].is_null()) return "-";
    return shown(value[0], c.as) + " to " + shown(value[1], c.as);
  }
  return cell(shown(value, c.as));
}

}  // namespace

std::string markdown_of(std::string_view document, const DocumentRows& rows) {
  const Json whole = Json::parse(document), all = rows_of(whole, rows);
  const std::vector<RowColumn> columns = columns_of(all, rows.columns);
  const int recommended = whole.value("recommended", -1);
  std::string head = "|", rule = "|", body, scenario;
  if (const auto stated = whole.find("scenario"); stated != whole.end() && stated->is_string())
    scenario = fmt::format("With {}:\n\n", cell(stated->get<std::string>()));
  for (const RowColumn& c : columns) {
    head += fmt::format(" {} |", c.header);
    rule += c.as == ShownAs::text ? " --- |" : " ---: |";
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view bold = static_cast<int>(i) == recommended ? "**" : "";
    std::string line = "|";
    for (const RowColumn& c : columns) line += fmt::format(" {1}{0}{1} |", cell_of(all[i], c), bold);
    body += line + "\n";
  }
  if (recommended >= 0) body += "\nThe recommended one is in bold.\n";
  return all.empty() ? std::string() : scenario + head + "\n" + rule + "\n" + body;
}

}  // namespace trnplan::io
