// Wrong command lines, and help.
#include <algorithm>
#include <regex>
#include <sstream>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

TEST_CASE("wrong options", "[cli]") {
  Session cli;
  // ---- wrong command lines ----

  cli.refuse_usage("--nonsense", "plan $example --nonsense");
  cli.refuse_usage("--nonsense", "plan --nonsense");
  cli.refuse_usage("frobnicate", "frobnicate");
  cli.refuse_usage("subcommand", "");
  cli.refuse_usage("job", "plan");
  cli.refuse_usage("strategy", "simulate $example");
  cli.refuse_usage("surplus", "plan $example surplus");
  cli.refuse_usage("--format.*xml", "topology --format xml");
  cli.refuse(R"(--nodes: "0")", "plan $example --nodes 0");
  cli.refuse(R"(--nodes: "1\.5")", "plan $example --nodes 1.5");
  cli.refuse(R"(--nodes: "-1")", "plan $example --nodes -1");
  cli.refuse("--sequence", "plan gpt-neox-20b");
  cli.refuse(R"(lama3-8b": this is neither a)", "plan lama3-8b");
  cli.refuse_usage("nodes", "whatif llama3-8b --tokens 1T");
  cli.refuse_usage("--pricing.*rent", "whatif $example --nodes 1 --pricing rent");
  cli.refuse(R"(--nodes: "8\.\.4")", "whatif $example --nodes 8..4");
  cli.refuse(R"(--nodes: "1876")", "whatif $example --nodes 1,1876");
  cli.refuse(R"(--nodes: "")", "whatif $example --nodes 1,");
  cli.refuse(R"(--nodes: "99999999999")", "whatif $example --nodes 99999999999");
  std::string many = "1";
  for (int nodes = 2; nodes <= 65; ++nodes) many += "," + std::to_string(nodes);
  cli.refuse("--nodes: 65 clusters", "whatif $example --nodes " + many);
  cli.refuse(R"(--tokens: "0")", "whatif $example --nodes 1 --tokens 0");
  cli.refuse(R"(--deadline: "30")", "whatif $example --nodes 1 --deadline 30");
  cli.refuse(R"(--budget: "-1")", "whatif $example --nodes 1 --budget=-1");
  cli.refuse(R"(--instances: .*trn1\.33xlarge)", "whatif $example --nodes 1 --instances trn1.33xlarge");
  cli.refuse("--instances: .*twice", "whatif $example --nodes 1 --instances trn1.32xlarge,trn1.32xlarge");
  cli.refuse("--usd-per-node-hour: one price",
             "whatif $example --nodes 1 --instances trn1.32xlarge,trn1n.32xlarge --usd-per-node-hour 9");
  cli.refuse("--storage-gib: ", "whatif $example --nodes 1 --storage-gib 1200");
  cli.refuse(R"(no-such\.json: .*No such)", "whatif $example --nodes 1 --reliability no-such.json");
  cli.write("reliability.json", R"({"name": "x", "parameters": {"restart": {"median": -1}}})");
  cli.refuse(R"(reliability\.json:1:[0-9]+: parameters\.restart\.median: )",
             "whatif $example --nodes 1 --reliability $work/reliability.json");
  cli.refuse_usage("--tp.* 8x", "topology --tp 8x");
  cli.refuse("--tp", "topology --tp 3");
  cli.refuse("--tp", "topology --tp 64");
  cli.refuse(R"(--instance: .*trn1\.33xlarge)", "topology --instance trn1.33xlarge");
}

TEST_CASE("a wrong command line says which option, and what is meant", "[cli]") {
  Session cli;
  cli.refuse("^command line: --node: unknown option", "plan $example --node 4");
  cli.refuse("^  fix: did you mean --nodes\\?", "plan $example --node 4");
  cli.says_no("unexpected argument");  // its value is no mistake of its own
  cli.refuse("^command line: --fromat: unknown option", "check --fromat json a.yaml");
  cli.says_no("unexpected argument");
  cli.refuse("^command line: --frmat: unknown option", "models --frmat=json");
  cli.refuse("^  fix: did you mean --format\\?", "models --frmat=json");
  cli.refuse("^command line: \"surplus\": unexpected argument", "plan $example surplus");
  cli.refuse("^  fix: see trnplan help plan", "plan $example surplus");
  cli.refuse("^command line: --format: jsn not in", "plan $example --format jsn");
  cli.refuse("^  fix: did you mean json\\?", "plan $example --format jsn");
  cli.refuse("^command line: --top: .*required.*missing", "plan $example --top");
  cli.refuse("^command line: job is required", "plan");
  cli.refuse("^  fix: see trnplan help simulate", "simulate $example");
  cli.refuse("^  fix: did you mean simulate\\?", "simulat");
  cli.refuse("^  fix: see trnplan --help", "");
}

