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
  cli.expect(0, "the fastest within 10,000,000 USD", what + " --budget 10M");
  cli.expect(3, "^None recommended: the cheapest, .* USD; the budget is 0$", what + " --budget 0");
  cli.expect(3, "^None recommended: the fastest, 2 x .* days; the deadline is 1$", what + " --deadline 1d");
  cli.expect(3, "^None recommended: .*fits",
             "whatif $source/examples/llama3-70b-16-nodes/job.yaml --nodes 1 --tokens 1T");
  cli.expect(0, "the job to be scheduled is not in the days", what + "");
  cli.expect(0, "waits to be scheduled is not counted", "whatif --help");
  cli.refuse(R"(pin-tp3\.yaml: .*rule heads)", "whatif $work/pin-tp3.yaml --nodes 1,2 --tokens 1T");
  cli.write_job("no-tokens.yaml", "llama3-8b", 1, 1024);
  cli.refuse("--tokens: neither", "whatif $work/no-tokens.yaml --nodes 1");
  cli.expect(0, "reached +with 50 % at least [0-9.]+[BT] tokens",
             "whatif $work/no-tokens.yaml --nodes 1 --deadline 30d");
  cli.expect(3, R"("recommended": -1)", what + " --deadline 1d --format json");
  cli.expect(3, R"("would_do": \{)", what + " --deadline 20d --format json");
  cli.expect(3, "^  would do    --nodes [0-9]+: ", what + " --deadline 20d");
  cli.prints("^  reached     on 2 x trn1.32xlarge: 20.0 days");
  cli.prints("^Next       trnplan plan .* --nodes [0-9]+ --out DIR ");

  // Types against each other, one without a price of that kind; and a cluster beyond the runs of the fit.
  cli.expect(0, "^4 x trn1.32xlarge is the cheapest: ",
             "whatif llama3-8b --nodes 4 --instances trn1.32xlarge,trn2.48xlarge --tokens 1T");
  cli.prints("^trn2.48xlarge +4 +- +- +- +none +[0-9.]+$");
  cli.prints("trn2.48xlarge: no on_demand price is known; below [0-9.]+ USD/h a node its tokens are");
  cli.expect(0, "^4 x trn2.48xlarge: ",
             "whatif llama3-8b --nodes 4 --instances trn2.48xlarge --tokens 1T --pricing capacity_block");
  cli.expect(0, "384 x trn1.32xlarge lies outside the runs that trn1 was fitted to: nodes 384",
             "whatif llama3-8b --nodes 384 --tokens 1T");
  cli.expect(0, "^  strategy    tp=[0-9]+", what);

  // What comes next can be pasted: a path is quoted where a shell needs it.
  cli.write_job("it's a job.yaml", "llama3-8b", 1, 1024);
  cli.run_with("COLUMNS", "500", "whatif \"$work/it's a job.yaml\" --tokens 1T --nodes 1");
  cli.prints(R"(^Next       trnplan plan '/.*/it'\\''s a job\.yaml' --nodes 1 --out DIR)");
  cli.run_with("COLUMNS", "500", "check $source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
  cli.prints(R"(^Next       trnplan plan /[^ ']*config\.yaml looks)");

  // ---- the same twice; JSON; help ----
  const std::string first = cli.run(what + " --recovery manual").out;
  CHECK(cli.run(what + " --recovery manual").out == first);
}
