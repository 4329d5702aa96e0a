// One function per command. Each adds its subcommand to the parser and, if that is chosen, sets `run`.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace trnplan::cli {

/// Runs the chosen command; returns an exit code. Throws InputError for bad input.
using Run = std::function<int()>;

void add_plan(CLI::App& app, Run& run);
void add_launch(CLI::App& app, Run& run);
void add_simulate(CLI::App& app, Run& run);
void add_explain(CLI::App& app, Run& run);
void add_export(CLI::App& app, Run& run);
void add_topology(CLI::App& app, Run& run);
void add_check(CLI::App& app, Run& run);
void add_calibrate(CLI::App& app, Run& run);
void add_cluster(CLI::App& app, Run& run);
void add_compare(CLI::App& app, Run& run);
void add_collective(CLI::App& app, Run& run);
void add_validate(CLI::App& app, Run& run);
void add_whatif(CLI::App& app, Run& run);
void add_watch(CLI::App& app, Run& run);
void add_sweep(CLI::App& app, Run& run);
void add_models(CLI::App& app, Run& run);
void add_instances(CLI::App& app, Run& run);
void add_support(CLI::App& app, Run& run);
void add_init(CLI::App& app, Run& run);
void add_help(CLI::App& app, Run& run);

/// Parses the command line, runs the command, and converts errors into messages and exit codes.
int run_cli(int argc, const char* const* argv);

}  // namespace trnplan::cli
