#include "units/diagnostic.h"

#include "tests/catch.h"

using namespace trnplan;

TEST_CASE("a diagnostic reads file:line:col: key: problem and a fix", "[units]") {
  CHECK(to_string({{"job.yaml", 3, 9}, "cluster.nodes", "\"0\" is too small", "write 1 or more"}) ==
        "job.yaml:3:9: cluster.nodes: \"0\" is too small\n  fix: write 1 or more");
  CHECK(to_string({{"job.yaml", 0, 0}, "", "the file is empty", ""}) == "job.yaml: the file is empty");
}

TEST_CASE("control characters of a hostile file do not reach the terminal", "[units]") {
  const std::string text = to_string({{"a\033[2Jb", 1, 1}, "k\n", "p\r\x07", ""});
  CHECK(text == "a?[2Jb:1:1: k?: p??");
  CHECK(printable(std::string(300, 'x')).size() == 203);
  CHECK(in_quotes("a\nb") == "\"a?b\"");
  CHECK(in_quotes("abcd", 2) == "\"ab...\"");
}

TEST_CASE("an error carries every fault", "[units]") {
  const InputError e({Diagnostic{{"f", 1, 1}, "a", "bad", ""}, Diagnostic{{"f", 2, 1}, "b", "worse", ""}});
  CHECK(e.faults().size() == 2);
  CHECK(std::string(e.what()) == "f:1:1: a: bad\nf:2:1: b: worse");
}

TEST_CASE("the nearest known key", "[units]") {
  const std::vector<std::string> keys = {"nodes", "instance", "global_batch"};
  CHECK(nearest("node", keys) == "nodes");
  CHECK(nearest("globalbatch", keys) == "global_batch");
  CHECK(nearest("zebra", keys).empty());
  CHECK(nearest("global_batches", keys) == "global_batch");  // lengths differ, but by less than a third
  CHECK(nearest(std::string(100000, 'x'), keys).empty());    // refused before any work
}
