// The file of `trnplan cluster`: what it means, and all its faults at once.
#include "io/input/cluster_jobs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

std::vector<std::string> cluster_faults(const std::string& text) {
  const TestFolder folder;
  std::vector<std::string> all;
  try {
    (void)io::read_cluster_jobs(folder.write("c.yaml", text), test_catalog());
  } catch (const InputError& e) {
    for (const Diagnostic& d : e.faults()) {
      all.push_back(std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + d.key + ": " +
                    d.problem);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a cluster's file says machines, scheduler and jobs", "[io][cluster]") {
  const TestFolder folder;
  folder.write("mine.yaml", "model: llama3-8b\n");
  const io::StatedCluster c =
      io::read_cluster_jobs(folder.write("c.yaml",
                                         "cluster: {nodes: 8, spares: 1, repair: 3d}\n"
                                         "scheduler: {kind: kubernetes, restarts: 5}\n"
                                         "jobs:\n"
                                         "- {name: a, job: mine.yaml, nodes: 6, tokens: 1T, start: 2h}\n"
                                         "- {name: b, job: llama2-7b, nodes: 9, checkpoint_steps: 200}\n"),
                            test_catalog());
  CHECK(c.instance.name == "trn1.32xlarge");
  CHECK(c.nodes == 8);
  CHECK(c.repair->value == 3 * 86400);
  CHECK(c.rule->keeps_nodes());
  CHECK(c.rule->settings().restarts == 5);
  REQUIRE(c.jobs.size() == 2);
  CHECK(c.jobs[0].job == folder / "mine.yaml");  // a file next to it; a model stays a name
  CHECK(c.jobs[0].tokens == "1000000000000");
  CHECK(c.jobs[0].start.value == 7200);
  CHECK(c.jobs[0].checkpoint_steps == 0);
  CHECK(c.jobs[1].job == "llama2-7b");
  CHECK(c.jobs[1].checkpoint_steps == 200);
}

TEST_CASE("all faults of a cluster's file are said at once", "[io][cluster]") {
  const std::vector<std::string> faults = cluster_faults(
      "cluster: {instance: trn1.99xlarge, nodes: 0, repair: soon, colour: red}\n"
      "scheduler: pbs\n"
      "jobs:\n"
      "- {name: a, nodes: 4, checkpoint_steps: often}\n"
      "- {name: a, job: llama3-8b, nodes: 1, priority: -1}\n");
  const std::vector<std::string> expected = {
      "1:21 cluster.instance: unknown instance type \"trn1.99xlarge\"",
      "1:43 cluster.nodes: ",
      "1:54 cluster.repair: this is not a duration",
      "cluster.colour: unknown key",
      "2:12 scheduler: there is no scheduler \"pbs\"",
      "jobs[0].job: ",
      "jobs[0].checkpoint_steps: this is neither a number of steps nor best",
      "jobs[1].priority: ",
      "jobs[1].name: \"a\" is the name of two jobs",
  };
  CAPTURE(faults);
  for (const std::string& one : expected) {
    CAPTURE(one);
    CHECK(std::any_of(faults.begin(), faults.end(),
                      [&](const std::string& f) { return f.find(one) != std::string::npos; }));
  }
  CHECK(faults.size() == expected.size());  // of a cluster of 0 nodes it is unknown whether 4 fit
  const std::vector<std::string> large =
      cluster_faults("cluster: {nodes: 2, colour: red}\njobs: [{name: a, job: llama3-8b, nodes: 4}]\n");
  REQUIRE(large.size() == 2);
  CHECK(large[1].find("2:41 jobs[0].nodes: 4 nodes are asked for, and the cluster has 2") !=
        std::string::npos);
  CHECK(cluster_faults("").size() >= 2);
  CHECK(cluster_faults("jobs: 3\n").size() >= 2);
}
