#include "cli/text/whatif_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/text/plan_answer.h"
#include "cli/text/run_text.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "cli/text/whatif_parts.h"
#include "cli/text/wrap.h"
#include "planner/cost/instance_comparison.h"
#include "planner/plan/plan.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "units/quantity.h"

namespace trnplan::cli {

using planner::WhatIfPoint;
using planner::WhatIfQuestion;

planner::RunQuestion run_question(const WhatIfQuestion& q) {
  return {q.tokens, q.deadline, q.budget};
}

std::string cluster_words(const WhatIfPoint& p) {
  return fmt::format("{} x {}", p.nodes, printable(p.instance));
}

namespace {

/// Text for a type without a price of the requested kind.
std::string why_unpriced(const WhatIfAnswer& a, const std::string& instance) {
  const auto type = std::find_if(a.question.instances.begin(), a.question.instances.end(),
                                 [&](const topology::Instance& i) { return i.name == instance; });
  return planner::why_unpriced(type != a.question.instances.end() ? *type : a.job.cluster.instance,
                               a.question.prices.pricing);
}

/// True if the answer consists of the fixes for the clusters' faults.
bool tells_fixes(const WhatIfAnswer& a) {
  return a.result.recommended < 0 && !a.result.would_do && !a.result.reaches;
}

/// Strategy for pasting after --strategy. A pinned data-parallel degree holds for the job's own cluster only.
std::string grammar(models::Job job, const WhatIfPoint& p) {
  if (p.nodes != job.cluster.nodes || p.instance != job.cluster.instance.name) job.pin.data_parallel.reset();
  return planner::strategy_grammar(job, *p.plan);
}

/// 90 % interval of the time; if tokens are the question, those reached with 50 and 90 %.
std::string reach_text(const planner::RunAnswer& run, const TimeUnit& unit) {
  if (run.tokens_50 > 0) return count_text(run.tokens_50) + " " + count_text(run.tokens_90);
  return figure(run.time_90.low / unit.seconds) + " - " + figure(run.time_90.high / unit.seconds);
}

}  // namespace

const TimeUnit& run_unit(const WhatIfAnswer& a) {
  Seconds longest{};
  for (const WhatIfPoint& p : a.result.points)
    if (p.plan) longest = std::max(longest, p.run.time);
  return unit_of(longest);
}

namespace {

/// A cluster without a plan; `nodes` are others with the same fault.
std::string note_of(const WhatIfAnswer& a, const std::string& nodes, const WhatIfPoint& p) {
  const std::string batch = p.global_batch > 0 ? fmt::format(", batch {}", p.global_batch) : "";
  const bool no_fix = p.fix.empty() || tells_fixes(a);
  return fmt::format("{} nodes{}: {}", nodes, batch, p.why) + (no_fix ? "" : "; fix: " + p.fix);
}

void add_row(Table& table, const models::Job& job, const WhatIfPoint& p, bool recommended,
             const TimeUnit& unit) {
  const std::string mark = std::string(recommended ? "*" : " ") + (p.pareto ? "p" : " ");
  const models::StepReport& r = p.plan->report;
  const planner::RunAnswer& run = p.run;
  table.row({mark, fmt::to_string(p.nodes), fmt::to_string(p.global_batch), figure(r.step.value),
             grouped(r.tokens_per_second), figure(100 * r.mfu), fmt::format("{:.0f}", 100 * p.efficiency),
             fmt::format("{:.2f}", 100 * run.goodput.goodput), duration(run.goodput.interval),
             p.plan->works ? fmt::format("{:.0f}", 100 * *p.plan->works) : "-",
             figure(run.time.value / unit.seconds), reach_text(run, unit), run.usd ? grouped(*run.usd) : "-"},
            grammar(job, p));
}

/// The clusters of one instance type.
struct TypeTable {
  Table table;
  bool rows = false;
  std::string notes;  ///< if there are no rows
};

TypeTable table_of(const WhatIfAnswer& a, std::size_t from, std::size_t end) {
  const TimeUnit& unit = run_unit(a);
  TypeTable t{Table({{"", true},
                     {"nodes"},
                     {"batch", false, 2},
                     {"step s"},
                     {"tokens/s"},
                     {"MFU %", false, 4},
                     {"scaling %", false, 3},
                     {"goodput %", false, 1},
                     {"checkpoint", false, 5},
                     {"works %", false, 2},
                     {unit.name},
                     {a.question.asks_for_tokens() ? "tokens 50, 90 %" : "90 % interval"},
                     {"USD"}},
                    "strategy", 0),
              false, ""};
  for (std::size_t i = from; i < end; ++i) {
    const WhatIfPoint& p = a.result.points[i];
    if (p.plan) {
      add_row(t.table, a.job, p, static_cast<int>(i) == a.result.recommended, unit);
      t.rows = true;
      continue;
    }
    std::string nodes = fmt::to_string(p.nodes);
    for (; i + 1 < end && !a.result.points[i + 1].plan && a.result.points[i + 1].why == p.why &&
           a.result.points[i + 1].global_batch == p.global_batch;
         ++i)
      nodes += fmt::format(", {}", a.result.points[i + 1].nodes);
    const std::string note = note_of(a, nodes, p);
    t.table.note(note);
    t.notes += "  " + note + "\n";
  }
  return t;
}

/// Meaning of the marks and columns that are shown.
struct Legend {
  bool recommended = false, pareto = false, scaling = false, checkpoint = false, rows = false, tokens = false;

