#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "api/check.h"
#include "api/documents.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/check_text.h"
#include "cli/text/nearest_text.h"
#include "cli/text/text.h"
#include "cli/text/wrap.h"
#include "targets/registry.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

struct CheckOptions {
  Common common;  ///< its profile is in the request
  api::CheckRequest request;
  std::vector<std::string> variables;
  bool details = false;
};

CLI::Validator env_variable() {
  return CLI::Validator(
      [](std::string& text) {
        const std::size_t equals = text.find('=');
        return equals == std::string::npos || equals == 0 ? in_quotes(text) + " is not NAME=VALUE"
                                                          : std::string();
      },
      "NAME=VALUE");
}

/// Command that searches the cluster of the same config.
std::string plan_words(const api::CheckRequest& o, const std::string& file) {
  std::vector<std::string> words = {"trnplan", "plan", file};
  if (o.nodes > 0) words.insert(words.end(), {"--nodes", fmt::to_string(o.nodes)});
  if (!o.instance.empty()) words.insert(words.end(), {"--instance", o.instance});
  if (!o.release.empty()) words.insert(words.end(), {"--release", o.release});
  if (!o.profile.empty()) words.insert(words.end(), {"--profile", o.profile});
  return command_text(words);
}

int run(const CheckOptions& o) {
  const api::CheckResult checked = api::check(o.request);
  const auto& [verdict, findings, predicted, stack, job, near, text, config, no_prediction, machine_of,
               not_judged] = checked;
  const planner::Plan* prediction = predicted ? &*predicted : nullptr;
  if (o.common.json()) {
    print(api::document(checked));
  } else {
    const auto nearest = api::with_diffs(near, text, config);
    print_text(check_text(verdict, findings, prediction, no_prediction, o.details, text_width(), not_judged));
    print(nearest_text(nearest, text_width()));
    const bool plannable = !config.keys.empty();  // a config of NxDT, from which plan can make a job
    const bool mends = !nearest.empty() && nearest.front().config.recommended;
    const bool searches = plannable && (mends || (verdict != "refused" && prediction != nullptr));
    const std::string words = searches ? plan_words(o.request, config.file) : std::string();
    print_text((nearest.empty() ? "" : "\n") +
               check_next(findings, prediction, o.details,
                          words.empty() ? words
                          : mends       ? words + " --out my-plan writes the recommended plan"
                                        : words + " looks for a faster strategy"));
  }
  return verdict == "refused" ? kNoPlan : kDone;
}

}  // namespace

void add_check(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand(
      "check", "Check a config or a start script: what is wrong with it, its memory and its step time");
  command
      ->add_option("config", o->request.file,
                   "a config (nxdt.yaml, torchtitan.toml) or the script that starts a run")
      ->required();
  command
      ->add_option("--target", o->request.target, "the stack whose file it is, if the file does not show it")
      ->check(CLI::IsMember(targets::names()));
  command->add_option("--nodes", o->request.nodes, "number of nodes, instead of trainer.num_nodes")
      ->check(whole_number(1, topology::kMostNodes));
  command
      ->add_option("--instance", o->request.instance,
                   "instance type; default: the one with as many cores as trainer.devices")
      ->check(not_empty());
  command
      ->add_option("--env", o->variables,
                   "NAME=VALUE: a variable with which the script of --target is started; may be repeated")
      ->check(env_variable())
      ->allow_extra_args(false);
  command
      ->add_option("--release", o->request.release,
                   "Neuron SDK release that runs the config; narrows the interval")
      ->check(sdk_release());
  command
      ->add_option("--framework-version", o->request.version,
                   "version of NxDT, such as 1.6, whose features count")
      ->check(framework_version());
  command->add_flag("--details", o->details, "show notes, sources and the full prediction as well");
  add_common(*command, o->common);
  command->footer(
      "Exit code 3 when the config is refused.\n"
      "Examples:\n"
      "  trnplan check nxdt.yaml\n"
      "  trnplan check nxdt.yaml --nodes 4 --format json\n"
      "  trnplan check nxdt.yaml --instance trn1n.32xlarge --release 2.22\n"
      "  trnplan check torchtitan.toml --instance p5.48xlarge --nodes 2\n"
      "  trnplan check my-plan/node_run.sh --instance p5.48xlarge --nodes 2");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      for (const std::string& text : o->variables)
        o->request.environment[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
