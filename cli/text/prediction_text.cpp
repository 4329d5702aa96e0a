#include "cli/text/run_text.h"
#include "cli/text/text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/text/plan_answer.h"
#include "cli/text/table.h"
#include "planner/confidence/experiment.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::cli {

using planner::Plan;

namespace {

constexpr double kTight = 0.05;  ///< share of a core's memory; less remaining room gets a remark

/// Differences of a plan of the table other than its strategy.
std::string apart(const Plan& p, const std::vector<Plan>& plans) {
  const auto differ = [&](auto what) {
    return std::any_of(plans.begin(), plans.end(), [&](const Plan& o) { return what(o) != what(p); });
  };
  std::string text;
  if (differ([](const Plan& o) { return o.nodes; }) || differ([](const Plan& o) { return o.instance; }))
    text += fmt::format(" on {} x {}", p.nodes, printable(p.instance));
  if (differ([](const Plan& o) { return o.global_batch; })) text += fmt::format(", batch {}", p.global_batch);
  if (differ([](const Plan& o) { return o.strategy.precision; }))
    text += fmt::format(", {}", to_string(p.strategy.precision));
  return text;
}

/// First plan of which each one is a near twin, or itself; the recommended one represents itself.
std::vector<std::size_t> families(const std::vector<Plan>& plans, std::size_t recommended) {
  std::vector<std::size_t> family(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    family[i] = i;
    for (std::size_t k = 0; k < i && family[i] == i && i != recommended; ++k) {
      if (family[k] == k && planner::near_twins(plans[k], plans[i])) family[i] = k;
    }
  }
  return family;
}

std::string millions(double instructions) {
  return fmt::format("{:.1f} million", instructions / 1e6);
}

}  // namespace

std::string plan_table(const models::Job& job, const std::vector<Plan>& plans,
                       const std::vector<std::optional<double>>& first_is_better, int width,
                       std::size_t recommended) {
  const bool compared = plans.size() > 1 && !first_is_better.empty();
  const char* better = job.objective == models::Objective::cost ? "1 is cheaper" : "1 is faster";
  std::vector<Column> columns = {{""}, {"step s"}, {"90 % interval"}};
  if (compared) columns.push_back({better});
  columns.insert(columns.end(), {{"tokens/s"}, {"MFU %", false, 1}, {"GiB"}});
  Table table(std::move(columns), "strategy", 1);
  const std::vector<std::size_t> family = families(plans, recommended);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (family[i] != i) continue;
    const Plan& p = plans[i];
    const auto twins = std::count(family.begin(), family.end(), i) - 1;
    std::vector<std::string> cells = {
        fmt::format("{}{}", i == recommended && plans.size() > 1 ? "* " : "", i + 1),
        seconds_text(p.report.step),
        fmt::format("{} - {}", seconds_text(p.report.low), seconds_text(p.report.high))};
    const auto probability = i > 0 && compared ? first_is_better[i - 1] : std::nullopt;
    if (compared) cells.push_back(probability ? short_probability(*probability) : "");
    cells.insert(cells.end(), {grouped(p.report.tokens_per_second), fmt::format("{:.1f}", 100 * p.report.mfu),
                               gib(p.memory.worst().peak())});
    table.row(std::move(cells),
              planner::strategy_grammar(job, p) + apart(p, plans) + (p.doubts.empty() ? "" : " (doubtful)") +
                  (twins > 0 ? fmt::format(", and {} near twin{}", twins, twins == 1 ? "" : "s") : ""));
  }
  return table.text(width) + (plans.size() > 1 ? "*: recommended\n" : "");
}

