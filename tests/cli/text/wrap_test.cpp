#include "cli/text/wrap.h"

#include <cstdlib>
#include <sstream>

#include "cli/text/table.h"
#include "tests/catch.h"

using namespace trnplan::cli;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("lines that fit stay as they are", "[cli]") {
  const std::string text = "a  b   c\n\n  indented, with  gaps\nlast line without end";
  CHECK(wrapped(text, 40) == text);
  CHECK(wrapped("", 40).empty());
  CHECK(wrapped("1234567890 1234567890 1234567890 1234567", 40).find('\n') == std::string::npos);
}

TEST_CASE("what goes on stands under its text", "[cli]") {
  CHECK(wrapped("Limit      tensor engine: one per cent faster makes the step shorter\n", 40) ==
        "Limit      tensor engine: one per cent\n"
        "           faster makes the step shorter\n");
  CHECK(wrapped("  fix: use one node, or an instance type with EFA devices\n", 40) ==
        "  fix: use one node, or an instance type\n"
        "    with EFA devices\n");
}

TEST_CASE("no word is broken", "[cli]") {
  // Moves left where it does not fit under the text, and stays whole where it does not fit at all.
  CHECK(wrapped("Best       tp=8,recompute=CoreAttention+LlamaMLP fits\n", 40) ==
        "Best\n   tp=8,recompute=CoreAttention+LlamaMLP\n           fits\n");
  CHECK(wrapped("           tp=8,recompute=CoreAttention+LlamaMLP", 40) ==
        "   tp=8,recompute=CoreAttention+LlamaMLP");
  const std::string word(60, 'x');
  CHECK(wrapped("see " + word + " there", 40) == "see\n  " + word + "\n  there");
  CHECK(wrapped("  fix: use " + word + "\n", 40) == "  fix: use\n    " + word + "\n");
}

TEST_CASE("a command is never broken", "[cli]") {
  const std::string command = command_text({"trnplan", "plan", "my job.yaml", "--nodes", "4"});
  CHECK(wrapped(command + "\n", 100) == "trnplan plan 'my job.yaml' --nodes 4\n");
  // 36 columns: on a line of its own, left of where the text goes on.
  CHECK(wrapped("Next       " + command + " looks for more\n", 40) ==
        "Next\n    trnplan plan 'my job.yaml' --nodes 4\n           looks for more\n");
  const std::string longer =
      command_text({"trnplan", "plan", "/a/rather/long/path/to/a/job.yaml", "--nodes", "4"});
  CHECK(wrapped("Next       " + longer + "; --details\n", 40) ==
        "Next\n           trnplan plan /a/rather/long/path/to/a/job.yaml --nodes 4;\n           --details\n");
}

TEST_CASE("what goes on of one of several is indented", "[cli]") {
  CHECK(wrapped("Ruled out  " + item("TP 16: the runtime refuses the group") + "\n           " +
                    item("TP 8 x DP 4: needs 17.6 of 16 GiB") + "\n",
                40) ==
        "Ruled out  TP 16: the runtime refuses\n             the group\n"
        "           TP 8 x DP 4: needs 17.6 of\n             16 GiB\n");
  CHECK(wrapped("Ruled out  " + item("TP 16") + "\n", 40) == "Ruled out  TP 16\n");
}

TEST_CASE("pieces stay together as long as they fit", "[cli]") {
  CHECK(wrapped("Best       TP 8 x PP 4   " + unbroken("484 s a step") + "\n", 40) ==
        "Best       TP 8 x PP 4   484 s a step\n");
  CHECK(wrapped("Best       TP 8 x PP 4 x DP 2   " + unbroken("484 s a step") + "\n", 40) ==
        "Best       TP 8 x PP 4 x DP 2\n           484 s a step\n");
  CHECK(wrapped("Best       " + unbroken("a piece that is longer than a line can be") + "\n", 40) ==
        "Best       a piece that is longer than a\n           line can be\n");
}

TEST_CASE("a number keeps its unit", "[cli]") {
  CHECK(wrapped("time   compute and other things (82.3 %), pipeline sends\n", 40) ==
        "time   compute and other things\n       (82.3 %), pipeline sends\n");
}

TEST_CASE("letters outside ASCII take one column", "[cli]") {
  CHECK(columns_of("µs") == 2);
  const std::string text = "µµµµµµµµµµ µµµµµµµµµµ µµµµµµµµµµ µµµµµµµ";  // 40 columns
  CHECK(wrapped(text, 40) == text);
}

TEST_CASE("the width without a terminal", "[cli]") {
  const char* before = std::getenv("COLUMNS");
  const std::string saved = before == nullptr ? "" : before;
  unsetenv("COLUMNS");
  CHECK(output_width(-1) == kWidthWithoutTerminal);
  setenv("COLUMNS", "80", 1);
  CHECK(output_width(-1) == 80);
  setenv("COLUMNS", "3", 1);
  CHECK(output_width(-1) == 40);
  setenv("COLUMNS", "wide", 1);
  CHECK(output_width(-1) == kWidthWithoutTerminal);
  if (before == nullptr)
    unsetenv("COLUMNS");
  else
    setenv("COLUMNS", saved.c_str(), 1);
}

TEST_CASE("a table leaves out what may be spared and moves its tails below", "[cli]") {
  Table table({{"step s"}, {"tokens/s", false, 1}, {"name", true}}, "strategy");
  table.row({"1.00", "1000", "first"}, "tp=8,pp=4");
  table.row({"12.00", "90", "b"}, "tp=8,pp=4,recompute=full");
  CHECK(table.text(80) ==
        "  step s  tokens/s  name   strategy\n"
        "    1.00      1000  first  tp=8,pp=4\n"
        "   12.00        90  b      tp=8,pp=4,recompute=full\n");
  CHECK(table.text(50) ==
        "  step s  tokens/s  name\n"
        "    1.00      1000  first\n"
        "      tp=8,pp=4\n"
        "   12.00        90  b\n"
        "      tp=8,pp=4,recompute=full\n");
  CHECK(lines_of(table.text(18)).front() == "  step s  name");
  for (const std::string& line : lines_of(table.text(40))) CHECK(columns_of(line) <= 40);
}

// Reported: a command of 153 columns on a terminal of 80, which no line may break.
TEST_CASE("a long command goes on behind a backslash", "[cli]") {
  const std::string lines = cli::wrapped(
      cli::command_lines({"trnplan", "simulate", "llama3-8b", "--strategy", "tp=8,pp=2,mbs=2,recompute=full",
                          "--instance", "trn1.32xlarge", "--nodes", "4", "--sequence", "8192"},
                         4),
      80);
  CHECK(lines ==
        "    trnplan simulate llama3-8b --strategy tp=8,pp=2,mbs=2,recompute=full \\\n"
        "      --instance trn1.32xlarge --nodes 4 --sequence 8192\n");
  CHECK(cli::command_lines({"trnplan", "plan", "a.yaml"}, 0) ==
        cli::command_text({"trnplan", "plan", "a.yaml"}) + "\n");
}
