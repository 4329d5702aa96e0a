#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/folder/measure.h"
#include "launch/folder/templates.h"
#include "logs/table/kernel_times.h"
#include "models/framework/strategy_words.h"
#include "text/figures.h"
#include "text/shell_words.h"

namespace trnplan::launch {

namespace {

std::string products_text(const planner::MachineShapes& shapes) {
  std::vector<std::string> all;
  for (const planner::ProductShape& p : shapes.products)
    all.push_back(fmt::format("({:.0f}, {:.0f}, {:.0f})", p.shape.n, p.shape.width, p.shape.k));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string attention_text(const planner::MachineShapes& shapes) {
  std::vector<std::string> all;
  for (const models::AttentionShape& s : shapes.attention) {
    all.push_back(fmt::format("({:.0f}, {:.0f}, {:.0f}, {:.0f}, \"{}\", \"{}\")", s.batch, s.heads,
                              s.sequence, s.head_dim, s.blocks < 1 ? "yes" : "no",
                              s.units > models::kFlashUnitsForward ? "backward" : "forward"));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

/// The programs that time kernels and collectives of one kind of device.
struct Timers {
  const char* functions;  ///< a template: kernels(), table() and teach()
  std::vector<std::string> (*command)(const planner::TableRequest&);
};

Timers timers_on(const topology::Traits& machine) {
  if (machine.accelerator == topology::Accelerator::gpu) return {"measure_gpu.sh", planner::nccl_command};
  return {"measure_neuron.sh", planner::nccom_command};
}

std::string tables_text(const planner::MachineShapes& shapes, const Timers& timers) {
  if (shapes.tables.empty()) return "";
  std::string text = "  {\n";
  for (const planner::TableRequest& t : shapes.tables) {
    text += fmt::format("    table {} {} {} || true\n", t.ranks, t.nodes, command_line(timers.command(t)));
  }
  return text + "  } | tee -- \"$plan/measured-collectives.out\"";
}

std::string shares_text(const planner::MachineShapes& shapes) {
  std::vector<std::string> all;
  for (const auto& [share, what] : {std::pair(shapes.of_products, "products"),
                                    {shapes.of_attention, "attention"},
                                    {shapes.in_node, "collectives in a node"},
                                    {shapes.between_nodes, "collectives between nodes"}}) {
    if (share >= 0.005) all.push_back(fmt::format("{} {:.0f} %", what, 100 * share));
  }
  return fmt::format("{:.0f} % of the plan's doubt: {}", 100 * shapes.of_step, fmt::join(all, ", "));
}

}  // namespace

io::OutputFile measure_machine_file(const models::Job& job, const planner::Plan& plan,
                                    const planner::MachineShapes& shapes, const planner::Target& target,
                                    const MeasureUse& use, const char* name) {
  int nodes = 1;
  for (const planner::TableRequest& t : shapes.tables) nodes = std::max(nodes, t.nodes);
  const bool kernels = !shapes.products.empty() || !shapes.attention.empty();
  const std::string machine =
      use.job_alone ? "--job \"$job\"" : "--instance " + command_line({plan.instance});
  const Timers timers = timers_on(planner::as_planned(job, plan).cluster.instance.traits);
  const std::string functions =
      filled(timers.functions, {{"dtype", shapes.fp32 ? "fp32" : "bf16"},
                                {"products", products_text(shapes)},
                                {"attention", attention_text(shapes)},
                                {"library", shapes.library},
                                {"product_columns", std::string(logs::kProductColumns)},
                                {"attention_columns", std::string(logs::kAttentionColumns)},
                                {"table", nccom_table()},
                                {"machine", machine}});
  return {name,
          filled("measure_machine.sh",
                 {{"name", name},
                  {"minutes", counted(std::lround(std::ceil(shapes.minutes)), "minute")},
                  {"hosts", counted(nodes, "node")},
                  {"nodes", std::to_string(nodes)},
                  {"plan_words", models::strategy_words(plan.strategy)},
                  {"shares", shares_text(shapes)},
                  {"about", "# " + target.support()},
                  {"values", measure_values(use, false, job, target)},
                  {"functions", functions},
                  {"kernels",
                   kernels ? "  kernels || echo '[measure] products and attention were not timed' >&2" : ""},
                  {"tables", tables_text(shapes, timers)},
                  {"options", use.options.empty() ? "" : command_line(use.options) + " "}}),
          true};
}

}  // namespace trnplan::launch