namespace {

/// Neighbouring stages with equal parts of their peaks.
struct Stages {
  std::size_t first = 0, last = 0;
};

std::vector<std::string> cells_of(const models::StageMemory& m) {
  return {fmt::format("{}", m.layers),
          fmt::format("{}", m.in_flight),
          gib(m.parameters),
          gib(m.gradients),
          gib(m.optimizer),
          gib(m.activations),
          gib(m.logits),
          gib(m.staging),
          gib(m.runtime),
          gib(m.peak()),
          std::string(to_string(m.instant))};
}

constexpr const char* kMemoryRows[] = {
    "layers",      "micro-batches held", "parameters",        "gradients", "optimizer states",
    "activations", "logits of the loss", "temporary buffers", "runtime",   "peak",
    "reached in"};
constexpr std::size_t kStaging = 7;  ///< of those rows
constexpr std::size_t kParts = 2;    ///< the first of the rows that add up to the peak

/// The words of a row. Temporary buffers on Neuron cores with ZeRO-1 are mainly its buckets.
const char* row_words(std::size_t row, const models::Strategy& s, topology::Accelerator on) {
  const bool buckets = on == topology::Accelerator::neuron_core && s.sharding == models::Sharding::states;
  return row == kStaging && buckets ? "ZeRO-1 buckets" : kMemoryRows[row];
}

/// "activations 6.10, parameters 2.00": the parts of the peak, the largest first, without those below 1 % of it.
std::string largest_parts(const models::StageMemory& m, const models::Strategy& s, topology::Accelerator on) {
  constexpr double kLeast = 0.01;
  std::vector<std::pair<Bytes, const char*>> parts;
  std::size_t row = kParts;
  for (const Bytes part :
       {m.parameters, m.gradients, m.optimizer, m.activations, m.logits, m.staging, m.runtime})
    parts.emplace_back(part, row_words(row++, s, on));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [part, name] : parts)
    if (part / m.peak() >= kLeast) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, gib(part));
  return text;
}

/// Stages to show if only `most` have room: the first and last ones, and the one with the largest peak.
std::vector<Stages> some_of(std::vector<Stages> all, std::size_t worst, std::size_t most) {
  if (all.size() <= most) return all;
  const std::size_t head = (most - 1) / 2, tail = most - 1 - head;
  std::vector<Stages> shown(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(head));
  const bool between = worst >= head && worst + tail < all.size();
  shown.push_back(all[between ? worst : head]);
  shown.insert(shown.end(), all.end() - static_cast<std::ptrdiff_t>(tail), all.end());
  return shown;
}

}  // namespace

std::string memory_table(const models::Memory& memory, const models::Strategy& s, topology::Accelerator on,
                         int width) {
  constexpr int kLabel = 24, kStage = 10;  // columns for the words of a row, and for a stage
  std::vector<Stages> all;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < memory.stages.size();) {
    Stages same{i, i};
    while (same.last + 1 < memory.stages.size() &&
           cells_of(memory.stages[same.last + 1]) == cells_of(memory.stages[i]))
      ++same.last;
    if (&memory.worst() >= &memory.stages[same.first] && &memory.worst() <= &memory.stages[same.last])
      worst = all.size();
    all.push_back(same);
    i = same.last + 1;
  }
  const auto most = static_cast<std::size_t>(std::max(3, (width - kLabel) / kStage));
  const std::vector<Stages> shown = some_of(all, worst, most);
  const std::string_view device = topology::device_word(on);
  std::vector<Column> columns = {{fmt::format("GiB a {}", device), true}};
  for (const Stages& each : shown) {
    columns.push_back({each.first == each.last ? fmt::format("stage {}", each.first)
                                               : fmt::format("{}-{}", each.first, each.last)});
  }
  Table table(std::move(columns), "", 4);
  for (std::size_t row = 0; row < std::size(kMemoryRows); ++row) {
    std::vector<std::string> cells = {row_words(row, s, on)};
    for (const Stages& each : shown) cells.push_back(cells_of(memory.stages[each.first])[row]);
    table.row(std::move(cells));
  }
  std::string text = table.text(width);
  std::size_t left_out = memory.stages.size();
  for (const Stages& some : shown) left_out -= some.last + 1 - some.first;
  if (left_out > 0)
    text += fmt::format("    ... {} more stage{} between (--format json lists all)\n", left_out,
                        left_out == 1 ? "" : "s");
  return text + fmt::format("    a {} has {:.2f} GiB; by these bytes it is {} likely to fit\n", device,
                            in_gibibytes(memory.limit), probability_text(memory.fit_probability));
}

