#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "api/compare.h"
#include "api/documents.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/text/compare_text.h"
#include "targets/registry.h"

namespace trnplan::cli {

namespace {

struct CompareOptions {
  Common common;  ///< its profile is in the request
  api::CompareRequest request;
};

bool is_refused(const planner::ComparedPlan& side) {
  return std::any_of(side.broken.begin(), side.broken.end(),
                     [](const planner::Violation& v) { return !v.doubtful; });
}

int run(const CompareOptions& o) {
  Remarks remarks = printed_remarks();
  const planner::PlanComparison c = api::compare(o.request, remarks);
  if (o.common.json())
    print(api::document(c));
  else if (o.common.format == "markdown")
    print(compare_markdown(c));
  else
    print_text(compare_text(c, text_width()));
  return is_refused(c.plans[0]) || is_refused(c.plans[1]) ? kNoPlan : kDone;
}

}  // namespace

void add_compare(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* command =
      app.add_subcommand("compare", "Compare two strategies, plans, configs or clusters of a job");
  const char* const side =
      "a strategy (tp=8,pp=4), a cluster (4xtrn1.32xlarge: its recommended plan), both "
      "(4xtrn1.32xlarge:tp=8), a folder of plan --out, or a config or start script";
  command->add_option("A", o->request.first, side)->required()->check(not_empty());
  command->add_option("B", o->request.second, side)->required()->check(not_empty());
  add_job_option(*command, o->request.job,
                 {JobPart::cluster, JobPart::network, JobPart::training, JobPart::tokens});
  command->add_option("--target", o->request.target, "the stack that trains the job, or whose files they are")
      ->check(CLI::IsMember(targets::names()));
  command->add_option("--format", o->common.format, "text, json or markdown (for a pull request)")
      ->check(CLI::IsMember({"text", "json", "markdown"}))
      ->capture_default_str();
  add_hardware(*command, o->request.hardware);
  add_price(*command, o->request.price);
  add_profile(*command, o->common);
  command->footer(
      "Times are for the same tokens. Exit code 3: a rule refuses one of the two.\n"
      "Examples:\n"
      "  trnplan compare tp=8,pp=4 tp=32 --job job.yaml\n"
      "  trnplan compare 4xtrn1.32xlarge 1xtrn2.48xlarge --job llama3-8b\n"
      "  trnplan compare my-plan nxdt.yaml --format markdown");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
