// Parquet tables given to calibrate.
#include <cmath>

#include "logs/detect/detect.h"
#include "logs/profile/parquet_rows.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "text/byte_stream.h"

using namespace trnplan;

namespace {

/// All columns, also those that no table of a profile has.
void read_all(const std::string& bytes) {
  TextStream file(bytes, 13);
  logs::ParquetRows rows(file, "log");
  std::vector<std::size_t> columns;
  for (const std::string& name : rows.names()) columns.push_back(rows.column(name));
  std::int64_t count = 0;
  while (count < 10'000 && rows.next()) {
    ++count;
    if (!rows.problem().empty()) break;
    for (const std::size_t column : columns) {
      const auto number = rows.number(column);
      fuzz::ensure(!number || std::isfinite(*number), "a number is finite");
      fuzz::ensure(rows.whole(column).value_or(0) >= 0, "a whole number is at least 0");
      fuzz::ensure(rows.text(column).size() <= (std::size_t{64} << 20), "a text is no longer than a page");
    }
  }
  fuzz::ensure(count <= rows.footer().rows, "no more rows than the footer states");
  fuzz::ensure(fuzz::is_printable(rows.problem()), "a problem is safe to print");
}

}  // namespace

void fuzz::parquet_target(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = fuzz::text_of(data, size);
  if (!logs::is_parquet(bytes)) return;
  fuzz::refusable([&] { read_all(bytes); });
  fuzz::refusable([&] {
    for (const Diagnostic& w : logs::detect(bytes, "log").skipped) {
      fuzz::ensure(fuzz::is_printable(to_string(w)), "a warning is safe to print");
    }
  });
}