TEST_CASE("help, models and instances", "[cli]") {
  Session cli;
  CHECK(cli.run("help plan").out == cli.run("plan --help").out);
  CHECK(cli.run("help").out == cli.run("--help").out);
  cli.refuse("^  fix: did you mean plan\\?", "help plna");
  const std::string page = cli.run("help --man").out;
  CHECK(page == cli.run("help --man").out);
  for (const char* part : {".TH TRNPLAN 1", ".SS trnplan whatif", "\\-\\-nodes", ".SH EXIT STATUS"})
    CHECK(page.find(part) != std::string::npos);
  cli.expect(0, "^watch\tCompare a run", "help --complete ''");
  cli.expect(0, "^--calibrate\t", "help --complete 'watch --c'");
  cli.expect(0, "^llama3-8b$", "help --complete 'plan '");
  cli.expect(0, "^trn1n\\.32xlarge$", "help --complete 'topology --instance trn1n'");
  CHECK(cli.run("help --complete 'help wha'").out == cli.run("help --complete wha").out);
  CHECK(cli.run("help --complete 'plan job.yaml x'").out.empty());
  CHECK(cli.run("help --complete 'frobnicate x'").out.empty());
  cli.expect(0, "^ +model +parameters +layers +hidden +heads +KV +MLP +vocabulary .*sequence +batch$",
             "models");
  cli.prints("^ +llama3-8b +8\\.03B +32 +4096 +32 +8 +14336 +128256 .*8192 +1024$");
  cli.prints("^ +gpt-neox-20b +20\\.55B +44 +6144 +64 +64 +24576 +50432 .*- +-$");
  cli.prints(
      "^sequence and batch: those of the published training, used when a command states only the model$");
  cli.expect(0, "^ +trn1\\.32xlarge +16 +32 +16 +3040 .* timed", "instances");
  cli.expect(0, "^ +trn2\\.48xlarge .* timed", "instances");
  cli.expect(0, "\"step_modelled\": true", "instances --format json");
  cli.expect(0, "\"parameters\": 8030261248", "models --format json");
}

TEST_CASE("wrong strategies", "[cli]") {
  Session cli;
  cli.refuse("--strategy: tpp: unknown key", "simulate $example --strategy tpp=8");
  cli.refuse(R"(did you mean tp\?)", "simulate $example --strategy tpp=8");
  cli.refuse(R"(did you mean recompute\?)", "simulate $example --strategy tp=8,recomputes=full");
  cli.refuse("--strategy: dp: .*24 ranks.*32 cores", "simulate $example --strategy tp=8,dp=3");
  cli.refuse("fix: .*dp=4", "simulate $example --strategy tp=8,dp=3");
  cli.refuse(R"(--strategy: tp: "0")", "simulate $example --strategy tp=0");
  cli.refuse(R"(--strategy: tp: "-8")", "simulate $example --strategy tp=-8");
  cli.refuse(R"(--strategy: tp: "8x")", "simulate $example --strategy tp=8x");
  cli.refuse(R"(--strategy: tp: "99999999999999")", "simulate $example --strategy tp=99999999999999");
  cli.refuse("--strategy: tp: given twice", "simulate $example --strategy tp=8,tp=4");
  cli.refuse("--strategy: tp: no value", "simulate $example --strategy tp");
  cli.refuse("--strategy: .*no value", "simulate $example --strategy tp=8,");
  cli.refuse("--strategy: .*empty", "simulate $example --strategy ''");
  cli.refuse(R"(--strategy: recompute: "LamaMLP")", "simulate $example --strategy tp=8,recompute=LamaMLP");
  cli.refuse(R"(--strategy: zero1: "yes")", "simulate $example --strategy tp=8,zero1=yes");
  cli.refuse(R"(--strategy: cuts: "x")", "simulate $example --strategy tp=8,pp=2,cuts=x");
}

TEST_CASE("version and help", "[cli]") {
  Session cli;
  cli.expect(0, R"(^trnplan [0-9]+\.[0-9]+\.[0-9]+$)", "--version");
  cli.expect(0, "^  trnplan plan ", "--help");
  std::string list = cli.last.out;
  const std::size_t start = list.find("ubcommands:");
  REQUIRE(start != std::string::npos);
  list = list.substr(start, list.find("\n\n", start) - start + 1);
  const std::regex name(R"(\n  ([a-z]+) )");
  int commands = 0;
  for (std::sregex_iterator i(list.begin(), list.end(), name), end; i != end; ++i, ++commands) {
    const std::string command = (*i)[1];
    cli.expect(0, "^  (.*&& )?trnplan " + command, command + " --help");
    // Where there is room a paragraph of the help is a line: it ends where a sentence does.
    const std::string wide = cli.run_with("COLUMNS", "5000", command + " --help").out;
    const std::size_t examples = wide.find("\nExamples:");
    REQUIRE(examples != std::string::npos);
    // An example that reads tables of the catalogue is for a folder that not everybody is in.
    const bool reads_tables = wide.find(" catalog/", examples) != std::string::npos;
    CHECK((!reads_tables || wide.find("share/trnplan") < examples));
    const std::size_t first = std::min(wide.rfind("\n\n", examples) + 2, examples);
    std::istringstream paragraphs(wide.substr(first, examples - first));
    for (std::string line; std::getline(paragraphs, line);) {
      CAPTURE(line);
      CHECK(line.find_last_of(".:") == line.size() - 1);
    }
  }
  CHECK(commands >= 4);
}