namespace {

std::string time_by_cause(const models::StepReport& r) {
  std::string parts;
  for (std::size_t i = 0; i < r.breakdown.size(); ++i) {
    if (r.breakdown[i] / r.step < 5e-4) continue;
    parts += fmt::format("{}{} {} s ({:.1f} %)", parts.empty() ? "" : ", ",
                         cause_words(static_cast<models::Category>(i)), seconds_text(r.breakdown[i]),
                         100 * (r.breakdown[i] / r.step));
  }
  return fmt::format("  time        {}\n", parts);
}

std::string step_text(const Plan& p) {
  const models::StepReport& r = p.report;
  std::string text = fmt::format("  step        {} s, 90 % between {} and {} s; {} micro-batch{}\n",
                                 seconds_text(r.step), seconds_text(r.low), seconds_text(r.high),
                                 p.micro_batches, p.micro_batches == 1 ? "" : "es");
  if (r.extrapolated) {
    text +=
        "              not each of so many micro-batches is simulated: the step is extrapolated from fewer, "
        "which may be 0.01 % off\n";
  }
  return text;
}

double peak_teraflops(const models::StepReport& r) {
  return r.mfu > 0 ? r.model_flops.value / r.mfu / 1e12 : 0;
}

std::string doubts_text(const Plan& p) {
  std::string text;
  for (const planner::Violation& v : p.doubts) text += fmt::format("  doubtful    {}\n", v.message);
  return text;
}

/// What little room is left in memory; "" if there is enough.
std::string tight_text(const Plan& p) {
  const Bytes spare = p.memory.limit - p.memory.worst().peak();
  if (spare.value < 0 || spare >= kTight * p.memory.limit) return "";
  return fmt::format("tight: {} GiB to spare, and the runtime's own share is an estimate", gib(spare));
}

std::string price_text(const Plan& p, bool whole_run) {
  std::string text;
  if (p.usd_per_hour > 0) {
    text += fmt::format("  price       {:.2f} USD/h {}, {:.2f} USD per billion tokens\n", p.usd_per_hour,
                        topology::price_words(p.price_kind), planner::usd_per_billion_tokens(p));
  }
  if (whole_run && p.run.value > 0) {
    text += fmt::format("  whole run   {}, {} USD, without failures, checkpoints and restarts\n",
                        run_time(p.run), grouped(planner::run_usd(p)));
  }
  return text;
}

}  // namespace

std::string beyond_known_graphs(const Plan& p) {
  // Tolerance, since the same graph is not larger than itself.
  constexpr double kBeyond = 1.005, kShownAsFactor = 1.1;
  if (!p.known || p.known->largest_graph <= 0 || p.graph.expected < kBeyond * p.known->largest_graph)
    return "";
  const double times = p.graph.expected / p.known->largest_graph;
  // A factor that rounds to one says nothing.
  if (times < kShownAsFactor)
    return fmt::format(
        "its graph is {:.1f} % larger than the largest that is known to compile, {} instructions (run {} "
        "of the catalogue)",
        100 * (times - 1), millions(p.known->largest_graph), p.known->largest_graph_id);
  return fmt::format(
      "its graph is {} times as large as the largest that is known to compile, {} instructions (run {} "
      "of the catalogue)",
      factor_text(times), millions(p.known->largest_graph), p.known->largest_graph_id);
}

std::string graph_text(const Plan& p) {
  const models::GraphSize& g = p.graph;
  if (g.limit <= 0) return "";
  std::string what = "forward and backward of a micro-batch";
  if (!g.whole_micro_batch)
    what = fmt::format("{} of stage {}", g.backward ? "backward" : "forward", g.stage);
  return fmt::format("{} instructions of at most {}, {}; by its size it compiles: {}", millions(g.expected),
                     millions(g.limit), what, probability_text(g.compile_probability()));
}

std::string nearest_case_text(const planner::Experience& e) {
  constexpr std::size_t kShown = 4;
  std::string text = fmt::format("{} {}: {}", e.id, e.known, printable(e.words));
  if (e.differences.empty()) return text;
  text += "; here ";
  for (std::size_t i = 0; i < e.differences.size() && i < kShown; ++i)
    text += (i == 0 ? "" : ", ") + e.differences[i];
  if (e.differences.size() > kShown) text += fmt::format(" and {} more", e.differences.size() - kShown);
  return text;
}

namespace {

std::string graph_lines(const Plan& p) {
  std::string text;
  if (const std::string graph = graph_text(p); !graph.empty())
    text += fmt::format("  graph       {}\n", graph);
  if (const std::string beyond = beyond_known_graphs(p); !beyond.empty())
    text += fmt::format("              {}\n", beyond);
  return text;
}

/// The peak that MFU is a share of: that of 16 bits, whatever the precision.
std::string peak_words(const Plan& p) {
  return grouped(peak_teraflops(p.report)) +
         (models::is_fp8(p.strategy.precision) ? " TFLOPS in BF16" : " TFLOPS");
}

}  // namespace

