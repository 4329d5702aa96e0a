// explain as a person meets it: what they print, complete and refuse.
#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;

TEST_CASE("explain prints a row of every set that has the id", "[cli]") {
  cli::Session cli;
  cli.expect(0, "^heads: Strategy rules$", "explain heads");
  cli.prints("^heads: Start rules of TorchTitan$");
  cli.prints("^Fix  ");
  cli.prints("aws-neuron/neuronx-distributed-training@");
  cli.expect(0, "^stack  ", "explain");
  cli.expect(0, R"("id": "stack-choice")", "explain --format json");
  cli.refuse("no refusal, finding or remark has this id", "explain hed");
  cli.says("did you mean heads");
  cli.expect(0, "^replica-group\t", "help --complete 'explain r'");
}

TEST_CASE("an id that plan prints is one that explain knows", "[cli]") {
  cli::Session cli;
  cli.expect(0, "Ruled out .*\\[replica-group\\]: ", "plan llama3-8b");
  cli.says("\\[stack\\]$");
  cli.says("\\[end-of-support\\]$");
  cli.says("\\[assumed\\]$");
  cli.run("simulate llama3-8b --strategy tp=8,pp=4 --schedule gpipe");
  cli.says("\\[what-if-schedule\\]$");
  for (const char* id : {"replica-group", "stack", "end-of-support", "assumed", "what-if-schedule"})
    cli.expect(0, "^What  ", std::string("explain ") + id);
}
