// Output of nccom-test: text and its JSON report.
#include <cmath>

#include "logs/nccom/nccom_json.h"
#include "logs/nccom/nccom_test.h"
#include "logs/nccom/node_tests.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

void check(const logs::NccomTable& table) {
  for (const logs::NccomRow& row : table.rows) {
    fuzz::ensure(std::isfinite(row.bytes) && row.bytes > 0, "a row has a size");
    fuzz::ensure(std::isfinite(row.seconds) && row.seconds > 0, "a row has a time");
  }
  for (const Diagnostic& warning : table.warnings) {
    fuzz::ensure(!warning.problem.empty(), "a warning says something");
    fuzz::ensure(fuzz::is_printable(to_string(warning)), "a warning is safe to print");
  }
}

}  // namespace

void fuzz::nccom_test_target(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::refusable([&] {
    for (const logs::NccomTable& table : logs::parse_nccom_test(text, "nccom.txt")) check(table);
  });
  for (const char* start : {"", "[trnplan] nodes n1 n2\n"}) {
    fuzz::refusable([&] {
      for (const logs::NodeTest& t : logs::read_node_tests(start + text, "health.out")) {
        fuzz::ensure(!t.nodes.empty() && t.table.has_value() == t.failure.empty(),
                     "a run has a table or a reason");
        fuzz::ensure(fuzz::is_printable(t.failure), "a reason is safe to print");
        if (t.table) check(*t.table);
      }
    });
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (text[first] == '{' || text[first] == '[')) {
    fuzz::refusable([&] {
      JsonReader json(text);
      check(logs::read_nccom_report(json, {}, "nccom.json"));
    });
  }
}
