#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/documents.h"
#include "api/offerings.h"
#include "api/whatif.h"
#include "api/whatif_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/progress_bar.h"
#include "cli/text/offerings_text.h"
#include "cli/text/whatif_text.h"

namespace trnplan::cli {

namespace {

struct WhatIfOptions {
  Common common;  ///< its profile is in the request
  api::WhatIfRequest request;
  api::ReportFile report;
  bool details = false;
};

/// Command that plans the cluster that is recommended or would do.
std::vector<std::string> next_words(const WhatIfOptions& o, const api::WhatIfAnswered& a) {
  const planner::WhatIfResult& r = a.result;
  const planner::WhatIfPoint* p = r.would_do ? &*r.would_do : nullptr;
  if (r.recommended >= 0) p = &r.points[static_cast<std::size_t>(r.recommended)];
  if (p == nullptr) return {};
  return api::words_for_plan(o.request, o.request.job.job, words_of(o.request.job).options, a, *p);
}

/// Offers to buy, instead of clusters by the hour.
int run_offerings(const WhatIfOptions& o) {
  if (!o.report.path.empty())
    throw InputError(
        Diagnostic{{"command line", 0, 0}, "--report", "there is no page of offers", "leave it out"});
  Remarks remarks = printed_remarks();
  const api::OfferingsAnswered answered = api::whatif_offerings(o.request, remarks);
  const auto& [result, question, job, reliability] = answered;
  std::string next;
  if (result.recommends()) {
    const planner::WhatIfPoint& p = result.clusters[result.cluster_of[result.purchase.blocks.front()]].point;
    next = command_text(api::words_for_plan(o.request, o.request.job.job, words_of(o.request.job).options,
                                            {{}, question.run, job, reliability}, p));
  }
  print_answer(
      o.common, false,
      [&] { return offerings_text(answered.result, answered.question, answered.job, next, text_width()); },
      [&] { return api::document(answered); }, &io::offerings_rows());
  return result.recommends() ? kDone : kNoPlan;
}

int run(const WhatIfOptions& o) {
  if (!o.request.offerings.empty()) return run_offerings(o);
  api::check_report(o.report, api::paths_of(o.request));
  ProgressBar bar;
  Remarks remarks([&](const Remark& r) {
    bar.clear();
    say(r);
  });
  api::WhatIfRequest request = o.request;
  request.progress = std::ref(bar);
  const api::WhatIfAnswered answered = api::whatif(request, remarks);
  bar.clear();
  print_answer(
      o.common, false,
      [&] {
        return whatif_text({answered.result, answered.question, answered.job, answered.reliability,
                            next_words(o, answered), o.details},
                           text_width());
      },
      [&] { return api::document(answered); }, &io::whatif_rows());
  if (!o.report.path.empty())
    api::write_whatif_report(o.report, o.request, words_of(o.request.job).options, answered, remarks.all());
  return answered.result.recommended < 0 ? kNoPlan : kDone;
}

void add_money(CLI::App& command, WhatIfOptions& o) {
  const auto amount = decimal_number(0.0, 1e9);
  add_pricing(command, o.request.pricing);
  command
      .add_option("--usd-per-node-hour", o.request.usd_per_node_hour,
                  "price per node, instead of the catalogue's")
      ->check(amount);
  add_price(command, o.request.price);
  command
      .add_option("--discount", o.request.discount,
                  "on the price of nodes: 15%; savings-plan=28% on on-demand prices, with --term; or both, "
                  "joined by a comma")
      ->check(not_empty());
  command.add_option("--term", o.request.term, "nodes are paid for whole terms of 1y or 3y, used or not")
      ->check(CLI::IsMember({"1y", "3y"}));
  command.add_option("--upfront", o.request.upfront, "share of a term that is paid at its start: 50%")
      ->check(not_empty());
  command.add_option("--storage-gib", o.request.storage_gib, "size of the shared file system, for its price")
      ->check(amount);
  command
      .add_option("--storage-usd-per-gib-month", o.request.storage_price, "price of the shared file system")
      ->check(amount);
  command.add_option("--other-usd-per-hour", o.request.other_price, "USD for controller and login nodes")
      ->check(amount);
}

void add_failures(CLI::App& command, WhatIfOptions& o) {
  command.add_option("--recovery", o.request.recovery, "who restarts the run after a failure")
      ->check(CLI::IsMember({"automatic", "manual"}))
      ->capture_default_str();
  command.add_flag("--async-checkpoints", o.request.asynchronous, "write checkpoints while training goes on");
  command
      .add_option("--checkpoint-steps", o.request.checkpoint_steps,
                  "steps between checkpoints; default: the best interval")
      ->check(whole_number(1, planner::kMostCheckpointSteps));
  command
      .add_option("--storage-gb-per-second", o.request.storage_speed,
                  "rate at which all nodes together write checkpoints")
      ->check(decimal_number(1e-3, 1e6));
  command
      .add_option(
          "--failures-per-node-day", o.request.failure_rate,
          "failures of a whole node that stop the run, however many hosts it has: their median per day, "
          "instead of the file's, whose spread stays")
      ->check(decimal_number(api::kLeastFailureRate, api::kMostFailureRate));
  command.add_option("--reliability", o.request.reliability, "a file like catalog/reliability.json")
      ->check(not_empty());
}

}  // namespace

void add_whatif(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<WhatIfOptions>();
  CLI::App* command = app.add_subcommand(
      "whatif", "Compare clusters for a whole run by days, dollars and tokens, and recommend one");
  add_job_argument(*command, o->request.job, {JobPart::network, JobPart::training});
  command
      ->add_option("--nodes", o->request.nodes,
                   "4..128 (4, 8, 16 and so on by doubling, and the end), or 4,8,16; without it the fewest "
                   "nodes of each type that keep the deadline (of a budget alone, the most) are found")
      ->check(not_empty());
  command
      ->add_option("--confidence", o->request.confidence,
                   "least probability, such as 90%, that the recommended run works and keeps the limits; "
                   "default: with --nodes those of the median run, else 80%")
      ->check(not_empty());
  command
      ->add_option(
          "--offerings", o->request.offerings,
          "instead of --nodes: choose Capacity Blocks or training plans that finish the run with 95 % "
          "at least cost; JSON of aws ec2 describe-capacity-block-offerings or aws sagemaker "
          "search-training-plan-offerings")
      ->check(not_empty());
  command
      ->add_option("--tokens", o->request.tokens,
                   "tokens of the whole run, for example 2T, instead of the job's. With neither, the tokens "
                   "that the run reaches within deadline and budget are shown")
      ->check(not_empty());
  command->add_option("--deadline", o->request.deadline, "for example 30d; exit code 3: no cluster keeps it")
      ->check(not_empty());
  command
      ->add_option("--budget", o->request.budget, "USD for the whole run; exit code 3: no cluster keeps it")
      ->check(not_empty());
  command
      ->add_option(
          "--instances", o->request.instances,
          "instance types joined by commas, instead of the job's; p5 for p5.48xlarge, all for those of "
          "EC2")
      ->check(not_empty());
  command
      ->add_option("--scaling", o->request.scaling,
                   "strong: keep the job's global batch; weak: keep its batch per node")
      ->check(CLI::IsMember({"strong", "weak"}))
      ->capture_default_str();
  command
      ->add_option("--prefer", o->request.prefer,
                   "which cluster is recommended among those that keep the limits; fitting: the fastest if "
                   "only a budget is stated, otherwise the cheapest")
      ->check(CLI::IsMember({"fitting", "cheapest", "fastest", "smallest"}))
      ->capture_default_str();
  command
      ->add_option(
          "--scenario", o->request.scenario,
          "machines that are not ideal, as for simulate; where nodes are solved for only spine and jitter. "
          "Plans are for a spine that is stated, unless the network was measured")
      ->check(not_empty());
  add_risk(*command, o->request.risk);
  command->add_flag("--allow-doubtful", o->request.allow_doubtful,
                    "include strategies with doubtful replica groups");
  add_money(*command, *o);
  add_failures(*command, *o);
  add_report(*command, o->report.path);
  command->add_flag("--force", o->report.force, "overwrite the file of --report");
  command->add_flag("--details", o->details,
                    "show every cluster with its plan, prices, failures and checkpoints as well");
  add_row_format(*command, o->common);
  add_profile(*command, o->common);
  add_hardware(*command, o->request.hardware);
  command->footer(
      "Unless you state your own, the rates of failures, recovery and the shared file system come from "
      "publications about other systems. The time a job waits to be scheduled is not counted.\n"
      "Examples:\n"
      "  trnplan whatif llama3-8b --nodes 8 --deadline 30d\n"
      "  trnplan whatif job.yaml --tokens 2T --deadline 60d --confidence 90%\n"
      "  trnplan whatif job.yaml --nodes 4..128 --tokens 2T --deadline 60d\n"
      "  trnplan whatif job.yaml --nodes 8,16,32 --instances trn1.32xlarge,trn1n.32xlarge --budget 2.5M\n"
      "  trnplan whatif job.yaml --nodes 8 --instances p5,trn2 --price p5=38.2/h,trn2=20/h --discount 15%\n"
      "  trnplan whatif llama3-8b --tokens 100B --offerings offerings.json\n"
      "  trnplan whatif job.yaml --nodes 1..64 --scaling weak --pricing reserved --format json");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
