#include "logs/profile/profile_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "logs/nccom/bounds.h"
#include "logs/nccom/collective_groups.h"
#include "logs/profile/neuron_profile.h"
#include "logs/profile/parquet_rows.h"
#include "models/collective/collective_timing.h"
#include "text/log_lines.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kColumns = 256;
constexpr std::size_t kQuoted = 65536;  ///< bytes of a field; a quote open for longer is a stray one
constexpr std::size_t kAhead = std::size_t{1024} * 1024;  ///< bytes of a row that are visible at once

/// Rows of a CSV one after the other, as views into the text, valid until the next row. Doubled quotes stay
/// doubled: no column read here has any.
class CsvRows : public TableRows {
 public:
  explicit CsvRows(std::string_view text) : rest_(text) { read_heading(); }
  explicit CsvRows(ByteStream& stream) : stream_(&stream) { read_heading(); }

  const std::vector<std::string>& names() const override { return names_; }
  std::size_t column(std::string_view name) override {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return found == names_.end() ? kAbsent : static_cast<std::size_t>(found - names_.begin());
  }
  int line() const override { return line_; }
  std::string problem() const override {
    if (sound_ && fields_.size() == names_.size()) return "";
    return fmt::format("{} columns where the heading has {}{}; the row is left out", fields_.size(),
                       names_.size(),
                       cut_     ? ", and the file ends"
                       : sound_ ? ""
                                : ", and a quote stays open");
  }
  std::string_view text(std::size_t column) const override {
    return column < fields_.size() ? fields_[column] : std::string_view();
  }
  std::optional<double> number(std::size_t column) const override { return number_of(text(column)); }
  std::optional<std::int64_t> whole(std::size_t column) const override {
    return whole_number_of(text(column));
  }

  bool next() override {
    fields_.clear();
    look_ahead();
    while (rest_.starts_with('\n') || rest_.starts_with('\r')) {
      skip_line_end();
      if (rest_.empty()) look_ahead();
    }
    if (rest_.empty()) return false;
    look_ahead();
    line_ = next_line_;
    sound_ = true;
    for (;;) {
      const std::string_view field = rest_.starts_with('"') ? quoted() : plain();
      if (fields_.size() < kColumns) fields_.push_back(field);
      if (!rest_.starts_with(',')) break;
      rest_.remove_prefix(1);
    }
    cut_ = rest_.empty();
    if (!cut_) skip_line_end();
    return true;
  }

 private:
  void read_heading() {
    if (!CsvRows::next()) return;
    if (fields_[0].starts_with("\xEF\xBB\xBF")) fields_[0].remove_prefix(3);
    names_.assign(fields_.begin(), fields_.end());
  }

  std::string_view plain() {
    const std::string_view field = rest_.substr(0, rest_.find_first_of(",\r\n"));
    rest_.remove_prefix(field.size());
    return trimmed(field);
  }

  std::string_view quoted() {
    std::size_t end = 1;
    const std::size_t most = std::min(rest_.size(), kQuoted);
    while (end < most && (rest_[end] != '"' || (end + 1 < most && rest_[end + 1] == '"'))) {
      end += rest_[end] == '"' ? 2 : 1;
    }
    if (end >= most) {  // it continues below this line
      sound_ = false;
      return plain();
    }
    const std::string_view field = rest_.substr(1, end - 1);
    next_line_ += static_cast<int>(std::count(field.begin(), field.end(), '\n'));
    rest_.remove_prefix(end + 1);
    plain();
    return field;
  }

  void skip_line_end() {
    const bool both = rest_.starts_with("\r\n");
    rest_.remove_prefix(both ? 2 : 1);
    if (next_line_ < std::numeric_limits<int>::max() / 2) ++next_line_;
  }

  /// Reads ahead far enough for any row that is not hostile.
  void look_ahead() {
    if (stream_ == nullptr || rest_.size() >= kAhead) return;
    std::string text(rest_);
    while (text.size() < 2 * kAhead) {
      if (append_from(*stream_, text)) continue;
      stream_ = nullptr;
      break;
    }
    buffer_ = std::move(text);
    rest_ = buffer_;
  }

  ByteStream* stream_ = nullptr;
  std::string buffer_;
  std::string_view rest_;
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;
  int line_ = 1, next_line_ = 1;
  bool sound_ = true;  ///< all quotes are closed
  bool cut_ = false;   ///< the text ends within it
};

ProfileTable table_of(const std::vector<std::string>& names) {
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has("total_time") && (has("total_active_time") || has("neuroncore_cycle_count")))
    return ProfileTable::summary;
  if (has("profile_schema_version")) return ProfileTable::metadata;
  if (!has("duration_ns")) return ProfileTable::none;
  if (has("operation") && (has("input_size") || has("num_elements"))) return ProfileTable::collectives;
  return has("engine") && has("opcode") ? ProfileTable::instructions : ProfileTable::none;
}

/// The positions of columns.
struct Columns {
  explicit Columns(TableRows& rows, ProfileTable table) {
    if (table == ProfileTable::summary) {
      for (const std::string& name : rows.names()) {
        if (is_profile_metric(name) && metrics.size() < kMetrics)
          metrics.emplace_back(name, rows.column(name));
      }
    } else if (table == ProfileTable::metadata) {
      simulated = rows.column("is_simulation");
    } else {
      duration = rows.column("duration_ns");
    }
    if (table == ProfileTable::instructions) {
      start = rows.column("start_ts");
      engine = rows.column("engine");
    }
    if (table != ProfileTable::collectives) return;
    operation = rows.column("operation");
    type = rows.column("dtype");
    algorithm = rows.column("algorithm");
    group = rows.column("replica_group");
    input = rows.column("input_size");
    output = rows.column("output_size");
    elements = rows.column("num_elements");
  }

