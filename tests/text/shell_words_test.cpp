#include "text/shell_words.h"

#include "tests/catch.h"

using namespace trnplan;

TEST_CASE("commands as a person could type them", "[text]") {
  CHECK(command_line({"sbatch", "--chdir=/a/b", "x y", "it's", ""}) ==
        "sbatch --chdir=/a/b 'x y' 'it'\\''s' ''");
}
