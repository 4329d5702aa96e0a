#include "text/csv.h"

#include "tests/catch.h"

using namespace trnplan;

TEST_CASE("records and places", "[calibrate]") {
  const auto records = split_csv("a,b\r\n\r\n\"x, \"\"y\"\"\nz\",1\n,\nlast");
  REQUIRE(records.size() == 4);
  CHECK(records[0].fields[1].text == "b");
  CHECK(records[1].line == 3);
  CHECK(records[1].fields[0].text == "x, \"y\"\nz");
  CHECK(records[1].fields[1].text == "1");
  CHECK(records[1].fields[1].line == 4);
  CHECK(records[1].fields[1].column == 4);
  REQUIRE(records[2].fields.size() == 2);
  CHECK(records[2].fields[1].text.empty());
  CHECK(records[3].line == 6);
  CHECK(split_csv("").empty());
  // Spreadsheets write a byte order mark, which is no part of the first column's name.
  CHECK(split_csv("\xef\xbb\xbfm,n\n1,2\n")[0].fields[0].text == "m");
}

TEST_CASE("a row with too few fields is not to be quoted", "[calibrate]") {
  const auto fix = [](const char* row) {
    CsvReader csv("id,nodes\n" + std::string(row) + "\n", "t.csv", {"id"}, "");
    while (csv.next()) {
    }
    try {
      csv.finish();
    } catch (const InputError& e) {
      return e.faults().front().fix;
    }
    return std::string();
  };
  CHECK(fix("A,1,2") == "quote fields that hold commas");
  CHECK(fix("A") == "give every row all fields; one without a value is left empty");
}

TEST_CASE("every fault of a table, at its field", "[calibrate]") {
  CsvReader csv("id,nodes,time\nA,1.5,x\nB\nC,,-1\nD,2,1e999\nE,3,0.5\n", "t.csv", {"id"}, "see t.md");
  std::vector<int> nodes;
  while (csv.next()) {
    nodes.push_back(csv.whole("nodes", -1));
    csv.number("time");
    CHECK(csv.text("no such column").empty());
  }
  CHECK(nodes == std::vector<int>{-1, -1, 2, 3});
  try {
    csv.finish();
    FAIL("no error");
  } catch (const InputError& e) {
    REQUIRE(e.faults().size() == 5);
    CHECK(to_string(e.faults()[0]).find("t.csv:2:3: nodes: \"1.5\" is not a whole number from 0 to") == 0);
    CHECK(e.faults()[1].at.column == 7);
    CHECK(e.faults()[2].at.line == 3);
    CHECK(e.faults()[3].at.line == 4);
    CHECK(e.faults()[4].at.line == 5);
  }
}

TEST_CASE("a whole number has bounds", "[calibrate]") {
  CsvReader csv("layers\n4096\n4097\n1e99\n", "t.csv", {"layers"}, "");
  std::vector<int> layers;
  while (csv.next()) layers.push_back(csv.whole("layers", -1, 4096));
  CHECK(layers == std::vector<int>{4096, -1, -1});
  const auto faults = csv.take_faults();
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].problem == "\"4097\" is not a whole number from 0 to 4096");
}

// 64 MB of commas took 3 GB.
TEST_CASE("a table of too many fields is refused before it is split", "[calibrate]") {
  CsvReader csv("id\n" + std::string(3'000'001, ','), "t.csv", {"id"}, "");
  CHECK_FALSE(csv.next());
  const auto faults = csv.take_faults();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].problem == "the table has more than 3000000 fields");
}

TEST_CASE("quotes that are never closed swallow no rows in silence", "[calibrate]") {
  CsvReader csv("id,note\nA,\"x\nB,y\nC,z\n", "t.csv", {"id"}, "");
  CHECK_FALSE(csv.next());
  try {
    csv.finish();
    FAIL("no error");
  } catch (const InputError& e) {
    REQUIRE(e.faults().size() == 1);
    CHECK(to_string(e.faults()[0]).find("t.csv:2:3: the quotes") == 0);
  }
}

TEST_CASE("a faulty header", "[calibrate]") {
  CsvReader csv("id,a,a\n1,2,3\n", "t.csv", {"id", "b", "c"}, "see t.md");
  CHECK_FALSE(csv.next());
  try {
    csv.finish();
    FAIL("no error");
  } catch (const InputError& e) {
    REQUIRE(e.faults().size() == 3);
    CHECK(e.faults()[0].at.column == 6);
    CHECK(e.faults()[1].key == "b");
    CHECK(e.faults()[2].fix == "see t.md");
  }
}
