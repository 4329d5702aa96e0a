#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "calibrate/validate/memory_validation.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/table.h"
#include "cli/validate_steps.h"
#include "io/catalog/reliability.h"
#include "io/input/strategy_text.h"
#include "io/output/memory_json.h"
#include "io/output/whatif_json.h"
#include "logs/table/measured_runs.h"
#include "planner/cost/whatif.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::cli {

namespace {

using calibrate::MemoryValidation;
using logs::MemoryCase;
using logs::MemoryFact;

struct Options {
  Common common;
  StepValidationOptions steps;
  bool memory = false, goodput = false;
};

/// What is least worth its room stands in the JSON all the same.
Table memory_table() {
  return Table({{"id", true},
                {"model", true},
                {"nodes and layout", true, 1},
                {"seq", false, 3},
                {"known", true},
                {"GiB"},
                {"of"},
                {"margin"},
                {"P fit", false, 2},
                {"verdict", true},
                {"recompute", true, 4}},
               "", 0);
}

std::string gib(Bytes b) {
  return fmt::format("{:.2f}", in_gibibytes(b));
}

std::string layout_text(const MemoryCase& c) {
  const models::Strategy& s = c.strategy;
  std::string text = fmt::format("{} x TP {} x PP {}", c.nodes, s.tensor_parallel, s.pipeline_parallel);
  if (s.context_parallel > 1) text += fmt::format(" x CP {}", s.context_parallel);
  return text + fmt::format(" x DP {}", s.data_parallel);
}

void add_row(Table& table, const MemoryValidation::Row& row) {
  const MemoryCase& c = row.published;
  const std::string model =
      c.model + (c.layers > 0 && c.layers < 12 ? fmt::format(", {} layers", c.layers) : "");
  const char* known = c.fact == MemoryFact::fits ? "fits" : c.fact == MemoryFact::at_most ? "limit" : "oom";
  table.row({c.id, model, layout_text(c), fmt::format("{}", c.sequence), known, gib(row.peak()),
             gib(row.limit), fmt::format("{:+.2f}", in_gibibytes(row.margin())),
             fmt::format("{:.1f}", 100 * row.fit_probability), row.right ? "right" : "WRONG",
             to_string(c.strategy.recompute)});
}

std::string left_out_text(const MemoryCase& c) {
  return fmt::format("{:<5} {:<26} {}\n", c.id, c.model, c.left_out);
}

std::string memory_text(const MemoryValidation& v, int width) {
  const auto is_training = [](const MemoryValidation::Row& row) { return row.published.kind == "train"; };
  Table table = memory_table();
  for (const auto& row : v.rows) {
    if (!is_training(row)) add_row(table, row);
  }
  std::string text = table.text(width);
  const auto training = v.count("train"), all = v.count("");
  text += fmt::format("\n{} training runs of {} layouts ran and must fit: {} predicted not to\n",
                      training.rows, training.layouts, training.wrong);
  const MemoryValidation::Row* closest = nullptr;
  Table wrong = memory_table();
  for (const auto& row : v.rows) {
    if (!is_training(row)) continue;
    if (!row.right) add_row(wrong, row);
    if (closest == nullptr || row.margin() < closest->margin()) closest = &row;
  }
  if (training.wrong > 0) text += wrong.text(width);
  if (closest != nullptr && closest->right) {
    Table near = memory_table();
    add_row(near, *closest);
    text += "closest:\n" + near.text(width);
  }
  text += "\nleft out:\n";
  for (const MemoryCase& c : v.left_out) text += left_out_text(c);
  return text +
         fmt::format("\n{} published rows, {} wrong, {} left out\n", all.rows, all.wrong, v.left_out.size());
}

/// "Llama3-8B" of a publication is the catalogue's llama3-8b.
models::Architecture architecture_of(const io::Catalog& catalog, const std::string& published) {
  for (const std::string& name : catalog.models()) {
    if (io::folded_name(name) == io::folded_name(published)) return catalog.architecture(name);
  }
  return catalog.architecture(published);  // throws, with the names there are
}

// ---- uptimes ----

std::string uptime_text(const std::vector<io::CheckedUptime>& rows, int width) {
  Table table({{"id", true},
               {"nodes"},
               {"recovery", true, 3},
               {"published"},
               {"predicted"},
               {"90 % interval"},
               {"MTBF h", false, 1},
               {"recov. h", false, 2},
               {"implied"}},
              "", 0);
  for (const auto& [p, check] : rows) {
    const planner::GoodputEstimate& e = check.estimate;
    table.row({p.id, fmt::format("{}", p.nodes), p.automatic ? "automatic" : "manual",
               fmt::format("{:.2f} %", 100 * p.uptime), fmt::format("{:.2f} %", 100 * e.uptime),
               fmt::format("{:.2f} - {:.2f}", 100 * e.uptime_90.low, 100 * e.uptime_90.high),
               fmt::format("{:.1f}", e.model.mtbf.value / 3600),
               fmt::format("{:.2f}", e.model.mean_recovery().value / 3600),
               fmt::format("{:.4f}", check.implied_rate)});
  }
  const std::string text = table.text(width);
  return text +
         "MTBF: mean hours between failures; recov.: mean hours of a recovery; implied: failures a node and "
         "day at which "
         "the medians would give the published uptime.\n";
}

io::CheckedUptime checked(const planner::PublishedUptime& p, const io::Catalog& catalog,
                          const models::Profile& profile, const planner::Reliability& reliability) {
  models::Job job;
  job.architecture = catalog.architecture(p.model);
  job.cluster = {catalog.instance(p.instance), p.nodes};
  job.training = {p.sequence, p.global_batch, p.tokens, models::Precision::mixed_precision};
  return {p, planner::check_uptime(p, job, io::parse_strategy(p.strategy, job), profile, reliability)};
}

int run_goodput(const Options& o) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = load_profile(catalog, o.common);
  const planner::Reliability reliability =
      io::reliability_from(read_document(catalog.file("reliability.json")));
  std::vector<io::CheckedUptime> rows;
  for (const planner::PublishedUptime& p : reliability.published)
    rows.push_back(checked(p, catalog, profile, reliability));
  print_result(o.common, o.common.json() ? io::uptime_json(rows, reliability.name, profile.name)
                                         : uptime_text(rows, text_width()));
  return kDone;
}

