#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>

#include "cli/commands.h"
#include "cli/context.h"
#include "units/diagnostic.h"

namespace trnplan::cli {

namespace {

constexpr const char* kDescription =
    "Plans and simulates LLM training on AWS Trainium: which parallelism is fastest, whether it fits, "
    "whether the\n"
    "Neuron runtime accepts it, and how sure that is.";

constexpr const char* kFooter =
    "Exit codes: 0 done, 2 wrong input, 3 no feasible plan or refused config, 4 the scheduler refused, 70 "
    "internal error, 130 interrupted.\n"
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

int guarded(const Run& run) {
  try {
    return run();
  } catch (const InputError& e) {
    return report(e);
  } catch (const std::exception& e) {
    remark(std::string("internal error: ") + e.what() + "; please report it with the command and its input");
    return kBug;
  }
}

}  // namespace

int run_cli(int argc, const char* const* argv) {
  CLI::App app(kDescription, "trnplan");
  app.footer(kFooter);
  app.set_version_flag("--version", "trnplan " TRNPLAN_VERSION);
  app.require_subcommand(1);
  Run run;
  add_plan(app, run);
  add_simulate(app, run);
  add_export(app, run);
  add_topology(app, run);
  add_check(app, run);
  add_calibrate(app, run);
  add_collective(app, run);
  add_validate(app, run);
  add_whatif(app, run);
  add_launch(app, run);
  add_watch(app, run);
  add_sweep(app, run);
  try {
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& e) {
    // CLI11 asks for what is missing before it names what it did not understand.
    const std::vector<std::string> extras = app.remaining(true);
    if (extras.empty()) return app.exit(e), kBadInput;
    return report(
        InputError({{"command line", 0, 0}, extras.front(), "unknown argument", "see trnplan --help"}));
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? kDone : kBadInput;
  } catch (const InputError& e) {
    return report(e);
  }
  return guarded(run);
}

}  // namespace trnplan::cli
