#include "logs/profile/profile_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "logs/nccom/bounds.h"
#include "logs/nccom/collective_groups.h"
#include "models/collective/collective_timing.h"
#include "text/log_lines.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kColumns = 256;
constexpr std::size_t kQuoted = 65536;  ///< bytes of a field; a quote open for longer is a stray one
constexpr std::size_t kAhead = std::size_t{1024} * 1024;  ///< bytes of a row that are visible at once

/// Rows one after the other, as views into the text, valid until the next row. Doubled quotes stay doubled:
/// no column read here has any.
class Rows {
 public:
  explicit Rows(std::string_view text) : rest_(text) {}
  explicit Rows(ByteStream& stream) : stream_(&stream) {}

  bool next() {
    fields.clear();
    look_ahead();
    while (rest_.starts_with('\n') || rest_.starts_with('\r')) {
      skip_line_end();
      if (rest_.empty()) look_ahead();
    }
    if (rest_.empty()) return false;
    look_ahead();
    line = next_line_;
    sound = true;
    for (;;) {
      const std::string_view field = rest_.starts_with('"') ? quoted() : plain();
      if (fields.size() < kColumns) fields.push_back(field);
      if (!rest_.starts_with(',')) break;
      rest_.remove_prefix(1);
    }
    cut = rest_.empty();
    if (!cut) skip_line_end();
    return true;
  }

  std::vector<std::string_view> fields;
  int line = 1;
  bool sound = true;  ///< all quotes are closed
  bool cut = false;   ///< the text ends within it

 private:
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
      sound = false;
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
  int next_line_ = 1;
};

/// Positions of the columns.
class Heading {
 public:
  explicit Heading(const std::vector<std::string_view>& names) : names_(names.begin(), names.end()) {}
  bool has(std::string_view name) const { return index(name) < names_.size(); }
  std::string_view of(const Rows& row, std::string_view name) const {
    const std::size_t i = index(name);
    return i < row.fields.size() ? row.fields[i] : std::string_view();
  }

 private:
  std::size_t index(std::string_view name) const {
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }
  std::vector<std::string> names_;
};

ProfileTable table_of(const Heading& heading) {
  if (!heading.has("duration_ns")) return ProfileTable::none;
  if (heading.has("operation") && (heading.has("input_size") || heading.has("num_elements"))) {
    return ProfileTable::collectives;
  }
  return heading.has("engine") && heading.has("opcode") ? ProfileTable::instructions : ProfileTable::none;
}

class TableReader {
 public:
  TableReader(ByteStream& table, const std::string& name, Samples& out)
      : rows_(table), name_(name), out_(out) {}

  void read() {
    if (!rows_.next()) return;
    if (rows_.fields[0].starts_with("\xEF\xBB\xBF")) rows_.fields[0].remove_prefix(3);
    const Heading heading(rows_.fields);
    const std::size_t columns = rows_.fields.size();
    const ProfileTable table = table_of(heading);
    if (table == ProfileTable::none) return;
    while (rows_.next()) {
      if (!rows_.sound || rows_.fields.size() != columns) {
        leave_out(fmt::format("{} columns where the heading has {}{}", rows_.fields.size(), columns,
                              rows_.cut     ? ", and the file ends"
                              : rows_.sound ? ""
                                            : ", and a quote stays open"));
        continue;
      }
      if (table == ProfileTable::collectives) {
        read_collective(heading);
      } else {
        read_instruction(heading);
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
  void leave_out(std::string problem) {
    out_.warnings.add({name_, rows_.line, 1}, "", std::move(problem) + "; the row is left out",
                      "give the table as it was exported");
  }

  void read_collective(const Heading& heading) {
    TimedOperation o;
    o.op = heading.of(rows_, "operation");
    o.type = heading.of(rows_, "dtype");
    o.algorithm = heading.of(rows_, "algorithm");
    o.ranks = first_group_size(heading.of(rows_, "replica_group"));
    o.seconds = number_of(heading.of(rows_, "duration_ns")).value_or(0) * kNano;
    o.bytes = std::max(number_of(heading.of(rows_, "input_size")).value_or(0),
                       number_of(heading.of(rows_, "output_size")).value_or(0));
    if (o.bytes == 0) {
      o.bytes = number_of(heading.of(rows_, "num_elements")).value_or(0) *
                models::element_bytes(o.type).value_or(0);
    }
    if (o.op.empty() || !groups_.add(o, {name_, rows_.line, 1})) leave_out("no operation, size or duration");
  }

  void read_instruction(const Heading& heading) {
    const auto start = whole_number_of(heading.of(rows_, "start_ts"));
    const auto duration = whole_number_of(heading.of(rows_, "duration_ns"));
    constexpr std::int64_t kDay = 86'400'000'000'000;
    if (!start || !duration || *duration > kDay || *start > std::numeric_limits<std::int64_t>::max() - kDay) {
      return leave_out("no start or duration in ns");
    }
    first_ = std::min(first_, *start);
    last_ = std::max(last_, *start + *duration);
    const std::string engine = printable(heading.of(rows_, "engine"), 40);
    if (engines_.size() < kEnginesMost || engines_.contains(engine)) {
      engines_[engine] += static_cast<double>(*duration) * kNano;
    }
  }

  Rows rows_;
  const std::string& name_;
  Samples& out_;
  CollectiveGroups groups_;
  std::map<std::string, double> engines_;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max(), last_ = 0;
};

}  // namespace

ProfileTable profile_table_of(std::string_view heading) {
  Rows rows(heading.substr(0, kQuoted));
  if (!rows.next()) return ProfileTable::none;
  return table_of(Heading(rows.fields));
}

void read_profile_table(ByteStream& table, const std::string& name, Samples& out) {
  TableReader(table, name, out).read();
}

}  // namespace trnplan::logs
