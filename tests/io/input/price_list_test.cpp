// Prices that a user states, and short names of types.
#include "io/input/price_list.h"

#include "io/input/instance_names.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;

TEST_CASE("prices as a list, a map and a table", "[io][prices]") {
  std::vector<Diagnostic> faults;
  const io::PriceList all{{"p5.48xlarge", 38.2}, {"trn2.48xlarge", 20}};
  CHECK(io::prices_from_list("p5.48xlarge=38.2/h,trn2=20", test_catalog(), faults) == all);
  CHECK(faults.empty());
  CHECK(io::prices_from_text("p5: 38.2/h\ntrn2.48xlarge: 20\n", "p.yaml", test_catalog()) == all);
  CHECK(io::prices_from_text("instance,usd_per_hour\np5,38.2\ntrn2,20/h\n", "p.csv", test_catalog()) == all);
}

TEST_CASE("every fault of a file of prices has its place", "[io][prices]") {
  const auto faults = faults_in([] {
    (void)io::prices_from_text("p5: cheap\nq7: 3\ntrn2: 20\ntrn2.48xlarge: 21\np4d: [1]\n", "p.yaml",
                               test_catalog());
  });
  REQUIRE(faults.size() == 4);
  CHECK(faults[0].at.line == 1);
  CHECK(faults[0].at.column == 5);
  CHECK(faults[1].problem == "unknown instance type \"q7\"");
  CHECK(faults[2].problem == "trn2.48xlarge has two prices");
  CHECK(faults[3].at.line == 5);
  const auto table = faults_in(
      [] { (void)io::prices_from_text("instance,usd_per_hour\np5,-1\nq7,2\n", "p.csv", test_catalog()); });
  REQUIRE(table.size() == 2);
  CHECK(table[0].at.line == 2);
}

TEST_CASE("a short name is the largest machine of its family", "[io][prices]") {
  CHECK(io::type_called("p5", test_catalog()).name == "p5.48xlarge");
  CHECK(io::type_called("p5", test_catalog()).also.empty());
  const io::NamedType trn1 = io::type_called("trn1", test_catalog());
  CHECK(trn1.name == "trn1.32xlarge");
  CHECK(trn1.also == std::vector<std::string>{"trn1.2xlarge"});
  CHECK(io::type_called("trn2", test_catalog()).name == "trn2.48xlarge");  // not its setting -lnc1
  CHECK(io::type_called("trn", test_catalog()).name.empty());
  std::vector<std::string> notes;
  CHECK(io::whole_names("trn1,p5,p5e.48xlarge,q7,", test_catalog(), notes) ==
        "trn1.32xlarge,p5.48xlarge,p5e.48xlarge,q7,");
  CHECK(notes == std::vector<std::string>{"trn1 is read as trn1.32xlarge; also there: trn1.2xlarge"});
  CHECK(io::whole_names("", test_catalog(), notes).empty());
}
