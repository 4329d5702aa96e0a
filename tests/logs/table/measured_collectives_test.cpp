#include "logs/table/measured_collectives.h"

#include <algorithm>
#include <map>

#include "calibrate/fit/collective_fit.h"
#include "logs/nccom/nccom_command.h"
#include "logs/nccom/nccom_test.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "text/csv.h"
#include "text/document.h"

using namespace trnplan;
using logs::MeasuredCollective;
using logs::parse_measured_collectives;

namespace {

const std::string kCatalog = TRNPLAN_SOURCE_DIR "/catalog/";

std::vector<MeasuredCollective> catalogue() {
  const std::string path = kCatalog + "measured-collectives.csv";
  return parse_measured_collectives(read_text(path), path);
}

}  // namespace

TEST_CASE("the catalogue's collectives", "[calibrate]") {
  const auto rows = catalogue();
  CHECK(rows.size() == 93);
  std::map<std::string, int> builds;
  for (const auto& row : rows) ++builds[row.build];
  CHECK(builds["2023-04"] == 11 + 1 + 4 + 28);
  CHECK(builds["2024"] == 17);
  const auto row = std::find_if(rows.begin(), rows.end(), [](const auto& r) { return r.id == "C031"; });
  REQUIRE(row != rows.end());
  CHECK(row->op == "all_reduce");
  CHECK(row->ranks == 16);
  CHECK(row->nodes == 1);
  CHECK(row->instance.empty());
  CHECK(row->bytes == 33554432);
  CHECK(row->type == "fp32");
  CHECK(row->seconds == 2754.15e-6);
  CHECK(row->algorithm == "kangaring");
}

TEST_CASE("points that their table leaves out are not used, and it is said why", "[calibrate]") {
  auto rows = catalogue();
  std::erase_if(rows, [](const auto& row) { return row.build != "2025" && row.build != "2025-06"; });
  const auto chosen = calibrate::select_points(rows, test_catalog().instance("trn1.32xlarge"),
                                               test_catalog().profile("trn1"));
  CHECK(chosen.points.size() == 8);
  REQUIRE(chosen.left_out.size() == 1);
  CHECK(chosen.left_out[0].point.id == "C083");
  CHECK(chosen.left_out[0].reason == "its table says so: the profiler recorded meanwhile");
  for (const auto& p : chosen.points) CHECK(p.left_out.empty());
}

TEST_CASE("the same points as in measured-runs.csv", "[calibrate]") {
  std::map<std::string, MeasuredCollective> rows;
  for (const auto& row : catalogue()) rows[row.id] = row;
  const std::string path = kCatalog + "measured-runs.csv";
  CsvReader csv(read_text(path), path, {"id", "kind", "coll_bytes"}, "");
  int same = 0;
  while (csv.next()) {
    if (csv.text("kind") != "collective") continue;
    const auto row = rows.find(std::string(csv.text("id")));
    REQUIRE(row != rows.end());
    std::string op(csv.text("coll_op"));
    std::replace(op.begin(), op.end(), '-', '_');
    CHECK(row->second.op == logs::canonical_op(op));
    CHECK(row->second.ranks == csv.whole("coll_ranks", 0));
    CHECK(row->second.nodes == csv.whole("nodes", 0));
    CHECK(row->second.bytes == csv.number("coll_bytes"));
    CHECK(row->second.type == csv.text("coll_dtype"));
    CHECK(row->second.seconds == *csv.number("coll_time_us") * 1e-6);
    ++same;
  }
  csv.finish();
  CHECK(same == 84);
}

TEST_CASE("the points of the fixtures, read from nccom-test's own output", "[calibrate]") {
  const std::string path = TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/nccom/allr-r2-sweep.txt";
  const auto rows = catalogue();
  const auto tables = logs::parse_nccom_test(read_text(path), path);
  REQUIRE(tables.size() == 1);
  REQUIRE(tables[0].rows.size() == 11);
  for (std::size_t i = 0; i < 11; ++i) {
    CHECK(rows[i].op == tables[0].op);
    CHECK(rows[i].ranks == tables[0].ranks);
    CHECK(rows[i].bytes == tables[0].rows[i].bytes);
    CHECK(rows[i].seconds == tables[0].rows[i].seconds);
  }
}

TEST_CASE("every fault of a collectives table", "[calibrate]") {
  const std::string header = "id,op,ranks,nodes,instance,bytes,type,measured_us,build,source\n";
  try {
    parse_measured_collectives(header +
                                   "A,allr,2,1,trn1.32xlarge,8,fp32,58,2023,s\n"
                                   "B,all_reduce,0,,not stated,0,fp32,-1,2023,s\n"
                                   "A,all_reduce,2,4,,8,fp32,58,,s\n"
                                   "C,all_reduce\n"
                                   "D,all_reduce,two,1,,,fp32,1e999,2023,\n",
                               "t.csv");
    FAIL("no error");
  } catch (const InputError& e) {
    std::vector<std::string> where;
    for (const auto& f : e.faults()) where.push_back(std::to_string(f.at.line) + " " + f.key);
    CHECK(where == std::vector<std::string>{"2 op", "3 ranks", "3 bytes", "3 measured_us", "4 id", "4 nodes",
                                            "4 build", "5 ", "6 ranks", "6 bytes", "6 measured_us",
                                            "6 source"});
    CHECK(e.faults()[0].at.column == 3);
    CHECK(e.faults()[0].fix == "write all_reduce");
  }
  CHECK_THROWS_AS(parse_measured_collectives("", "t.csv"), InputError);
  CHECK_THROWS_AS(parse_measured_collectives("id,op\n", "t.csv"), InputError);
  CHECK(parse_measured_collectives(header, "t.csv").empty());
}
