// `models` and `instances`: what the catalogue holds, a line each.
#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "api/catalogue.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/table.h"
#include "io/output/catalogue_json.h"

namespace trnplan::cli {

namespace {

std::string models_text(const std::vector<io::KnownModel>& models) {
  Table table({{"model", true},
               {"parameters"},
               {"layers"},
               {"hidden"},
               {"heads"},
               {"KV"},
               {"MLP", false, 1},
               {"vocabulary", false, 2},
               {"positions", false, 3},
               {"experts", false, 4},
               {"sequence"},
               {"batch"}});
  for (const io::KnownModel& m : models) {
    const models::Architecture& a = m.architecture;
    table.row({a.name, fmt::format("{:.2f}B", m.parameters / 1e9), fmt::to_string(a.layers),
               fmt::to_string(a.hidden), fmt::to_string(a.heads), fmt::to_string(a.kv_heads),
               fmt::to_string(a.intermediate), fmt::to_string(a.vocabulary), fmt::to_string(a.max_positions),
               a.experts > 0 ? fmt::to_string(a.experts) : "-",
               m.training ? fmt::to_string(m.training->sequence) : "-",
               m.training ? fmt::to_string(m.training->global_batch) : "-"});
  }
  return table.text(text_width()) +
         "sequence and batch: of the published training, taken where a command names the model alone\n";
}

std::string instances_text(const std::vector<io::KnownInstance>& instances) {
  Table table({{"instance", true},
               {"chips"},
               {"cores"},
               {"GiB a core"},
               {"BF16 TFLOPS"},
               {"HBM GB/s", false, 2},
               {"EFA Gbit/s", false, 1},
               {"USD/h"},
               {"step", true}});
  for (const io::KnownInstance& k : instances) {
    const topology::Instance& i = k.instance;
    table.row({i.name, fmt::to_string(i.chips), fmt::to_string(i.cores()),
               fmt::format("{:.0f}", in_gibibytes(i.core.memory)),
               fmt::format("{:.0f}", i.core.bf16.value * i.cores() / 1e12),
               fmt::format("{:.0f}", i.core.hbm.value * i.cores() / 1e9),
               i.nics > 0 ? fmt::format("{:.0f}", i.nics * i.nic.value * 8 / 1e9) : "-",
               i.usd_per_hour() > 0 ? fmt::format("{:.2f}", i.usd_per_hour()) : "-",
               k.step_modelled ? "timed" : "not timed"});
  }
  return table.text(text_width()) +
         "per node but for the GiB; step: whether plan and simulate time a training step on it\n";
}

int show_models(const Common& common) {
  const auto known = api::models();
  common.json() ? print(io::models_json(known)) : print_text(models_text(known));
  return kDone;
}

int show_instances(const Common& common) {
  const auto known = api::instances();
  common.json() ? print(io::instances_json(known)) : print_text(instances_text(known));
  return kDone;
}

void add_list(CLI::App& app, Run& chosen, const char* name, const char* help, int (*show)(const Common&)) {
  auto common = std::make_shared<Common>();
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("--format", common->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(fmt::format("Examples:\n  trnplan {}\n  trnplan {} --format json", name, name));
  command->callback([common, show, &chosen] { chosen = [common, show] { return show(*common); }; });
}

}  // namespace

void add_models(CLI::App& app, Run& chosen) {
  add_list(app, chosen, "models", "List the models that are known by name", show_models);
}

void add_instances(CLI::App& app, Run& chosen) {
  add_list(app, chosen, "instances", "List the instance types that are known", show_instances);
}

}  // namespace trnplan::cli
