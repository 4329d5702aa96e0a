// Scenarios as text and as files: what they mean, and all their faults at once.
#include <string>
#include <vector>

#include "io/input/scenario_text.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

const SourcePos kPlace{"--scenario", 0, 0};

std::vector<std::string> scenario_faults(const std::string& text) {
  const topology::Cluster cluster = job_of("llama3-8b", 4, 8192, 1024).cluster;
  std::vector<std::string> all;
  try {
    (void)io::read_scenario(text, cluster, kPlace);
  } catch (const InputError& e) {
    for (const Diagnostic& d : e.faults()) all.push_back(to_string(d));
  }
  return all;
}

}  // namespace

// A trn1.32xlarge has 32 cores: node 3 is ranks 96 to 127. Core 100 is among them, so its factors multiply.
TEST_CASE("a scenario says which cores are slower", "[io]") {
  const topology::Cluster cluster = job_of("llama3-8b", 4, 8192, 1024).cluster;
  const models::Scenario s = io::read_scenario("slow-node=3:1.5,slow-core=100:2", cluster, kPlace);
  CHECK(s.factor(95) == 1);
  CHECK(s.factor(96) == 1.5);
  CHECK(s.factor(100) == 3);
  CHECK(s.factor(127) == 1.5);
  CHECK_FALSE(s.is_ideal());
  CHECK(io::read_scenario("slow-node=0:1", cluster, kPlace).is_ideal());
}

// Nodes and single cores of a range of ranks, each key once, and nothing of what is usual.
TEST_CASE("the text of a scenario is read back as the same", "[io]") {
  const topology::Cluster cluster = job_of("llama3-8b", 4, 8192, 1024).cluster;
  for (const char* text : {"slow-node=3:1.5,slow-core=1:2,nic=0:0.5,link=0:0.25,late-node=2:60,spine=0.5",
                           "jitter=0.05,runs=100,seed=1", "slow-node=3:1.2346", ""}) {
    CAPTURE(text);
    const models::Scenario s = *text == 0 ? models::Scenario{} : io::read_scenario(text, cluster, kPlace);
    CHECK(io::scenario_text(s, cluster) == text);
  }
  CHECK(io::scenario_text({.slow = {{30, 36, 2}}}, cluster) ==
        "slow-core=30:2,slow-core=31:2,slow-node=1:2,slow-core=64:2,slow-core=65:2");
  CHECK(io::scenario_text({.slow = {{0, 32, 1.23456}}}, cluster, 3) == "slow-node=0:1.23");
  CHECK(io::scenario_text({.slow = {{0, 32, 1}}, .nodes = {{1, {}}}}, cluster).empty());
}

TEST_CASE("all faults of a scenario are said at once", "[io]") {
  const std::vector<std::string> faults =
      scenario_faults("slow-nodes=1:2,slow-node=4:0.5,slow-core=-1:1e9,x,slow-node=1");
  REQUIRE(faults.size() == 7);
  CHECK(faults[0] == "--scenario: slow-nodes: unknown key\n  fix: did you mean slow-node?");
  CHECK(faults[1] ==
        "--scenario: slow-node: \"4\" is no node of the cluster\n  fix: write a number from 0 to 3");
  CHECK(faults[6].find("is not KEY=NUMBER:VALUE") != std::string::npos);
  CHECK(scenario_faults("").size() == 1);
  REQUIRE(scenario_faults("foo=1").size() == 1);
  CHECK(scenario_faults("foo=1")[0].find("--scenario: foo: unknown key") == 0);
}

TEST_CASE("a scenario's file has the keys of the text", "[io]") {
  const TestFolder folder;
  const std::string path = folder.write("slow.yaml", "slow-node: {3: 1.5}\nslow-core:\n  100: 2\n");
  const topology::Cluster cluster = job_of("llama3-8b", 4, 8192, 1024).cluster;
  CHECK(io::read_scenario(path, cluster, kPlace).factor(100) == 3);
  const std::string wrong =
      folder.write("wrong.yaml", "slow-node: [3]\nslow-core: {200: 2, 1: fast}\nnics: {5: 0}\n");
  const std::vector<std::string> faults = scenario_faults(wrong);
  REQUIRE(faults.size() == 4);
  CHECK(faults[0].find("wrong.yaml:1:12: slow-node: not a map of numbers and values") != std::string::npos);
  CHECK(faults[3].find("wrong.yaml:3:1: nics: unknown key") != std::string::npos);
}

TEST_CASE("a scenario says what is left of the network, and which nodes are late", "[io]") {
  const topology::Cluster cluster = job_of("llama3-8b", 4, 8192, 1024).cluster;
  const models::Scenario s =
      io::read_scenario("nic=2:0.4375, link=1:0.25 ,nic=1:0.875,spine=0.5,late-node=2:3", cluster, kPlace);
  CHECK(s.state(2).network == 0.4375);
  CHECK(s.state(2).late.value == 3);
  CHECK(s.state(1).links == 0.25);
  CHECK(s.state(1).network == 0.875);
  CHECK(s.state(0) == models::NodeState{});
  CHECK(s.spine == 0.5);
  CHECK_FALSE(s.has_usual_network());
  const models::Scenario random = io::read_scenario("jitter=0.05,runs=30,seed=7", cluster, kPlace);
  CHECK(random.random.log_sd == 0.05);
  CHECK(random.random.runs == 30);
  CHECK(random.random.seed == 7);
  CHECK(scenario_faults("seed=7").size() == 1);
  const TestFolder folder;
  const std::string path = folder.write("part.yaml", "nic: {2: 0.4375}\nspine: 0.5\n");
  CHECK(io::read_scenario(path, cluster, kPlace).spine == 0.5);
}

// As in a file, which cannot have a key twice: two factors of one node multiplied, and of two jitters the last counted.
TEST_CASE("a key that comes twice for one place is refused", "[io]") {
  const std::vector<std::string> faults =
      scenario_faults("slow-node=1:1.2,slow-node=1:1.3,slow-node=2:1.3,slow-core=33:2,spine=0.5,spine=0.5");
  REQUIRE(faults.size() == 2);
  CHECK(faults[0] == "--scenario: slow-node: stated twice for 1\n  fix: state it once");
  CHECK(faults[1] == "--scenario: spine: stated twice\n  fix: state it once");
  CHECK(scenario_faults("jitter=0.1,jitter=0.2").size() == 1);
}

TEST_CASE("a node cannot lose its whole network", "[io]") {
  const std::vector<std::string> faults = scenario_faults(
      "nic=5:0,link=1:1.5,spine=0.5:2,spine,late-node=1:-1,nic=1:0.01,nic=1:0.01,runs=0,jitter=3");
  REQUIRE(faults.size() == 9);
  CHECK(faults[0] == "--scenario: nic: \"5\" is no node of the cluster\n  fix: write a number from 0 to 3");
  CHECK(faults[1] ==
        "--scenario: nic: \"0\" is not a share of a network that is left: nothing else leads there\n"
        "  fix: write a number from 0.001 to 1, for example nic=3:0.875");
  CHECK(faults[3].find("is not KEY=VALUE") != std::string::npos);
  topology::Cluster alone = job_of("llama3-8b", 4, 8192, 1024).cluster;
  alone.instance.nics = 0;
  CHECK_THROWS_AS(io::read_scenario("spine=0.5", alone, kPlace), InputError);
}
