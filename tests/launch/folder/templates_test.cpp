#include "launch/folder/templates.h"

#include <stdexcept>

#include "tests/catch.h"

using namespace trnplan;

TEST_CASE("templates: every script of a folder, each placeholder filled", "[launch]") {
  CHECK(launch::script_templates().size() == 28);
  const std::map<std::string_view, std::string> values = {
      {"about", "# @nodes@"}, {"nodes", "4"}, {"start", ""}, {"passed", ""}};
  const std::string text = launch::filled("mpi_launch.sh", values);
  CHECK(text.find("\n# @nodes@\n") != std::string::npos);  // a value is not looked at again
  CHECK(text.find(" -np 4 ") != std::string::npos);
  // A line of one placeholder vanishes with it.
  std::map<std::string_view, std::string> empty = values;
  empty["about"] = "";
  CHECK(launch::filled("mpi_launch.sh", empty).find("\n\n") == std::string::npos);
  CHECK_THROWS_AS(launch::filled("mpi_launch.sh", {{"about", ""}}), std::logic_error);
  CHECK_THROWS_AS(launch::filled("other.sh", values), std::logic_error);
}
