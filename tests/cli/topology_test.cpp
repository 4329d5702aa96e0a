// Groups and instances in the output of topology.
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

TEST_CASE("verdicts of groups and instances", "[cli]") {
  Session cli;
  struct Tp {
    int tp;
    const char* verdict;
    int exit;
  };
  for (const Tp& c : {Tp{1, "supported", 0},
                      {2, "doubtful", 0},
                      {4, "supported", 0},
                      {8, "supported", 0},
                      {16, "refused", 3},
                      {32, "supported", 0}}) {
    cli.expect(c.exit, std::string("^verdict: ") + c.verdict + "$", "topology --tp " + std::to_string(c.tp));
  }
  cli.expect(3, "DP .*refused.*chips 0 and 8", "topology --tp 16 --dp 2");
  // Chips 0 and 8 alone are marked.
  const std::regex mark(R"(\[[0-9]*\])");
  std::set<std::string> marked;
  for (std::sregex_iterator i(cli.last.out.begin(), cli.last.out.end(), mark), end; i != end; ++i)
    marked.insert(i->str());
  CHECK(marked == std::set<std::string>{"[0]", "[8]"});
  cli.refuse("choose degrees whose product is the number of cores$", "topology --tp 3");
  cli.refuse("or leave --dp out$", "topology --tp 3 --dp 2");
  const std::pair<const char*, const char*> doubts[] = {
      {"one-per-chip", "--tp 2 --dp 16"},
      {"two-hop-pair", "--tp 8 --pp 2 --dp 2"},
      {"two-chips", "--instance trn2.48xlarge --tp 8"},
      {"unequal-positions", "--nodes 3 --tp 8 --pp 2"},
  };
  for (const auto& [id, layout] : doubts) {
    cli.run(std::string("topology ") + layout);
    cli.prints("doubtful \\(" + std::string(id) + ":");
  }
  cli.expect(3, R"("verdict": "refused")", "topology --tp 16 --dp 2 --format json");
  cli.expect(0, "PP .*doubtful.*chips 0 and 8", "topology --nodes 8 --tp 8 --pp 16 --dp 2");
  cli.expect(0, "^verdict: doubtful$", "topology --nodes 8 --tp 8 --pp 16 --dp 2");
  int listings = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cli.get("source") + "/tests/io/fixtures")) {
    if (!entry.path().filename().string().starts_with("neuron-ls-trn1.32xlarge.")) continue;
    ++listings;
    cli.set("listing", entry.path().string());
    cli.expect(3, "^verdict: refused$", "topology --neuron-ls $listing --tp 16 --dp 2");
  }
  CHECK(listings > 0);

  struct Instance {
    const char* name;
    int tp;
    const char* verdict;
    int exit;
  };
  for (const Instance& c : {Instance{"trn2.48xlarge", 8, "doubtful", 0},
                            {"trn2.48xlarge", 32, "supported", 0},
                            {"trn2.48xlarge-lnc1", 16, "refused", 3},
                            {"trn2u-ultraserver", 64, "supported", 0}}) {
    cli.expect(c.exit, std::string("^verdict: ") + c.verdict + "$",
               std::string("topology --instance ") + c.name + " --tp " + std::to_string(c.tp));
  }
  cli.expect(0, R"(64 links of 64\.0 GB/s)", "topology --instance trn2u-ultraserver");
  cli.expect(0, R"(device 7 serves chips 14, 15 \(4 cores\))", "topology");
  cli.expect(0, "no EFA device", "topology --instance trn1.2xlarge");
  cli.expect(3, "no-efa", "topology --instance trn1.2xlarge --nodes 2 --dp 4");

  // Nobody says which groups Trainium3 accepts: refused, with what is missing.
  cli.expect(3, "not-published", "topology --instance trn3-gen2-ultraserver --tp 8 --dp 72");
  cli.prints("^fix: use an instance type whose step can be timed");
  cli.expect(3, "^No plan +the step time of trn3-gen1-ultraserver is not modelled: which groups of ranks",
             "plan llama3-8b --instance trn3-gen1-ultraserver --nodes 1");
  cli.expect(2, "no collective of trn3-gen1-ultraserver is timed: which groups of ranks",
             "collective allr --instance trn3-gen1-ultraserver");

  // trn2 is timed with a profile of its own, which is said where another one was named.
  for (const char* instance : {"trn2.48xlarge", "trn2.48xlarge-lnc1"}) {
    cli.write_job("trn2.yaml", "llama3-8b", 1, 1024);
    cli.set("instance", instance);
    cli.change("$work/trn2.yaml", "trn2.yaml", {{"trn1\\.32xlarge", instance}});
    cli.expect(0, "^Best ", "plan $work/trn2.yaml");
    cli.says_no("timed with the parameters of");
    cli.expect(0, "timed with the parameters of trn2: trn1 is of another generation",
               "plan $work/trn2.yaml --profile trn1");
    cli.expect(0, "MFU", "simulate $work/trn2.yaml --strategy tp=32");
  }
}

TEST_CASE("an instance by its family", "[cli]") {
  Session cli;
  cli.refuse(R"(did you mean "trn1n\.32xlarge")", "topology --instance trn1n.32xlarg");
  cli.expect(0, R"(^1 x trn1n\.32xlarge: )", "topology --instance trn1n");
}
