#include "text/diagnostic.h"

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

TEST_CASE("beyond ASCII, what drives a terminal or hides text is replaced", "[units]") {
  CHECK(printable("a\xc2\x9b"
                  "31mb") == "a?31mb");  // C1: CSI in UTF-8
  CHECK(printable("a\x9b"
                  "31mb") == "a?31mb");  // and in 8 bits
  CHECK(printable("\xe2\x80\xae"
                  "x\xe2\x81\xa6"
                  "y\xd8\x9c") == "?x?y?");  // U+202E, U+2066, U+061C
  CHECK(printable("a\xe2\x80\x8b"
                  "b\xef\xbb\xbf") == "a?b?");  // U+200B, U+FEFF
  CHECK(printable("a\xe2\x80\xa8"
                  "b\xf3\xa0\x81\x81") == "a?b?");  // U+2028, a tag
  CHECK(printable("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x9a\x80") == "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x9a\x80");
  CHECK(printable("\xc0\x9b\xed\xa0\x80\xf8") == "??????");  // overlong, a surrogate, no lead byte
  CHECK(printable("\xe2\x80") == "??");                      // cut off
  CHECK(printable("ab\xc3\xa9", 3) == "ab...");              // no half of a character
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
  CHECK(nearest("pbs", {"eks", "slurm"}).empty());  // two of three letters differ
  CHECK(nearest("pp2", {"pp"}) == "pp");
  CHECK(nearest("global_batches", keys) == "global_batch");  // lengths differ, but by less than a third
  CHECK(nearest(std::string(100000, 'x'), keys).empty());    // refused before any work
}
