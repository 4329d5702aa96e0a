// The jobs of a cluster over time, and a scenario as on the command line.
#include <map>
#include <string>

#include "io/input/cluster_jobs.h"
#include "io/input/scenario_text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::cluster_jobs_target(const std::uint8_t* data, std::size_t size) {
  static fuzz::InMemory files(std::map<std::string, std::string>{{"job.yaml", "model: llama3-8b\n"}});
  files.put("cluster.yaml", fuzz::text_of(data, size));
  fuzz::refusable([&] {
    const io::StatedCluster c = io::read_cluster_jobs("cluster.yaml", fuzz::catalog(), files);
    fuzz::ensure(c.rule != nullptr, "a cluster has a scheduler");
    fuzz::ensure(!c.jobs.empty() && c.jobs.size() <= io::kMostClusterJobs, "a cluster has jobs");
    for (const io::StatedClusterJob& j : c.jobs) {
      fuzz::ensure(!j.name.empty() && j.nodes >= 1 && j.nodes <= c.nodes + c.spares,
                   "a job fits the cluster");
      fuzz::ensure(j.checkpoint_steps >= 0 && j.start.value >= 0, "numbers of a job are not negative");
    }
  });
}

void fuzz::scenario_target(const std::uint8_t* data, std::size_t size) {
  static const topology::Cluster cluster{fuzz::catalog().instance("trn1.32xlarge"), 4};
  const std::string text = fuzz::text_of(data, size);
  static fuzz::InMemory files(std::map<std::string, std::string>{});
  files.put("slow.yaml", text);
  for (const std::string& asked : {text, std::string("slow.yaml")}) {
    fuzz::refusable([&] {
      const models::Scenario s = io::read_scenario(asked, cluster, {"--scenario", 0, 0}, files);
      for (int r = 0; r < cluster.cores(); ++r) fuzz::ensure(s.factor(r) >= 1, "no core is faster");
      for (int node = 0; node < cluster.nodes; ++node) {
        const models::NodeState state = s.state(node);
        fuzz::ensure(state.network > 0 && state.network <= 1, "a node has a part of its network");
        fuzz::ensure(state.links > 0 && state.links <= 1, "a node has a part of its links");
        fuzz::ensure(state.late.value >= 0, "no node is early");
      }
      fuzz::ensure(s.random.log_sd >= 0 && s.random.runs >= 1, "random times have a spread and runs");
      fuzz::ensure(s.spine > 0 && s.spine <= 1, "a part of the network is left");
    });
  }
}
