// whatif: which cluster it recommends.
#include <string>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

TEST_CASE("clusters compared", "[cli]") {
  Session cli;
  cli.write_job("pin-tp3.yaml", "llama3-8b", 1, 1024, "tensor_parallel: 3");
  const std::string what = "whatif $example --tokens 1T --nodes 1,2";
  cli.expect(0, R"(^Recommended: [12] x trn1\.32xlarge, the cheapest$)", what + "");
  cli.expect(0, "the fastest within 10000000 USD", what + " --budget 10M");
  cli.expect(3, "^None recommended: the cheapest, .* USD; the budget is 0$", what + " --budget 0");
  cli.expect(3, "^None recommended: the fastest, 2 x .* days; the deadline is 1$", what + " --deadline 1d");
  cli.expect(3, "^None recommended: .*fits",
             "whatif $source/examples/llama3-70b-16-nodes/job.yaml --nodes 1 --tokens 1T");
  cli.expect(0, "the job to be scheduled is not in the days", what + "");
  cli.expect(0, "waits to be scheduled is not counted", "whatif --help");
  cli.refuse(R"(pin-tp3\.yaml: .*rule heads)", "whatif $work/pin-tp3.yaml --nodes 1,2 --tokens 1T");
  cli.write_job("no-tokens.yaml", "llama3-8b", 1, 1024);
  cli.refuse("--tokens: neither", "whatif $work/no-tokens.yaml --nodes 1");
  cli.expect(0, "reached +[0-9.]+[BT] tokens with 50 %",
             "whatif $work/no-tokens.yaml --nodes 1 --deadline 30d");
  cli.expect(3, R"("recommended": -1)", what + " --deadline 1d --format json");

  // ---- the same twice; JSON; help ----
  const std::string first = cli.run(what + " --recovery manual").out;
  CHECK(cli.run(what + " --recovery manual").out == first);
}