  std::string text() const {
    std::vector<std::string> parts;
    if (recommended) parts.push_back("* recommended");
    if (pareto) parts.push_back("p: no other cluster is as fast, as cheap and as small");
    if (scaling) parts.push_back("scaling: tokens/s per node, relative to the smallest cluster");
    if (checkpoint) parts.push_back("checkpoint: time between two");
    parts.push_back(tokens ? "tokens 50, 90 %: at least this many, with that probability"
                           : "90 % interval: 5 % are below it, 5 % above");
    std::string all;
    for (const std::string& part : parts) all += (all.empty() ? "" : "; ") + part;
    if (!rows) return "";
    return all + ". Times do not include waiting for the job to be scheduled.\n";
  }
};

std::string tables(const WhatIfAnswer& a, int width) {
  const auto& points = a.result.points;
  std::string text;
  Legend legend;
  legend.recommended = a.result.recommended >= 0;
  legend.tokens = a.question.asks_for_tokens();
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i;
    while (end < points.size() && points[end].instance == points[i].instance) {
      legend.pareto |= points[end].plan && points[end].pareto;
      ++end;
    }
    const TypeTable t = table_of(a, i, end);
    text += "\n" + printable(points[i].instance) + "\n" + (t.rows ? t.table.text(width) : t.notes);
    legend.rows |= t.rows;
    legend.scaling |= t.rows && t.table.shows("scaling %", width);
    legend.checkpoint |= t.rows && t.table.shows("checkpoint", width);
    i = end;
  }
  return text + legend.text();
}

std::string bill_text(const WhatIfAnswer& a, const WhatIfPoint& p) {
  if (!p.run.bill) return "  price       " + why_unpriced(a, p.instance) + "; state one with --price\n";
  std::string text;
  for (const planner::PriceLine& l : p.run.bill->lines) {
    text +=
        fmt::format("  {:<11} {} USD/h for {} ({})\n", text.empty() ? "price" : "",
                    l.usd_per_hour >= 1000 ? grouped(l.usd_per_hour) : fmt::format("{:.2f}", l.usd_per_hour),
                    l.what, l.basis);
  }
  const std::string commitment = p.run.bill->commitment(p.run.time);
  if (!commitment.empty()) text += "              " + commitment + "\n";
  if (!p.run.bill->remark.empty()) text += "              " + p.run.bill->remark + "\n";
  return text;
}

std::string recommended_text(const WhatIfAnswer& a, const WhatIfPoint& p) {
  const planner::GoodputEstimate& g = p.run.goodput;
  const bool known = a.reliability.value(a.reliability.storage_parameter()).log_sd <= 0;
  std::string text = fmt::format("\nRecommended: {}, {}\n", cluster_words(p), a.result.reason);
  text += fmt::format("  strategy    {}\n", grammar(a.job, p));
  text += fmt::format("  step        {} s, 90 % between {} and {}\n", figure(p.plan->report.step.value),
                      figure(p.plan->report.low.value), figure(p.plan->report.high.value));
  if (const std::string network = network_words(*p.plan); !network.empty())
    text += fmt::format("  network     {}\n", network);
  text += fmt::format("  failures    one in {} on average; a recovery takes {}\n", duration(g.model.mtbf),
                      duration(g.model.mean_recovery()));
  text += fmt::format(
      "  checkpoint  {:.0f} GB at {} GB/s{}\n"
      "              stops training for {}; every {} steps or {} (Young {}, Daly {})\n",
      p.run.checkpoint.value / 1e9, figure(a.reliability.storage(p.nodes).value / 1e9),
      known ? "" : ", uncertain; state yours with --storage-gb-per-second", duration(g.model.stall),
      grouped(g.every_steps), duration(g.interval), duration(g.young), duration(g.daly));
  text += fmt::format("  goodput     {:.2f} %, 90 % between {:.2f} and {:.2f}; uptime {:.2f} %\n",
                      100 * g.goodput, 100 * g.goodput_90.low, 100 * g.goodput_90.high, 100 * g.uptime);
  if (p.plan->works)
    text += fmt::format("  works       {} likely: it fits{} and runs\n", probability_text(*p.plan->works),
                        p.plan->graph.is_limited() ? ", compiles" : "");
  text += run_text(p.run, run_question(a.question));
  if (a.result.surer >= 0) {
    const WhatIfPoint& surer = a.result.points[static_cast<std::size_t>(a.result.surer)];
    text += fmt::format("  safer       {}: if it works, 90 % likely to keep {}: {}\n", cluster_words(surer),
                        a.question.deadline ? "the deadline" : "the budget",
                        run_line(surer.run, run_question(a.question)));
  }
  if (!p.remark.empty()) text += fmt::format("  note        {}\n", p.remark);
  return text + bill_text(a, p);
}

/// Comparison of the types: current and break-even price of a node.
std::string standings_text(const WhatIfAnswer& a, int width) {
  if (a.result.standings.size() < 2) return "";
  Table table({{"type", true},
               {"nodes"},
               {"USD/billion tokens"},
               {"cheapest %"},
               {"in time, works %", false, 2},
               {"USD/h a node"},
               {"break-even"}},
              "", 0);
  std::string prices;
  for (const planner::InstanceStanding& s : a.result.standings) {
    const WhatIfPoint& p = a.result.points[static_cast<std::size_t>(s.point)];
    const auto usd = planner::usd_per_gigatoken(p.run, a.question.tokens);
    table.row({printable(s.instance), fmt::to_string(p.nodes), usd ? grouped(*usd) : "-",
               s.price ? fmt::format("{:.0f}", 100 * s.cheapest) : "-",
               a.question.deadline ? fmt::format("{:.0f}", 100 * p.run.probability_in_time()) : "-",
               s.price ? fmt::format("{:.2f}", s.price->usd_per_hour) : "none",
               s.break_even ? fmt::format("{:.2f}", *s.break_even) : "-"});
    if (s.price && !s.price->source.empty()) {
      prices += entry("", fmt::format("{}: {}, {}; {}", s.instance, planner::basis_of(*s.price),
                                      planner::terms_of(*s.price), s.price->source));
    } else if (!s.price) {
      const std::string even =
          s.break_even
              ? fmt::format("; below {:.2f} USD/h per node its tokens are the cheapest", *s.break_even)
              : "";
      prices += entry("", fmt::format("{}: {}{}", s.instance, why_unpriced(a, s.instance), even));
    }
  }
  return "\nTypes\n" + table.text(width) +
         "break-even: USD per node and hour at which its tokens cost as much as those of the cheapest other "
         "type\n" +
         "Prices\n" + prices;
}

std::string more(const WhatIfAnswer& a) {
  return a.details ? "; --format json" : "; --details; --format json";
}

}  // namespace

