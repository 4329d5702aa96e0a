// Output of nccom-test, text and its JSON report, and of nccl-tests; both as a job's measured network.
#include <cmath>
#include <map>
#include <string>

#include "io/input/measured_network.h"
#include "logs/nccl/nccl_tests.h"
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
  for (const logs::NcclTable& table : logs::parse_nccl_tests(text, "nccl.txt")) {
    for (const logs::NcclTime& t : table.times)
      fuzz::ensure(std::isfinite(t.bytes) && t.bytes > 0 && std::isfinite(t.seconds) && t.seconds > 0,
                   "a time has a size");
  }
  for (const char* name : {"trn1.32xlarge", "p5.48xlarge"}) {
    static const std::map<std::string, topology::Instance> machines = {
        {"trn1.32xlarge", fuzz::catalog().instance("trn1.32xlarge")},
        {"p5.48xlarge", fuzz::catalog().instance("p5.48xlarge")}};
    fuzz::refusable([&] {
      const models::MeasuredAllReduce m =
          io::all_reduce_of_table(text, "table.txt", {machines.at(name), 4}, {0.06, 0.2}).measured;
      fuzz::ensure(m.nodes >= 2 && m.ranks % m.nodes == 0 && m.bus.value > 0,
                   "a measurement is between nodes");
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
