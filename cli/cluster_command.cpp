#include <CLI/CLI.hpp>
#include <memory>

#include "api/cluster.h"
#include "api/documents.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/cluster_text.h"

namespace trnplan::cli {

namespace {

struct ClusterOptionsOf {
  Common common;  ///< its profile is in the request
  api::ClusterRequest request;
};

int run(const ClusterOptionsOf& o) {
  Remarks remarks = printed_remarks();
  const planner::ClusterAnswer answer = api::cluster(o.request, remarks);
  print_result(o.common, o.common.json() ? api::document(answer) : cluster_text(answer, text_width()));
  return answer.estimate.span.median < kInfinity ? kDone : kNoPlan;
}

}  // namespace

void add_cluster(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<ClusterOptionsOf>();
  CLI::App* command = app.add_subcommand(
      "cluster", "Simulate jobs on one cluster over months: failures, spares, repairs, requeues");
  command->add_option("FILE", o->request.file, "the cluster, its scheduler and its jobs, as YAML")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--spares", o->request.spares,
                   "0..8 or 0,2,4: compare these numbers of spare nodes, and recommend one")
      ->check(not_empty());
  command
      ->add_option("--checkpoint-steps", o->request.checkpoint_steps,
                   "50..800 (50, 100, 200 and so on by doubling), 100,150 or best: compare these steps "
                   "between checkpoints, of all jobs")
      ->check(not_empty());
  command->add_option("--runs", o->request.runs, "simulated runs")
      ->check(whole_number(1, 100'000))
      ->capture_default_str();
  command->add_option("--seed", o->request.seed, "of the random numbers")
      ->check(whole_number(0, 2'000'000'000))
      ->capture_default_str();
  add_pricing(*command, o->request.pricing);
  add_risk(*command, o->request.risk);
  add_common(*command, o->common);
  command->footer(
      "Exit code 3: in most runs a job does not end. Rates of failures and recovery come from publications "
      "about "
      "other systems, unless the file names its own.\n"
      "Examples:\n"
      "  trnplan cluster cluster.yaml\n"
      "  trnplan cluster cluster.yaml --spares 0..8\n"
      "  trnplan cluster cluster.yaml --checkpoint-steps best,50..800 --format json");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
