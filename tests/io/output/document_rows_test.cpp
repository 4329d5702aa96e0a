// Rows of a document for spreadsheets and pull requests.
#include "io/output/document_rows.h"

#include <string>

#include "tests/catch.h"
#include "text/csv.h"

using namespace trnplan;
using namespace trnplan::io;

namespace {

const DocumentRows kRows{"points",
                         {{"what", "what"},
                          {"share", "inside.share", ShownAs::percent},
                          {"us", "both", ShownAs::micros},
                          {"never there", "nothing"}}};

/// A key that only the second row has, a comma, a quote, a bar, an interval, whole numbers, null.
const char* const kDocument = R"({"schema_version": 1, "recommended": 1, "points": [
  {"what": "a, \"b\" | c", "inside": {"share": 0.5, "list": [1, 2]}, "both": [1e-6, 2.5e-6], "others": [{"x": 1}]},
  {"what": "d", "inside": {"share": null, "list": []}, "both": [3e-6, 4e-6], "late": true, "nothing": ""}]})";

}  // namespace

// A column that shifts, a value that loses digits, an end of an interval that is dropped.
TEST_CASE("rows as CSV hold every number and word of their row", "[io]") {
  const auto records = split_csv(csv_of(kDocument, kRows));
  const auto line = [&](std::size_t i) {
    std::string all;
    for (const auto& field : records.at(i).fields) all += field.text + ";";
    return all;
  };
  REQUIRE(records.size() == 3);
  CHECK(line(0) == "what;inside.share;inside.list;both.low;both.high;late;nothing;");
  CHECK(line(1) == "a, \"b\" | c;0.5;1/2;1e-06;2.5e-06;;;");
  CHECK(line(2) == "d;;;3e-06;4e-06;true;;");
  CHECK(csv_of("{}", kRows).empty());
}

TEST_CASE("rows as Markdown have their main columns, and the recommended one is bold", "[io]") {
  CHECK(markdown_of(kDocument, kRows) ==
        "| what | share | us |\n| --- | ---: | ---: |\n| a, \"b\" \\| c | 50.0 % | 1 to 2.5 |\n"
        "| **d** | **-** | **3 to 4** |\n\nThe recommended one is in bold.\n");
  CHECK(markdown_of("{}", kRows).empty());
  CHECK(markdown_of(R"({"points": [{"both": [1e-6, 2e-6]}, {"both": [null, null]}]})", kRows) ==
        "| us |\n| ---: |\n| 1 to 2 |\n| - |\n");
  const std::string table = document_of_csv("what,share\n\"x, y\",0.25\n");
  CHECK(csv_of(table, sweep_rows()) == "what,share\n\"x, y\",0.25\n");
}
