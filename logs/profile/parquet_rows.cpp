#include "logs/profile/parquet_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "text/log_lines.h"

namespace trnplan::logs {

namespace {

constexpr const char* kWriteAgain =
    "write the table again: duckdb -c \"COPY (FROM 'FILE.parquet') TO 'again.parquet' (COMPRESSION zstd)\"";

constexpr const char* kWriteNumbers =
    "write it as BIGINT, DOUBLE or VARCHAR: duckdb -c \"COPY (SELECT * REPLACE (COLUMN::BIGINT AS COLUMN) "
    "FROM "
    "'FILE.parquet') TO 'again.parquet'\"";

std::string type_name(int type) {
  constexpr const char* kNames[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                    "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
  return type >= 0 && type < static_cast<int>(std::size(kNames)) ? kNames[type]
                                                                 : fmt::format("number {}", type);
}

/// Types and codecs have no value in between that is not known.
bool is_known_type(int type) {
  return type >= static_cast<int>(ParquetType::boolean) && type <= static_cast<int>(ParquetType::fixed_bytes);
}

/// The first encoding of these that is not read; -1 if all are. BIT_PACKED and RLE may be those of levels, and
/// old writers state a dictionary that a column of bools has not.
int unread_encoding(ParquetType type, std::uint32_t encodings) {
  using enum ParquetEncoding;
  for (int i = 0; i < 32; ++i) {
    const auto encoding = static_cast<ParquetEncoding>(i);
    if ((encodings >> i & 1U) == 0 || encoding == rle || encoding == bit_packed) continue;
    if (encoding == plain_dictionary && type == ParquetType::boolean) continue;
    if (!is_read(type, encoding)) return i;
  }
  return -1;
}

}  // namespace

ParquetRows::ParquetRows(ByteStream& file, const std::string& name)
    : name_(name),
      footer_(read_footer(file, file.size().value_or(0), name)),
      budget_(file.size().value_or(0)),
      file_(file) {
  for (const ParquetColumn& c : footer_.columns) names_.push_back(c.name);
}

void ParquetRows::check(const ParquetColumn& column, std::size_t index) {
  const auto fault = [&](const std::string& problem, const char* fix = kWriteAgain) {
    faults_.push_back({{name_, 0, 0}, printable(column.name, 80), problem + ", which is not read", fix});
  };
  if (!column.flat) return fault("a column of lists or groups", kWriteNumbers);
  if (column.scaled) return fault("a column of decimals, dates or times rather than numbers", kWriteNumbers);
  const auto type = static_cast<ParquetType>(column.type);
  if (!is_known_type(column.type) || !is_read(type, ParquetEncoding::plain)) {
    return fault("a column of the type " + type_name(column.type), kWriteNumbers);
  }
  for (const ParquetGroup& group : footer_.groups) {
    const ParquetChunk& chunk = group.chunks[index];
    if (group.rows == 0) continue;
    if (!chunk.readable) return fault("a column that is encrypted or in another file");
    if (!is_read(static_cast<ParquetCodec>(chunk.codec))) {
      return fault("a column packed with " + codec_name(chunk.codec));
    }
    const int encoding = unread_encoding(type, chunk.encodings);
    if (encoding >= 0) return fault("a column encoded as " + encoding_name(encoding));
  }
}

std::size_t ParquetRows::column(std::string_view name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return kAbsent;
  const auto index = static_cast<std::size_t>(found - names_.begin());
  const auto known = std::find(indices_.begin(), indices_.end(), index);
  if (known != indices_.end()) return static_cast<std::size_t>(known - indices_.begin());
  check(footer_.columns[index], index);
  indices_.push_back(index);
  columns_.emplace_back(file_, footer_.columns[index], budget_);
  return columns_.size() - 1;
}

/// Goes to the next row group with rows; false after the last.
bool ParquetRows::open_group() {
  while (group_ < footer_.groups.size() && footer_.groups[group_].rows == 0) ++group_;
  if (group_ == footer_.groups.size()) return false;
  const ParquetGroup& group = footer_.groups[group_++];
  left_ = group.rows;
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].open(group.chunks[indices_[i]]);
  return true;
}

bool ParquetRows::next() {
  if (!faults_.empty()) throw InputError(std::move(faults_));
  if (!problem_.empty() || columns_.empty() || (left_ == 0 && !open_group())) return false;
  --left_;
  ++row_;
  for (ColumnReader& column : columns_) {
    if (column.next()) continue;
    problem_ = fmt::format("column \"{}\": {}; this row and those after it are left out",
                           printable(column.column().name, 80), column.problem());
    break;
  }
  return true;
}

int ParquetRows::line() const {
  return static_cast<int>(std::min<std::int64_t>(row_, std::numeric_limits<int>::max()));
}

std::string_view ParquetRows::text(std::size_t column) const {
  if (column >= columns_.size()) return {};
  const ParquetValue& value = columns_[column].value();
  return value.kind == ParquetValue::Kind::text ? value.text : std::string_view();
}

std::optional<double> ParquetRows::number(std::size_t column) const {
  if (column >= columns_.size()) return std::nullopt;
  const ParquetValue& value = columns_[column].value();
  switch (value.kind) {
    case ParquetValue::Kind::none:
      return std::nullopt;
    case ParquetValue::Kind::whole:
      return static_cast<double>(value.whole);
    case ParquetValue::Kind::real:
      return std::isfinite(value.real) ? std::optional(value.real) : std::nullopt;
    case ParquetValue::Kind::text:
      return number_of(value.text);
  }
  return std::nullopt;
}

/// Also of a whole number that was written as a double, as tools do with a column that has absent values.
std::optional<std::int64_t> ParquetRows::whole(std::size_t column) const {
  if (column >= columns_.size()) return std::nullopt;
  const ParquetValue& value = columns_[column].value();
  constexpr double kExact = 9007199254740992;  // 2^53: below, a double is exact
  switch (value.kind) {
    case ParquetValue::Kind::none:
      return std::nullopt;
    case ParquetValue::Kind::whole:
      return value.whole >= 0 ? std::optional(value.whole) : std::nullopt;
    case ParquetValue::Kind::real:
      if (!(value.real >= 0 && value.real < kExact) || value.real != std::floor(value.real))
        return std::nullopt;
      return static_cast<std::int64_t>(value.real);
    case ParquetValue::Kind::text:
      return whole_number_of(value.text);
  }
  return std::nullopt;
}

}  // namespace trnplan::logs
