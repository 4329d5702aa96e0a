#include <CLI/CLI.hpp>
#include <memory>

#include "api/documents.h"
#include "api/support.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/support_text.h"

namespace trnplan::cli {

namespace {

struct SupportOptions {
  Common common;
  api::SupportRequest request;
};

int run(const SupportOptions& o) {
  const api::SupportResult result = api::support(o.request);
  o.common.json() ? print(api::document(result)) : print_text(support_text(result, text_width()));
  return kDone;
}

}  // namespace

void add_support(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<SupportOptions>();
  CLI::App* command = app.add_subcommand(
      "support", "Show which models can be planned, timed, written and launched on which machines");
  command->add_option("model", o->request.model,
                      "a model that trnplan models lists, or a config.json; default: all");
  command->add_option("type", o->request.instance, "an instance type; default: all");
  add_format(*command, o->common);
  command->footer(
      "Examples:\n"
      "  trnplan support\n"
      "  trnplan support llama3-8b\n"
      "  trnplan support trn2.48xlarge\n"
      "  trnplan support llama3-8b trn2.48xlarge");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
