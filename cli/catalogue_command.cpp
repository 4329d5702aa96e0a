// `models` and `instances`: contents of the catalogue, one line each.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/catalogue.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/table.h"
#include "io/output/catalogue_json.h"
#include "targets/registry.h"

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
         "sequence and batch: those of the published training, used when a command states only the model\n";
}

/// Kinds of price other than on demand that a list has shown, each with its mark.
class PriceKinds {
 public:
  /// "35.76 *"; "21.50  " without a mark; "-" without a price.
  std::string cell(const topology::Instance& i) {
    const topology::Price* price = i.price();
    if (price == nullptr) return "-  ";
    std::string mark = " ";
    if (!price->is_on_demand()) {
      const std::string kind = topology::price_words(price->kind);
      auto at = std::find(kinds_.begin(), kinds_.end(), kind);
      if (at == kinds_.end()) at = kinds_.insert(at, kind);
      mark = kMarks.at(static_cast<std::size_t>(at - kinds_.begin()));
    }
    return fmt::format("{:.2f} {}", price->usd_per_hour, mark);
  }
  /// "USD/h on demand, * capacity block".
  std::string legend() const {
    std::string text = "USD/h on demand";
    for (std::size_t k = 0; k < kinds_.size(); ++k) text += fmt::format(", {} {}", kMarks.at(k), kinds_[k]);
    return text;
  }

 private:
  static constexpr std::array<const char*, 3> kMarks = {"*", "+", "#"};
  std::vector<std::string> kinds_;  ///< reserved, capacity block, spot
};

/// Types with devices of one kind, under its words.
std::string table_of(const std::vector<const topology::Instance*>& types, const std::set<std::string>& timed,
                     PriceKinds& kinds) {
  const topology::Accelerator of = types.front()->traits.accelerator;
  const std::string device(topology::device_word(of));
  const bool gpus = of == topology::Accelerator::gpu;
  const bool chips = std::any_of(types.begin(), types.end(), [&](const topology::Instance* i) {
    return topology::chip_word(*i) != device;
  });
  std::vector<Column> columns = {{"instance", true}};
  if (chips) columns.push_back({"chips"});
  columns.insert(columns.end(), {{device + "s"},
                                 {"GiB a " + device},
                                 {"BF16 TFLOPS"},
                                 {"HBM GB/s", false, 2},
                                 {gpus ? "NICs Gbit/s" : "EFA Gbit/s", false, 1},
                                 {"USD/h  "},
                                 {"step", true}});
  Table table(std::move(columns));
  for (const topology::Instance* type : types) {
    const topology::Instance& i = *type;
    std::vector<std::string> cells = {i.name};
    if (chips) cells.push_back(fmt::to_string(i.chips));
    cells.insert(cells.end(), {fmt::to_string(i.cores()), fmt::format("{:.0f}", in_gibibytes(i.core.memory)),
                               fmt::format("{:.0f}", i.core.bf16.value * i.cores() / 1e12),
                               fmt::format("{:.0f}", i.core.hbm.value * i.cores() / 1e9),
                               i.nics > 0 ? fmt::format("{:.0f}", i.nics * i.nic.value * 8 / 1e9) : "-",
                               kinds.cell(i), timed.contains(i.name) ? "timed" : "not timed"});
    table.row(std::move(cells));
  }
  return table.text(text_width());
}

/// Line for machines for which every stack reaches its end of support.
std::string endings_text(const std::vector<io::KnownInstance>& instances) {
  std::map<std::string, std::vector<std::string>> names;
  for (const io::KnownInstance& k : instances) {
    if (!k.ending.empty()) names[k.ending].push_back(k.instance.name);
  }
  std::string text;
  for (const auto& [ending, of] : names) text += fmt::format("{}: {}\n", fmt::join(of, ", "), ending);
  return text;
}

std::string instances_text(const std::vector<io::KnownInstance>& instances) {
  std::vector<topology::Accelerator> kinds;
  std::set<std::string> timed;
  for (const io::KnownInstance& k : instances) {
    const topology::Accelerator of = k.instance.traits.accelerator;
    if (std::find(kinds.begin(), kinds.end(), of) == kinds.end()) kinds.push_back(of);
    if (k.step_modelled) timed.insert(k.instance.name);
  }
  PriceKinds prices;
  std::string text;
  for (const topology::Accelerator of : kinds) {
    std::vector<const topology::Instance*> types;
    for (const io::KnownInstance& k : instances)
      if (k.instance.traits.accelerator == of) types.push_back(&k.instance);
    text += (text.empty() ? "" : "\n") + table_of(types, timed, prices);
  }
  return text + "\nper node, except GiB; " + prices.legend() +
         "; step: whether plan and simulate can time a training step on it\n" + endings_text(instances);
}

std::string settable_text(const std::string& name, const std::vector<io::SettableNumber>& numbers) {
  Table table({{"--set", true}, {"value"}, {"unit", true}}, "", 2);
  for (const io::SettableNumber& n : numbers)
    table.row({printable(n.key, 60), fmt::format("{}", n.value), n.unit == "1" ? "" : printable(n.unit, 20)});
  return name +
         ", numbers that simulate, plan, whatif and collective change with --set KEY=VALUE or "
         "KEY=xFACTOR:\n" +
         table.text(text_width());
}

int show_models(const Common& common, const std::string&) {
  const auto known = api::models();
  common.json() ? print(io::models_json(known)) : print_text(models_text(known));
  return kDone;
}

int show_instances(const Common& common, const std::string& name) {
  if (!name.empty()) {
    const std::string type = api::instance_called(name);
    const auto numbers = api::settable_numbers(type);
    common.json() ? print(io::settable_json(type, numbers)) : print_text(settable_text(type, numbers));
    return kDone;
  }
  const auto known = api::instances();
  common.json() ? print(io::instances_json(known)) : print_text(instances_text(known));
  return kDone;
}

/// Adds a command that shows all entries of the catalogue or, with a `what`, the named one.
void add_list(CLI::App& app, Run& chosen, const char* name, const char* help,
              int (*show)(const Common&, const std::string& one), const char* what = nullptr,
              const char* example = "") {
  struct Options {
    Common common;
    std::string one;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, help);
  if (what != nullptr) command->add_option("name", o->one, what)->check(not_empty());
  add_format(*command, o->common);
  command->footer(fmt::format("Examples:\n  trnplan {0}\n  trnplan {0} --format json{1}", name, example));
  command->callback([o, show, &chosen] { chosen = [o, show] { return show(o->common, o->one); }; });
}

}  // namespace

void add_models(CLI::App& app, Run& chosen) {
  add_list(app, chosen, "models", "List the models in the catalogue", show_models);
}

void add_instances(CLI::App& app, Run& chosen) {
  add_list(app, chosen, "instances", "List the instance types in the catalogue", show_instances,
           "a type of which to list the numbers that --set changes", "\n  trnplan instances trn1.32xlarge");
}

}  // namespace trnplan::cli
