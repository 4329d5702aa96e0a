#include <memory>

#include <fmt/format.h>

#include "api/inputs.h"
#include "api/observations.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/text.h"
#include "io/input/readers.h"
#include "io/output/plan_json.h"
#include "planner/check/rules.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

struct Options {
  Common common;
  std::string instance = "trn1.32xlarge", neuron_ls;
  int nodes = 1, tp = 0, pp = 0, dp = 0, cp = 0;

  bool asks_for_groups() const { return tp > 0 || pp > 0 || dp > 0 || cp > 0; }
};

topology::Degrees degrees_of(const Options& o, const topology::Cluster& cluster) {
  topology::Degrees d{std::max(1, o.tp), std::max(1, o.cp), 1, std::max(1, o.pp)};
  d.data = o.dp > 0 ? o.dp : static_cast<int>(std::max<std::int64_t>(1, cluster.cores() / d.world()));
  const std::string obstacle = topology::RankOrder::obstacle(cluster, d);
  if (obstacle.empty()) return d;
  throw InputError({{"command line", 0, 0},
                    "--tp, --pp, --dp, --cp",
                    obstacle,
                    "choose degrees whose product is the number of cores, or leave --dp out"});
}

int run(const Options& o) {
  const io::Catalog catalog = io::Catalog::standard();
  topology::Cluster cluster;
  cluster.instance = o.neuron_ls.empty() ? api::load_instance(catalog, o.instance)
                                         : io::read_neuron_ls(o.neuron_ls, catalog, o.instance);
  cluster.nodes = o.nodes;
  const topology::ChipGraph graph(cluster.instance);
  const std::vector<planner::Observation> observations = api::load_observations(o.common.profile);
  topology::PlacementVerdict verdict;
  std::string advice;
  if (o.asks_for_groups()) {
    const topology::Degrees degrees = degrees_of(o, cluster);
    verdict = topology::judge_all(cluster, graph, topology::RankOrder(cluster, degrees));
    if (verdict.overall != topology::Verdict::supported) {
      if (verdict.offending && verdict.offending->rule == "no-efa") {
        advice = "fix: " + api::no_efa_fix() + "\n";
      } else {
        for (const topology::Degrees& d : planner::supported_neighbours(cluster, graph, degrees)) {
          advice += fmt::format("{}--tp {} --dp {}", advice.empty() ? "fix: " : " or ", d.tensor, d.data);
        }
        advice += advice.empty() ? "fix: choose another PP or CP\n" : "\n";
      }
    }
  }
  advice += api::tell_observations(verdict, observations, cluster.instance);
  print_result(o.common, o.common.json() ? io::topology_json(cluster, graph, verdict)
                                         : topology_text(cluster, graph, verdict, advice));
  return verdict.overall == topology::Verdict::refused ? kNoPlan : kDone;
}

}  // namespace

void add_topology(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "topology", "Show links, NICs and rings of a node and judge every replica group of a layout");
  command->add_option("--instance", o->instance, "instance type")->capture_default_str();
  command
      ->add_option("--neuron-ls", o->neuron_ls,
                   "output of neuron-ls (table or JSON) instead of the catalogue's links")
      ->check(not_empty());
  command->add_option("--nodes", o->nodes, "nodes")
      ->check(whole_number(1, topology::kMostNodes))
      ->capture_default_str();
  command->add_option("--tp", o->tp, "tensor parallel")->check(whole_number(1, 1 << 20));
  command->add_option("--pp", o->pp, "pipeline parallel")->check(whole_number(1, 1 << 20));
  command->add_option("--dp", o->dp, "data parallel; what is left when absent")
      ->check(whole_number(1, 1 << 20));
  command->add_option("--cp", o->cp, "context parallel")->check(whole_number(1, 1 << 20));
  add_common(*command, o->common);
  command->footer(
      "Exit code 3 when a group is refused.\n"
      "Examples:\n"
      "  trnplan topology\n"
      "  trnplan topology --tp 16 --dp 2\n"
      "  trnplan topology --nodes 8 --tp 8 --pp 16 --dp 2\n"
      "  trnplan topology --instance trn2.48xlarge --tp 32\n"
      "  neuron-ls > node.txt && trnplan topology --neuron-ls node.txt --tp 8");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