std::string none_text(const WhatIfAnswer& a) {
  std::string text = "None recommended: " + a.result.reason + "\n";
  if (a.result.would_do) {
    const WhatIfPoint& p = *a.result.would_do;
    text += fmt::format("  enough      --nodes {}: {} x {}, {}\n", p.nodes, p.nodes, printable(p.instance),
                        run_line(p.run, run_question(a.question)));
  }
  if (a.result.reaches) {
    const WhatIfPoint& p = *a.result.reaches;
    WhatIfQuestion q = a.question;
    q.tokens = 0;
    text += fmt::format("  reached     on {}: {}\n", cluster_words(p), run_line(p.run, run_question(q)));
  }
  for (const planner::WhatHelps& h : a.result.helps) {
    text += fmt::format("  {:<11} {}: {} x {} {:.0f} % likely{}\n",
                        &h == &a.result.helps.front() ? "would help" : "", h.option, h.nodes,
                        printable(h.instance), 100 * h.probability,
                        h.usd ? fmt::format(", {} USD if all goes as expected", grouped(*h.usd)) : "");
  }
  if (!tells_fixes(a)) return text;
  std::vector<std::string> fixes;
  for (const WhatIfPoint& p : a.result.points)
    if (!p.fix.empty() && std::find(fixes.begin(), fixes.end(), p.fix) == fixes.end()) fixes.push_back(p.fix);
  for (const std::string& fix : fixes) text += "  fix         " + fix + "\n";
  return text;
}

