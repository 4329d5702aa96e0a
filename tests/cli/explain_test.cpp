// Output, completions and refusals of explain, support and init.
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
  cli.expect(0, "^p5.48xlarge$", "help --complete 'support llama3-8b p'");
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

TEST_CASE("support says of a pair what cannot be done, and why", "[cli]") {
  cli::Session cli;
  cli.expect(0, "^Time +no: the step time of trn3", "support llama3-8b trn3-gen1-ultraserver");
  cli.expect(0, "^p5.48xlarge +yes +megatron torchtitan +slurm eks local$", "support llama3-8b");
  cli.expect(0, R"("written": \[)", "support llama3-8b p5.48xlarge --format json");
  cli.refuse("llama9", "support llama9");
  cli.refuse("trn9", "support llama3-8b trn9");
}

TEST_CASE("init writes a job where nobody is there to ask, and no job that is wrong", "[cli]") {
  cli::Session cli;
  cli.expect(0, "^model: llama3-8b$", "init --model llama3-8b --nodes 4 --out $work/job.yaml");
  cli.says("next: trnplan plan");
  cli.holds("$work/job.yaml", "instance: trn1.32xlarge +# assumed$");
  cli.refuse("exists already", "init --model llama3-8b --out $work/job.yaml");
  cli.refuse("no option or file states the model", "init");
  cli.refuse("is empty", "init --model '' ");
  cli.refuse("state one of the two", "init --model llama3-8b --tokens 1T --steps 5");
}