int run(const Options& o) {
  if (o.memory && o.goodput) {
    throw InputError(
        {{"command line", 0, 0}, "validate", "one of the two at a time", "give --memory or --goodput"});
  }
  if ((o.memory || o.goodput) && !o.steps.runs.empty()) {
    throw InputError({{"command line", 0, 0},
                      "runs",
                      "a table of runs is for step times",
                      "leave out --memory and --goodput, or the file"});
  }
  if (!o.memory && !o.goodput) return validate_steps(o.steps, o.common);
  if (o.goodput) return run_goodput(o);
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = load_profile(catalog, o.common);
  const auto read = [&](const char* name) { return read_text(catalog.file(name).string()); };
  auto cases = logs::parse_memory_cases(read("memory-cases.csv"), "memory-cases.csv");
  for (MemoryCase& c :
       logs::memory_cases_of(logs::parse_measured_runs(read("measured-runs.csv"), "measured-runs.csv"))) {
    cases.push_back(std::move(c));
  }
  const MemoryValidation v =
      calibrate::validate_memory(cases,
                                 {[&](const std::string& name) { return architecture_of(catalog, name); },
                                  [&](const std::string& name) { return catalog.instance(name); }},
                                 profile);
  print_result(o.common,
               o.common.json() ? io::memory_validation_json(v, profile.name) : memory_text(v, text_width()));
  return kDone;
}

}  // namespace

void add_validate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("validate", "Set predictions beside published runs and jobs");
  command
      ->add_option("runs", o->steps.runs,
                   "a table like catalog/measured-runs.csv (docs/json.md); that one when absent")
      ->check(not_empty());
  command
      ->add_option("--leave-out", o->steps.leave_out,
                   "what a fit must not have seen of the row it predicts; none: the profile as it is")
      ->check(CLI::IsMember({"configuration", "run_group", "none"}))
      ->capture_default_str();
  command->add_flag("--rows", o->steps.rows, "every row in the text, too");
  command->add_flag("--memory", o->memory,
                    "does each job fit? catalog/memory-cases.csv and measured-runs.csv");
  command->add_flag("--goodput", o->goodput, "how much of the time did jobs run? catalog/reliability.json");
  add_common(*command, o->common);
  command->footer(
      "Step times are predicted by fits to all published runs but those of the row's configuration (model,\n"
      "nodes, layout, sequence, recompute, over all releases); cover: share of rows inside their 90 %\n"
      "interval; half: its median half-width; MFU: error of one MFU for all; oracle: of each\n"
      "configuration's own mean, the noise. A profile that was fitted gives way to its prior.\n"
      "Margin is what is left of the limit in GiB; \"P fit\" the probability in % that the peak stays below "
      "it\n"
      "when only the runtime's own share is uncertain. docs/accuracy.md explains the wrong ones.\n"
      "Examples:\n"
      "  trnplan validate\n"
      "  trnplan validate mine.csv --leave-out none --format json\n"
      "  trnplan validate --memory");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
