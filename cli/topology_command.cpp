#include <memory>

#include <fmt/format.h>

#include "api/documents.h"
#include "api/topology.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/text.h"

namespace trnplan::cli {

namespace {

struct TopologyOptions {
  Common common;  ///< its profile is in the request
  api::TopologyRequest request;
};

/// Lines below the verdict: how to get supported groups, and observations of them.
std::string advice(const api::TopologyResult& result) {
  std::string text;
  if (result.verdict.overall != topology::Verdict::supported) {
    text = result.fix;
    for (const topology::Degrees& d : result.neighbours)
      text += fmt::format("{}--tp {} --dp {}", text.empty() ? "" : " or ", d.tensor, d.data);
    text = "fix: " + (text.empty() ? "choose another PP or CP" : text) + "\n";
  }
  return text + result.observed;
}

int run(const TopologyOptions& o) {
  const api::TopologyResult result = api::topology(o.request);
  if (o.common.json()) {
    print(api::document(result));
  } else {
    const topology::ChipGraph graph(result.cluster.instance);
    print_text(topology_text(result.cluster, graph, result.verdict, advice(result)));
  }
  return result.verdict.overall == topology::Verdict::refused ? kNoPlan : kDone;
}

}  // namespace

void add_topology(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<TopologyOptions>();
  CLI::App* command = app.add_subcommand(
      "topology", "Show the links, NICs and rings of a node, and judge every replica group of a layout");
  command->add_option("--instance", o->request.instance, "instance type")->capture_default_str();
  command
      ->add_option("--neuron-ls", o->request.neuron_ls,
                   "output of neuron-ls (table or JSON), instead of the catalogue's links")
      ->check(not_empty());
  command->add_option("--nodes", o->request.nodes, "nodes")
      ->check(whole_number(1, topology::kMostNodes))
      ->capture_default_str();
  command->add_option("--tp", o->request.tp, "tensor parallel")->check(whole_number(1, 1 << 20));
  command->add_option("--pp", o->request.pp, "pipeline parallel")->check(whole_number(1, 1 << 20));
  command->add_option("--dp", o->request.dp, "data parallel; default: what is left")
      ->check(whole_number(1, 1 << 20));
  command->add_option("--cp", o->request.cp, "context parallel")->check(whole_number(1, 1 << 20));
  add_common(*command, o->common);
  command->footer(
      "Exit code 3: a group is refused.\n"
      "Examples:\n"
      "  trnplan topology\n"
      "  trnplan topology --tp 16 --dp 2\n"
      "  trnplan topology --nodes 8 --tp 8 --pp 16 --dp 2\n"
      "  trnplan topology --instance trn2.48xlarge --tp 32\n"
      "  neuron-ls > node.txt && trnplan topology --neuron-ls node.txt --tp 8");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
