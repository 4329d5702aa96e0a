#include <CLI/CLI.hpp>
#include <memory>

#include "api/documents.h"
#include "api/explain.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/text/explain_text.h"

namespace trnplan::cli {

namespace {

struct ExplainOptions {
  std::string format = "text";
  api::ExplainRequest request;
};

int run(const ExplainOptions& o) {
  const api::ExplainResult result = api::explain(o.request);
  if (o.format == "json") {
    print(api::document(result));
  } else if (o.format == "markdown") {
    print(rules_page(result.sets));
  } else {
    print_text(o.request.id.empty() ? explain_list(result.sets) : explain_text(result.sets));
  }
  return kDone;
}

}  // namespace

void add_explain(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain", "Explain the id of a refusal, a finding or a remark, and what would satisfy it");
  command->add_option("id", o->request.id,
                      "the id as it is printed, before a message or in brackets; default: all ids");
  command->add_option("--format", o->format, "text, json or markdown")
      ->check(CLI::IsMember({"text", "json", "markdown"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  trnplan explain replica-group\n"
      "  trnplan explain\n"
      "  trnplan explain --format json");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
