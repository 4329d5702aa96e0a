#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/argument_errors.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "text/diagnostic.h"
#include "text/version.h"

namespace trnplan::cli {

namespace {

constexpr const char* kDescription =
    "Plans and simulates LLM training on AWS Trainium and GPUs: which parallelism is fastest, whether it "
    "fits, whether the runtime accepts it, and how sure that is.";

constexpr const char* kFooter =
    "Exit codes: 0 done, 2 wrong input, 3 no feasible plan or refused config, 4 the scheduler refused, 5 "
    "the plan misses a --require, 70 internal error, 130 interrupted.\n"
    "Examples:\n"
    "  trnplan plan examples/llama3-8b-one-node/job.yaml\n"
    "  trnplan simulate examples/llama3-8b-one-node/job.yaml --strategy tp=32\n"
    "  trnplan topology --tp 16 --dp 2\n"
    "  trnplan check nxdt.yaml\n"
    "  trnplan collective all_reduce --ranks 32 --bytes 64M";

int report(const InputError& e) {
  report_faults(e);
  return kBadInput;
}

/// Prints help and the version. Throws InputError for a wrong command line, and if the help cannot be
/// written.
int answer(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() != 0) throw argument_error(app, e);
  std::ostringstream out, err;
  app.exit(e, out, err);
  print_text(out.str());
  return kDone;
}

void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::string near = nearest(argv[1], names);
  throw InputError({{"command line", 0, 0},
                    argv[1],
                    "unknown command",
                    near.empty() ? "see trnplan --help" : "did you mean " + near + "?"});
}

/// Reports a refusal by the system that has no place in the input.
int report_system(const std::string& what, const std::error_code& code) {
  return report(InputError({{what, 0, 0},
                            "",
                            code.message(),
                            "check the limits (ulimit -a), permissions and disk space of this machine"}));
}

int guarded(const Run& run) {
  try {
    return run();
  } catch (const InputError& e) {
    return report(e);
  } catch (const std::bad_alloc&) {
    remark("this machine's memory, or its limit (ulimit -v), is used up; ask for fewer nodes or threads");
    return kBug;
  } catch (const std::filesystem::filesystem_error& e) {
    return report_system(e.path1().string(), e.code());
  } catch (const std::system_error& e) {
    return report_system("the system", e.code());
  } catch (const std::exception& e) {
    remark(std::string("internal error: ") + e.what() +
           "; please report this, with the command and its input");
    return kBug;
  }
}

void add_commands(CLI::App& app, Run& run) {
  add_init(app, run);
  add_plan(app, run);
  add_simulate(app, run);
  add_explain(app, run);
  add_export(app, run);
  add_topology(app, run);
  add_check(app, run);
  add_calibrate(app, run);
  add_collective(app, run);
  add_validate(app, run);
  add_whatif(app, run);
  add_compare(app, run);
  add_cluster(app, run);
  add_launch(app, run);
  add_watch(app, run);
  add_sweep(app, run);
  add_models(app, run);
  add_instances(app, run);
  add_support(app, run);
  add_help(app, run);
}

}  // namespace

int run_cli(int argc, const char* const* argv) {
  CLI::App app(kDescription, "trnplan");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("trnplan ") + program_version());
  app.require_subcommand(1);
  Run run;
  const bool version_only = argc == 2 && argv[1] == std::string_view("--version");  // which takes no command
  if (!version_only) add_commands(app, run);
  try {
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return guarded([&] { return answer(app, e); });
  } catch (const InputError& e) {
    return report(e);
  }
  return guarded(run);
}

}  // namespace trnplan::cli