std::string next_text(const WhatIfAnswer& a) {
  const int best = a.result.recommended;
  const WhatIfPoint* p = best >= 0 ? &a.result.points[static_cast<std::size_t>(best)] : nullptr;
  if (p == nullptr && a.result.would_do) p = &*a.result.would_do;
  if (p == nullptr) {
    const int likeliest = a.result.likeliest;
    const double works = likeliest < 0 ? 1 : a.result.points[static_cast<std::size_t>(likeliest)].run.works;
    if (a.question.confidence && works < *a.question.confidence && a.result.helps.empty())
      return entry(
          "Next",
          fmt::format("other --instances (all: every type), or --confidence {:.0f}% and less: no time "
                      "or money makes the plan work more probably",
                      std::floor(100 * works)) +
              more(a));
    return entry(
        "Next",
        "other --instances (all: every type) or --nodes, fewer --tokens, or more time or money" + more(a));
  }
  const std::string command = command_text(a.next);
  if (!a.question.scenario.empty()) return entry("Next", command + " shows it" + more(a));
  const auto& types = a.question.instances;
  if (std::any_of(types.begin(), types.end(), [](const auto& i) { return !i.changes.empty(); }))
    return entry("Next", command + " shows it" + more(a));
  if (!p->target)
    return entry("Next", command + " shows it; no config is written for it, for the reason above" + more(a));
  return entry("Next", command + " shows it, and writes its config and scripts with --out DIR" + more(a));
}

std::string question_text(const WhatIfAnswer& a) {
  const WhatIfQuestion& q = a.question;
  const bool strong = q.scaling == planner::Scaling::strong;
  std::string changed;
  for (const topology::Instance& i : q.instances)
    if (!i.changes.empty()) changed += fmt::format("hardware: {}\n", printable(i.shown_name()));
  if (!q.scenario.empty()) changed += fmt::format("scenario: {}\n", printable(q.scenario));
  return fmt::format(
      "{}, sequence {}, {}, {}; {} recovery, {}synchronous checkpoints, reliability \"{}\"\n{}",
      printable(a.job.architecture.name), a.job.training.sequence,
      q.asks_for_tokens() ? "as many tokens as the limits allow" : count_text(q.tokens) + " tokens",
      strong ? fmt::format("global batch {}", a.job.training.global_batch)
             : fmt::format("a global batch of {} on {}, in proportion on others", a.job.training.global_batch,
                           counted(a.job.cluster.nodes, "node")),
      q.recovery == planner::Recovery::automatic ? "automatic" : "manual", q.asynchronous ? "a" : "",
      printable(a.reliability.name), changed);
}

std::string whatif_text(const WhatIfAnswer& a, int width) {
  if (!a.details) return short_whatif_text(a, width);
  if (a.result.recommended < 0)
    return question_text(a) + none_text(a) + standings_text(a, width) + tables(a, width) + "\n" +
           next_text(a);
  const WhatIfPoint& best = a.result.points[static_cast<std::size_t>(a.result.recommended)];
  return question_text(a) +
         fmt::format("{}: {}\n", cluster_words(best), run_line(best.run, run_question(a.question))) +
         (a.result.standings.size() > 1 ? a.result.because + "\n" : "") + standings_text(a, width) +
         tables(a, width) + recommended_text(a, best) + "\n" + next_text(a);
}

}  // namespace trnplan::cli
