#include "launch/process/process.h"

#include <cstdlib>
#include <string>

#include "tests/catch.h"

using namespace trnplan;
using launch::run_program;

TEST_CASE("a program's output, error and exit code", "[launch]") {
  const auto ran = run_program({"sh", "-c", "echo out; echo err >&2; exit 3"});
  CHECK(ran.started);
  CHECK(ran.code == 3);
  CHECK_FALSE(ran.ok());
  CHECK(ran.output == "out\n");
  CHECK(ran.error == "err\n");
  CHECK(run_program({"true"}).ok());
  CHECK(run_program({"sh", "-c", "kill -9 $$"}).code == 128 + 9);
  CHECK(run_program({"cat"}).ok());  // has no input, so it ends
}

TEST_CASE("arguments reach a program as they are", "[launch]") {
  const std::string hostile = "a b'\"$(touch pwned)`id`\n; rm -rf x";
  CHECK(run_program({"printf", "%s|%s", hostile, "-n"}).output == hostile + "|-n");
}

TEST_CASE("a program that does not exist", "[launch]") {
  const auto ran = run_program({"no-such-program-of-trnplan"});
  CHECK_FALSE(ran.started);
  CHECK_FALSE(ran.error.empty());
}

TEST_CASE("output of any length on both sides does not hang", "[launch]") {
  const auto ran = run_program({"sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"});
  CHECK(ran.output.size() == 300000);
  CHECK(ran.error.size() == 300000);
  CHECK(run_program({"head", "-c", "17000000", "/dev/zero"}).output.size() == launch::kMostOutput);
}

TEST_CASE("variables can be kept from a program", "[launch]") {
  ::setenv("TRNPLAN_TEST", "1", 1);
  CHECK(run_program({"sh", "-c", "echo $TRNPLAN_TEST"}).output == "1\n");
  CHECK(run_program({"sh", "-c", "echo $TRNPLAN_TEST"}, {true, {"TRNPLAN_TEST"}}).output == "\n");
  CHECK(run_program({"sh", "-c", "echo $TRNPLAN_TEST"}, {true, {"TRNPLAN_TES"}}).output == "1\n");
}

TEST_CASE("a program that does not answer is ended", "[launch]") {
  // It sleeps until it is ended; how long the shell takes to print is up to the machine.
  launch::ProcessResult ran;
  int limit = 1;
  do {
    ran = run_program({"sh", "-c", "echo begun; exec sleep 1000000"}, {true, {}, -1, limit});
    CHECK(ran.started);
    CHECK(ran.late);
    CHECK_FALSE(ran.ok());
    CHECK(ran.error == std::to_string(limit) + " s passed without an answer");
    limit *= 2;
  } while (ran.output.empty());
  CHECK(ran.output == "begun\n");
  CHECK_FALSE(run_program({"true"}, {true, {}, -1, 86'400}).late);
}