  static constexpr std::size_t kMetrics = 64;
  std::vector<std::pair<std::string, std::size_t>> metrics;
  std::size_t simulated = TableRows::kAbsent, duration = TableRows::kAbsent, start = TableRows::kAbsent,
              engine = TableRows::kAbsent, operation = TableRows::kAbsent, type = TableRows::kAbsent,
              algorithm = TableRows::kAbsent, group = TableRows::kAbsent, input = TableRows::kAbsent,
              output = TableRows::kAbsent, elements = TableRows::kAbsent;
};

class TableReader {
 public:
  TableReader(TableRows& rows, ProfileTable table, const std::string& name, Samples& out)
      : rows_(rows), table_(table), columns_(rows, table), name_(name), out_(out) {}

  void read() {
    while (rows_.next()) {
      if (std::string problem = rows_.problem(); !problem.empty()) {
        warn(std::move(problem));
      } else {
        read_row();
      }
    }
    groups_.finish(out_);
    if (first_ < last_) {
      DeviceSample device;
      device.at = {name_, 1, 1};
      device.name = "instructions";
      device.seconds = static_cast<double>(last_ - first_) * kNano;
      device.engine_seconds = engines_;
      out_.devices.push_back(std::move(device));
    }
  }

 private:
  void read_row() {
    switch (table_) {
      case ProfileTable::collectives:
        return read_collective();
      case ProfileTable::instructions:
        return read_instruction();
      case ProfileTable::summary:
        return read_summary();
      case ProfileTable::metadata:
        return read_metadata();
      case ProfileTable::none:
        return;
    }
  }

  void warn(std::string problem) {
    out_.warnings.add({name_, rows_.line(), 1}, "", std::move(problem), "give the table as it was exported");
  }
  void leave_out(const char* problem) { warn(std::string(problem) + "; the row is left out"); }

  void read_summary() {
    if (++summaries_ > kSummaries) return leave_out("more summaries than a profile has");
    ProfileMetrics metrics;
    for (const auto& [name, column] : columns_.metrics) {
      if (const auto value = rows_.number(column)) metrics.emplace(name, *value);
    }
    add_profile_summary(metrics, "", {name_, rows_.line(), 1}, out_);
  }

  void read_metadata() {
    const std::string_view word = rows_.text(columns_.simulated);
    if (word != "true" && rows_.number(columns_.simulated).value_or(0) == 0) return;
    out_.simulated = true;
    warn_simulated({name_, rows_.line(), 1}, out_);
  }

  void read_collective() {
    TimedOperation o;
    o.op = rows_.text(columns_.operation);
    o.type = rows_.text(columns_.type);
    o.algorithm = rows_.text(columns_.algorithm);
    o.ranks = first_group_size(rows_.text(columns_.group));
    o.seconds = rows_.number(columns_.duration).value_or(0) * kNano;
    o.bytes = std::max(rows_.number(columns_.input).value_or(0), rows_.number(columns_.output).value_or(0));
    if (o.bytes == 0) {
      o.bytes = rows_.number(columns_.elements).value_or(0) * models::element_bytes(o.type).value_or(0);
    }
    if (o.op.empty() || !groups_.add(o, {name_, rows_.line(), 1}))
      leave_out("no operation, size or duration");
  }

  void read_instruction() {
    const auto start = rows_.whole(columns_.start);
    const auto duration = rows_.whole(columns_.duration);
    constexpr std::int64_t kDay = 86'400'000'000'000;
    if (!start || !duration || *duration > kDay || *start > std::numeric_limits<std::int64_t>::max() - kDay) {
      return leave_out("no start or duration in ns");
    }
    first_ = std::min(first_, *start);
    last_ = std::max(last_, *start + *duration);
    const std::string engine = printable(rows_.text(columns_.engine), 40);
    if (engines_.size() < kEnginesMost || engines_.contains(engine)) {
      engines_[engine] += static_cast<double>(*duration) * kNano;
    }
  }

  static constexpr int kSummaries = 10'000;

  TableRows& rows_;
  ProfileTable table_;
  Columns columns_;
  const std::string& name_;
  Samples& out_;
  CollectiveGroups groups_;
  std::map<std::string, double> engines_;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max(), last_ = 0;
  int summaries_ = 0;
};

ProfileTable read_rows(TableRows& rows, const std::string& name, Samples& out) {
  const ProfileTable table = table_of(rows.names());
  if (table != ProfileTable::none) TableReader(rows, table, name, out).read();
  return table;
}

}  // namespace

ProfileTable profile_table_of(std::string_view heading) {
  return table_of(CsvRows(heading.substr(0, kQuoted)).names());
}

void read_profile_table(ByteStream& table, const std::string& name, Samples& out) {
  CsvRows rows(table);
  read_rows(rows, name, out);
}

ProfileTable read_parquet_table(ByteStream& file, const std::string& name, Samples& out) {
  ParquetRows rows(file, name);
  return read_rows(rows, name, out);
}

}  // namespace trnplan::logs