std::string plan_details(const Plan& p, bool whole_run, int width) {
  const models::StepReport& r = p.report;
  std::string text = step_text(p);
  text += fmt::format("  throughput  {} tokens/s\n", grouped(r.tokens_per_second));
  if (p.network) text += fmt::format("  network     {}\n", network_words(p));
  text += fmt::format(
      "  MFU         {:.1f} % of {}: 6 FLOPs per parameter and token, plus attention, with the "
      "half that causal kernels skip; without attention {:.1f} %\n",
      100 * r.mfu, peak_words(p), 100 * r.six_n_flops.value / 1e12 / peak_teraflops(r));
  text += fmt::format(
      "  HFU         {:.1f} %: the matrix products, recomputed ones included, and attention as "
      "above; MFU also counts the embedding, which is only a look-up\n",
      100 * r.hfu);
  text += time_by_cause(r) + doubts_text(p) + price_text(p, whole_run);
  text += "  memory\n" + memory_table(p.memory, p.strategy, p.accelerator, width);
  if (const std::string tight = tight_text(p); !tight.empty()) text += fmt::format("    {}\n", tight);
  if (p.known) text += fmt::format("    nearest known case: {}\n", nearest_case_text(*p.known));
  return text + graph_lines(p);
}

std::string plan_outline(const Plan& p) {
  const models::StepReport& r = p.report;
  std::string text = step_text(p);
  text += fmt::format("  throughput  {} tokens/s; {:.1f} % of {} (MFU)\n", grouped(r.tokens_per_second),
                      100 * r.mfu, peak_words(p));
  if (p.network) text += fmt::format("  network     {}\n", network_words(p));
  text += time_by_cause(r) + doubts_text(p) + price_text(p, false);
  const std::string tight = tight_text(p);
  const std::string stage = p.memory.stages.size() < 2
                                ? ""
                                : fmt::format(" of stage {}", &p.memory.worst() - p.memory.stages.data());
  text += fmt::format("  memory      {} a {}{}, {} likely to fit: {}{}\n", of_memory(p.memory),
                      topology::device_word(p.accelerator), stage, probability_text(fits_probability(p)),
                      largest_parts(p.memory.worst(), p.strategy, p.accelerator),
                      tight.empty() ? "" : "; " + tight);
  if (p.known) text += fmt::format("  nearest     {}\n", nearest_case_text(*p.known));
  return text + graph_lines(p);
}

std::string critical_path(const Plan& p) {
  const models::StepReport& r = p.report;
  constexpr std::size_t kOperatorsShown = 10;
  std::string text = "  critical path\n";
  const std::size_t shown = std::min(kOperatorsShown, r.by_operator.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, time] = r.by_operator[i];
    text += fmt::format("    {:<26} {:>9} s  {:>5.1f} %\n", name, seconds_text(time), 100 * (time / r.step));
  }
  if (shown < r.by_operator.size()) {
    Seconds rest{};
    for (std::size_t i = shown; i < r.by_operator.size(); ++i) rest += r.by_operator[i].second;
    text += fmt::format("    {:<26} {:>9} s  {:>5.1f} %\n",
                        fmt::format("{} others", r.by_operator.size() - shown), seconds_text(rest),
                        100 * (rest / r.step));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(models::Resource::count); ++i) {
    const auto resource = static_cast<models::Resource>(i);
    const double change = r.elasticity(resource);
    if (std::abs(change) < 5e-4) continue;
    text +=
        fmt::format("    {}: 1 % {} changes the step by {:+.3f} %\n", resource_words(resource, p.accelerator),
                    is_duration(resource) ? "longer" : "faster", change);
  }
  return text;
}

std::string seconds_by_cause(const models::StepReport& now, const models::StepReport& before) {
  struct Difference {
    std::string_view name;
    double seconds;
  };
  std::vector<Difference> differences;
  for (std::size_t i = 0; i < now.breakdown.size(); ++i) {
    differences.push_back(
        {cause_words(static_cast<models::Category>(i)), now.breakdown[i].value - before.breakdown[i].value});
  }
  std::stable_sort(differences.begin(), differences.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.seconds) > std::abs(b.seconds);
  });
  std::string parts;
  for (const Difference& d : differences) {
    if (std::abs(d.seconds) < 5e-3 * now.step.value) continue;
    parts += fmt::format("{}{} {}{}", parts.empty() ? "" : ", ", d.name, d.seconds < 0 ? "-" : "+",
                         seconds_text(Seconds(std::abs(d.seconds))));
  }
  return parts;
}

std::string comparison(const Plan& winner, const Plan& other) {
  const double less = other.report.step.value - winner.report.step.value;
  const std::string text =
      fmt::format("  against {}: {} s a step {}, {:.2f} times as fast\n", strategy_words(other.strategy),
                  seconds_text(Seconds(std::abs(less))), less < 0 ? "slower" : "faster",
                  other.report.step / winner.report.step);
  const std::string parts = seconds_by_cause(winner.report, other.report);
  return parts.empty() ? text : text + "    difference in seconds by cause: " + parts + "\n";
}

}  // namespace trnplan::cli
