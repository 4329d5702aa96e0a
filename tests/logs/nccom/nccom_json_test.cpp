#include "logs/nccom/nccom_json.h"

#include "tests/logs/readings.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

NccomTable report_of(const std::string& text, const NccomCommand& command = {}) {
  JsonReader json(text);
  return read_nccom_report(json, command, "r.json");
}

}  // namespace

TEST_CASE("a report of nccom-test", "[calibrate]") {
  const std::string document =
      read_text(TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/nccom/allg-r32-results.json");
  const auto table = report_of(document);
  CHECK(table.command.empty());
  CHECK(table.op.empty());
  CHECK(table.warnings.empty());
  CHECK(table.printed_giga == 1e9);
  REQUIRE(table.rows.size() == 4);
  CHECK(table.rows[3].bytes == 524288);
  CHECK(table.rows[3].count == 131072);
  CHECK(table.rows[3].type == "fp32");
  CHECK(table.rows[3].seconds == Approx(23.11e-6));
  CHECK(table.rows[3].busbw == Approx(21.97975251876395e9));
  CHECK(table.rows[0].at.line == 3);

  // With the command the bus factor 31/32 is checked too, and holds.
  const auto command = parse_nccom_command("nccom-test -r 32 -d fp32 allg");
  const auto known = report_of(document, *command);
  CHECK(known.op == "all_gather");
  CHECK(known.ranks == 32);
  CHECK(known.warnings.empty());
  const auto wrong = report_of(document, *parse_nccom_command("nccom-test -r 8 allg"));
  CHECK(wrong.warnings.size() == 4);
}

TEST_CASE("faulty reports of nccom-test", "[calibrate]") {
  CHECK(refusal("{}").find("nothing in it is recognised") != std::string::npos);
  CHECK(refusal("{\"results\": 3}").find("nothing in it is recognised") != std::string::npos);
  CHECK(refusal("7").find("nothing in it is recognised") != std::string::npos);
  CHECK(report_of("[]").rows.empty());
  const auto table = report_of(
      "[{\"size(B)\": 8, \"time(us)\": 2.5, \"other\": [1]},\n{\"size(B)\": [8], \"time(us)\": 1},\n"
      "{\"size(B)\": 8},\n3,\n{\"size(B)\": -8, \"time(us)\": 1e300}]");
  CHECK(table.rows.size() == 1);
  CHECK(table.rows[0].seconds == Approx(2.5e-6));
  REQUIRE(table.warnings.size() == 5);
  CHECK(table.warnings[0].at.line == 2);
  CHECK(table.warnings[0].at.file == "r.json");
  CHECK(table.warnings[1].at.line == 3);
}

TEST_CASE("a report that is cut keeps its whole rows", "[calibrate]") {
  CHECK(report_of("[{\"size(B)\": 8, \"time(us)\": 2.5}, {\"size(B)\": 16, \"time(us)\": 2").rows.size() ==
        1);
  std::string many = "[";
  for (int i = 0; i < 20'001; ++i) many += "{\"size(B)\": 8, \"time(us)\": 2.5},";
  CHECK_THROWS_AS(report_of(many), InputError);
}
