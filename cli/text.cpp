#include "cli/text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "units/diagnostic.h"

namespace trnplan::cli {

using planner::Plan;

std::string seconds_text(Seconds s) {
  const double v = s.value;
  return v >= 1000  ? fmt::format("{:.0f}", v)
         : v >= 100 ? fmt::format("{:.1f}", v)
                    : fmt::format("{:.2f}", v);
}

namespace {

std::string gib(Bytes b) {
  return fmt::format("{:.2f}", in_gibibytes(b));
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

double micro(Seconds s) {
  return s.value * 1e6;
}

/// " (1 GiB)", to four digits; empty below a KiB.
std::string binary_size(Bytes b) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = b.value;
  const char* unit = nullptr;
  for (const char* next : kUnits) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return unit == nullptr ? "" : fmt::format(" ({:.4g} {})", value, unit);
}

/// Columns to the right under their headers, as wide as their widest cell, four spaces before each; `ends`,
/// when given, end the lines.
std::string aligned(const std::vector<std::vector<std::string>>& lines,
                    const std::vector<std::string>& ends = {}) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += fmt::format("    {:>{}}", lines[row][i], widths[i]);
    }
    text += ends.empty() ? "\n" : "    " + ends[row] + "\n";
  }
  return text;
}

constexpr double kTight = 0.05;  ///< share of a core's memory below which the room left is worth a word

}  // namespace

namespace {

std::string batch_text(const models::Job& job) {
  const models::Freedom& f = job.freedom;
  if (f.largest_batch > 0) return fmt::format("{} to {}", f.smallest_batch, f.largest_batch);
  if (f.batch_per_node > 0 && f.nodes.size() > 1) return fmt::format("{} per node", f.batch_per_node);
  return std::to_string(job.training.global_batch);
}

/// "4, 8 or 16", "a or b", "a".
std::string choice(const std::vector<std::string>& of) {
  std::string text;
  for (std::size_t i = 0; i < of.size(); ++i)
    text += (i == 0 ? "" : i + 1 == of.size() ? " or " : ", ") + of[i];
  return text;
}

std::string cluster_text(const models::Job& job) {
  const models::Freedom& f = job.freedom;
  std::vector<std::string> nodes, types;
  for (const int n : f.nodes) nodes.push_back(std::to_string(n));
  for (const topology::Instance& i : f.instances) types.push_back(printable(i.name));
  if (nodes.empty()) nodes.push_back(std::to_string(job.cluster.nodes));
  if (types.empty()) types.push_back(printable(job.cluster.instance.name));
  const bool one = nodes.size() == 1 && types.size() == 1;
  return fmt::format("{} x {}{}", choice(nodes), choice(types),
                     one ? fmt::format(" ({} cores)", job.cluster.cores()) : std::string());
}

}  // namespace

std::string job_line(const models::Job& job) {
  return fmt::format("{}, sequence {}, global batch {}, {}, on {}\n", printable(job.architecture.name),
                     job.training.sequence, batch_text(job),
                     job.freedom.precision ? "any precision" : to_string(job.training.precision),
                     cluster_text(job));
}

namespace {

/// What sets a plan of the table apart besides its strategy.
std::string apart(const Plan& p, const std::vector<Plan>& plans) {
  const auto differ = [&](auto what) {
    return std::any_of(plans.begin(), plans.end(), [&](const Plan& o) { return what(o) != what(p); });
  };
  std::string text;
  if (differ([](const Plan& o) { return o.nodes; }) || differ([](const Plan& o) { return o.instance; }))
    text += fmt::format(", on {} x {}", p.nodes, printable(p.instance));
  if (differ([](const Plan& o) { return o.global_batch; })) text += fmt::format(", batch {}", p.global_batch);
  if (differ([](const Plan& o) { return o.strategy.precision; }))
    text += fmt::format(", {}", to_string(p.strategy.precision));
  return text;
}

}  // namespace

std::string probability_text(double p) {
  if (p > 0.999 && p < 1) return "> 99.9 %";
  if (p > 0 && p < 0.001) return "< 0.1 %";
  return fmt::format("{:.1f} %", 100 * p);
}

namespace {

/// For a column: in whole per cent.
std::string short_probability(double p) {
  if (p > 0.99 && p < 1) return "> 99 %";
  if (p > 0 && p < 0.01) return "< 1 %";
  return fmt::format("{:.0f} %", 100 * p);
}

}  // namespace

std::string plan_table(const std::vector<Plan>& plans,
                       const std::vector<std::optional<double>>& first_is_better) {
  const bool compared = plans.size() > 1 && !first_is_better.empty();
  const auto sure = [&](const std::string& text) { return compared ? fmt::format("  {:>6}", text) : ""; };
  std::string text = fmt::format("{:>3} {:>9}  {:>15}{}  {:>10}  {:>5}  {:>6}  {}\n", "", "step s",
                                 "90 % interval", sure("P(1st)"), "tokens/s", "MFU %", "GiB", "strategy");
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Plan& p = plans[i];
    const auto better = i > 0 && compared ? first_is_better[i - 1] : std::nullopt;
    text += fmt::format("{:>3} {:>9}  {:>15}{}  {:>10.0f}  {:>5.1f}  {:>6.2f}  {}\n", i + 1,
                        seconds_text(p.report.step),
                        seconds_text(p.report.low) + " - " + seconds_text(p.report.high),
                        sure(better ? short_probability(*better) : ""), p.report.tokens_per_second,
                        100 * p.report.mfu, in_gibibytes(p.memory.worst().peak()),
                        describe(p.strategy) + apart(p, plans) + (p.doubts.empty() ? "" : " (doubtful)"));
  }
  return text;
}

namespace {

/// Many lines without their middle, but with the line that must not be missing.
std::string with_gaps(const std::vector<std::string>& lines, std::size_t needed) {
  constexpr std::size_t kMost = 12, kEnds = 4;
  std::string text;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool shown = lines.size() <= kMost || i < kEnds || i + kEnds >= lines.size() || i == needed;
    if (shown && left_out > 0)
      text += fmt::format("      ... {} lines (--format json lists all)\n", left_out);
    left_out = shown ? 0 : left_out + 1;
    if (shown) text += lines[i];
  }
  return text;
}

}  // namespace

std::string memory_table(const models::Memory& memory) {
  std::string text = fmt::format("  {:>7} {:>6} {:>9}  {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7}  {}\n",
                                 "stage", "layers", "in flight", "param", "grad", "optim", "activ", "logits",
                                 "stage.", "runt.", "peak", "at");
  const auto cells = [](const models::StageMemory& m) {
    return fmt::format("{:>6} {:>9}  {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7}  {}", m.layers,
                       m.in_flight, gib(m.parameters), gib(m.gradients), gib(m.optimizer), gib(m.activations),
                       gib(m.logits), gib(m.staging), gib(m.runtime), gib(m.peak()), to_string(m.instant));
  };
  std::vector<std::string> lines;
  std::size_t worst = 0;  // its line
  for (std::size_t i = 0; i < memory.stages.size();) {
    const std::string line = cells(memory.stages[i]);
    std::size_t last = i;
    while (last + 1 < memory.stages.size() && cells(memory.stages[last + 1]) == line) ++last;
    if (&memory.worst() >= &memory.stages[i] && &memory.worst() <= &memory.stages[last]) worst = lines.size();
    lines.push_back(
        fmt::format("  {:>7} {}\n", last == i ? fmt::format("{}", i) : fmt::format("{}-{}", i, last), line));
    i = last + 1;
  }
  text += with_gaps(lines, worst);
  return text + fmt::format("  GiB per core; a core has {:.2f}; fits with probability {}\n",
                            in_gibibytes(memory.limit), probability_text(memory.fit_probability));
}

std::string plan_details(const Plan& p) {
  const models::StepReport& r = p.report;
  const double peak = p.report.mfu > 0 ? r.model_flops.value / r.mfu / 1e12 : 0;
  std::string text =
      fmt::format("  step        {} s, 90 % between {} and {} s; {} micro-batches\n", seconds_text(r.step),
                  seconds_text(r.low), seconds_text(r.high), p.micro_batches);
  text += fmt::format("  throughput  {:.0f} tokens/s\n", r.tokens_per_second);
  text += fmt::format("  6ND         {:.0f} of {:.0f} TFLOPS ({:.1f} %)\n", r.six_n_flops.value / 1e12, peak,
                      100 * r.six_n_flops.value / 1e12 / peak);
  text += fmt::format("  MFU         {:.1f} % ({:.0f} TFLOPS with attention); HFU {:.1f} %\n", 100 * r.mfu,
                      r.model_flops.value / 1e12, 100 * r.hfu);
  text += "  time        ";
  std::string parts;
  for (std::size_t i = 0; i < r.breakdown.size(); ++i) {
    if (r.breakdown[i] / r.step < 5e-4) continue;
    parts += fmt::format("{}{} {} s ({:.1f} %)", parts.empty() ? "" : ", ",
                         to_string(static_cast<models::Category>(i)), seconds_text(r.breakdown[i]),
                         100 * (r.breakdown[i] / r.step));
  }
  text += parts + "\n";
  for (const planner::Violation& v : p.doubts) text += fmt::format("  doubtful    {}\n", v.message);
  if (p.usd_per_hour > 0) {
    text += fmt::format("  price       {:.2f} USD/h on demand, {:.2f} USD per 10^9 tokens\n", p.usd_per_hour,
                        p.usd_per_hour / 3600 / r.tokens_per_second * 1e9);
  }
  if (p.run.value > 0) {
    text += fmt::format("  whole run   {:.0f} days, {:.0f} USD, without failures, checkpoints and restarts\n",
                        p.run.value / 86400, p.usd_per_hour * p.run.value / 3600);
  }
  text += "  memory\n" + memory_table(p.memory);
  const Bytes spare = p.memory.limit - p.memory.worst().peak();
  if (spare.value >= 0 && spare < kTight * p.memory.limit) {
    text += fmt::format("  tight: {} GiB to spare, and the runtime's own share is an estimate\n", gib(spare));
  }
  return text;
}

std::string critical_path(const models::StepReport& r) {
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
    const bool length = resource == models::Resource::latency || resource == models::Resource::launch;
    text += fmt::format("    1 % {} {:<8} changes the step by {:+.3f} %\n", length ? "longer" : "faster",
                        to_string(resource), change);
  }
  return text;
}

std::string comparison(const Plan& winner, const Plan& other) {
  struct Difference {
    std::string_view name;
    double seconds;
  };
  std::vector<Difference> differences;
  for (std::size_t i = 0; i < winner.report.breakdown.size(); ++i) {
    differences.push_back({to_string(static_cast<models::Category>(i)),
                           other.report.breakdown[i].value - winner.report.breakdown[i].value});
  }
  std::stable_sort(differences.begin(), differences.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.seconds) > std::abs(b.seconds);
  });
  std::string text = fmt::format(
      "  against {}: {} s less a step, a factor of {:.2f}\n", describe(other.strategy),
      seconds_text(other.report.step - winner.report.step), other.report.step / winner.report.step);
  std::string parts;
  for (const Difference& d : differences) {
    if (std::abs(d.seconds) < 5e-3 * winner.report.step.value) continue;
    parts += fmt::format("{}{} {}{}", parts.empty() ? "" : ", ", d.name, d.seconds > 0 ? "-" : "+",
                         seconds_text(Seconds(std::abs(d.seconds))));
  }
  return parts.empty() ? text : text + "    the winner's seconds by cause: " + parts + "\n";
}

std::string findings_text(const std::vector<planner::Finding>& findings) {
  std::string text;
  for (const planner::Finding& f : findings) {
    std::string place = printable(f.at.file, 400);
    if (f.at.line > 0) place += fmt::format(":{}:{}", f.at.line, f.at.column);
    text +=
        fmt::format("{}{}{}: {}: {}{}\n", place, place.empty() ? "" : ": ", planner::to_string(f.severity),
                    f.rule, f.key.empty() ? "" : printable(f.key) + ": ", printable(f.message, 2000));
    if (!f.fix.empty()) text += fmt::format("  fix: {}\n", printable(f.fix, 2000));
    if (!f.source.empty()) text += fmt::format("  source: {}\n", printable(f.source, 400));
  }
  return text;
}

namespace {

/// "0-1-2-3", without end after `most` chips.
std::string ring_text(const std::vector<int>& ring) {
  constexpr std::ptrdiff_t kChipsShown = 64;
  const auto shown = std::min(kChipsShown, static_cast<std::ptrdiff_t>(ring.size()));
  return fmt::format("{}{}", fmt::join(ring.begin(), ring.begin() + shown, "-"),
                     shown < static_cast<std::ptrdiff_t>(ring.size()) ? "-..." : "");
}

std::string rings_text(const std::vector<std::vector<int>>& rings, const char* start) {
  if (rings.empty()) return fmt::format("{}no ring\n", start);
  if (rings.front().size() < 2) return "";
  std::string text =
      fmt::format("{}{} ring{}\n", start, rings.size(), rings.size() == 1 ? "" : "s without a common link");
  for (const std::vector<int>& ring : rings) text += fmt::format("       {}\n", ring_text(ring));
  return text;
}

std::string links_text(const topology::Instance& instance) {
  constexpr std::size_t kLinksShown = 128, kInLine = 8;
  const auto vertex = [&](int v) {
    return v < instance.chips ? std::to_string(v) : "s" + std::to_string(v - instance.chips);
  };
  std::vector<BytesPerSecond> rates;
  for (const topology::Link& l : instance.links) {
    const BytesPerSecond rate = instance.rate_of(l);
    if (std::find(rates.begin(), rates.end(), rate) == rates.end()) rates.push_back(rate);
  }
  std::string text;
  for (const BytesPerSecond rate : rates) {
    std::vector<std::string> names;
    for (const topology::Link& l : instance.links) {
      if (instance.rate_of(l) == rate)
        names.push_back(fmt::format("{}-{}", vertex(l.chip_a), vertex(l.chip_b)));
    }
    text += fmt::format("  {} links of {:.1f} GB/s each way\n", names.size(), rate.value / 1e9);
    for (std::size_t i = 0; i < names.size() && i < kLinksShown; ++i)
      text += fmt::format("{}{}{}", i % kInLine == 0 ? "    " : " ", names[i],
                          i % kInLine == kInLine - 1 || i + 1 == names.size() ? "\n" : "");
    if (names.size() > kLinksShown)
      text += fmt::format("    ... and {} more (--format json lists all)\n", names.size() - kLinksShown);
  }
  return text;
}

std::string nics_text(const topology::Instance& instance) {
  if (instance.nics == 0) return "  no EFA device: one node alone\n";
  const double gigabits = instance.nic.value * 8 / 1e9;
  std::string text = fmt::format("  {} EFA devices of {:.0f} Gbit/s each way: {:.0f} Gbit/s a node\n",
                                 instance.nics, gigabits, gigabits * instance.nics);
  std::vector<std::vector<int>> chips(static_cast<std::size_t>(instance.nics));
  for (int c = 0; c < instance.chips; ++c)
    chips[static_cast<std::size_t>(instance.nic_of_chip[static_cast<std::size_t>(c)])].push_back(c);
  const bool one_each = std::all_of(chips.begin(), chips.end(), [&](const std::vector<int>& of) {
    return of.size() == 1 && of.front() == &of - chips.data();
  });
  if (one_each) return text + fmt::format("    device n serves chip n ({} cores)\n", instance.cores_per_chip);
  for (std::size_t n = 0; n < chips.size(); ++n) {
    text += fmt::format("    device {} serves chip{} {} ({} cores)\n", n, chips[n].size() == 1 ? "" : "s",
                        fmt::join(chips[n], ", "),
                        chips[n].size() * static_cast<std::size_t>(instance.cores_per_chip));
  }
  return text;
}

std::string node_text(const topology::Cluster& cluster, const topology::ChipGraph& graph) {
  const topology::Instance& instance = cluster.instance;
  std::vector<int> all(static_cast<std::size_t>(instance.chips));
  std::iota(all.begin(), all.end(), 0);
  return fmt::format("{} x {}: {} chip{}, {} cores, {} links a node\n", cluster.nodes, instance.name,
                     instance.chips, instance.chips == 1 ? "" : "s", instance.cores(),
                     instance.links.size()) +
         links_text(instance) + nics_text(instance) +
         rings_text(graph.disjoint_rings(all), "  all chips together: ");
}

}  // namespace

std::string topology_text(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                          const topology::PlacementVerdict& verdict) {
  using topology::Verdict;
  std::string text = node_text(cluster, graph);
  const std::vector<topology::KindVerdict> kinds = topology::by_kind(graph, verdict);
  if (!kinds.empty()) text += "\n";
  for (const topology::KindVerdict& k : kinds) {
    const bool alike = k.worst.nodes > 1 && !k.worst.rule.starts_with("unequal") &&
                       k.worst.rule != "no-efa" && k.worst.rule != "one-rank";
    text += fmt::format("  {:<2} {} groups of {}: {} ({}: {}{})\n", upper(topology::to_string(k.kind)),
                        k.groups, k.ranks, topology::to_string(k.worst.verdict), k.worst.rule,
                        k.worst.message, alike ? fmt::format(", on each of {} nodes", k.worst.nodes) : "");
    if (k.kind != topology::GroupKind::pipeline) text += rings_text(k.rings, "     ");
    if (k.worst.verdict != Verdict::supported) text += fmt::format("     evidence: {}\n", k.worst.evidence);
  }
  const auto& worst = verdict.offending;
  std::vector<int> marked;
  if (worst) {
    marked = worst->chips;
    constexpr std::size_t kRanksShown = 16;
    std::vector<int> ranks = worst->ranks;
    ranks.resize(std::min(ranks.size(), kRanksShown));
    text +=
        fmt::format("  offending {} group: ranks {}{}, chips {}\n", upper(topology::to_string(worst->kind)),
                    fmt::join(ranks, ", "), worst->ranks.size() > kRanksShown ? ", ..." : "",
                    topology::number_list(worst->chips));
  }
  const std::string drawing = topology::draw_torus(cluster.instance, marked);
  if (!drawing.empty()) text += "\n" + drawing;
  if (!verdict.groups.empty()) text += fmt::format("\nverdict: {}\n", topology::to_string(verdict.overall));
  return text;
}

std::string collective_text(const topology::Cluster& cluster, const std::string& profile,
                            const io::TimedCollective& timed, const std::string& fix) {
  const models::CollectiveTiming& t = timed.timing;
  const std::size_t chips = t.verdict.chips.size() * static_cast<std::size_t>(t.verdict.nodes);
  std::string text =
      fmt::format("{} of {:.0f} byte{}{}, {} rank{} on {} chip{} of {} x {}\n", to_string(timed.run.op),
                  timed.run.bytes.value, timed.run.bytes.value == 1 ? "" : "s", binary_size(timed.run.bytes),
                  timed.run.ranks, timed.run.ranks == 1 ? "" : "s", chips, chips == 1 ? "" : "s",
                  cluster.nodes, printable(cluster.instance.name));
  text += fmt::format("  profile     {}\n", printable(profile));
  const bool has_time = std::isfinite(t.seconds.value);
  if (has_time) {
    text += fmt::format("  algorithm   {}\n", t.algorithm);
    text += fmt::format("  in a graph  {:.2f} us, 90 % between {:.2f} and {:.2f} us: alpha {:.2f} us{}\n",
                        micro(t.seconds), micro(t.seconds_90.low), micro(t.seconds_90.high), micro(t.alpha),
                        t.parts.empty() ? "" : ", then");
    std::vector<std::vector<std::string>> lines = {{"phase", "steps", "latency us", "transfer us"}};
    std::vector<std::string> limits = {"limited by"};
    for (const auto& p : t.parts) {
      lines.push_back({fmt::format("{}", lines.size()), fmt::format("{}", p.steps),
                       fmt::format("{:.2f}", micro(p.latency)), fmt::format("{:.2f}", micro(p.transfer))});
      limits.push_back(p.limit.empty() ? "-" : p.limit);
    }
    if (!t.parts.empty()) text += aligned(lines, limits);
    text += fmt::format("  nccom-test  {:.2f} us, 90 % between {:.2f} and {:.2f} us: host launch {:.2f} us",
                        micro(t.nccom_seconds), micro(t.nccom_seconds_90.low), micro(t.nccom_seconds_90.high),
                        micro(t.host_launch));
    text += t.barrier.value > 0 ? fmt::format(" and barrier {:.2f} us more\n", micro(t.barrier)) : " more\n";
    if (t.algbw > 0) {
      text += fmt::format(
          "  bandwidth   algbw {:.2f} GB/s, busbw {:.2f} GB/s (10^9 bytes/s, time of nccom-test)\n",
          t.algbw / 1e9, t.busbw / 1e9);
    }
  } else {
    text += "  no time     there is no way for its bytes\n";
  }
  text += fmt::format("  group       {} ({}: {})\n", topology::to_string(t.verdict.verdict), t.verdict.rule,
                      t.verdict.message);
  if (t.verdict.verdict != topology::Verdict::supported) {
    text += fmt::format("              evidence: {}\n", t.verdict.evidence);
    if (!fix.empty()) text += fmt::format("              fix: {}\n", fix);
  }
  return text;
}

std::string collective_table(const std::vector<io::TimedCollective>& rows, const CollectiveTable& style) {
  std::vector<std::vector<std::string>> lines = {
      {"size(B)", "count(elems)", "type", "time:avg(us)", "algbw(GB/s)", "busbw(GB/s)"}};
  if (style.algorithm) lines.front().emplace_back("algorithm");
  double sum = 0;
  for (const io::TimedCollective& row : rows) {
    const Seconds time = style.in_graph ? row.timing.seconds : row.timing.nccom_seconds;
    const double algbw = time.value > 0 && row.run.ranks > 1 ? row.run.bytes.value / 1e9 / time.value : 0;
    const double busbw = algbw * models::bus_factor(row.run.op, row.run.ranks);
    sum += busbw;
    lines.push_back({fmt::format("{:.0f}", row.run.bytes.value),
                     fmt::format("{:.0f}", row.run.bytes.value / style.element_bytes), style.type,
                     fmt::format("{:.2f}", micro(time)), fmt::format("{:.2f}", algbw),
                     fmt::format("{:.2f}", busbw)});
    if (style.algorithm) lines.back().push_back(row.timing.algorithm);
  }
  return (style.in_graph ? "# time inside a compiled graph: no host launch, no barrier\n" : "") +
         aligned(lines) +
         fmt::format("Avg bus bandwidth:\t{:.4f}GB/s\n", sum / static_cast<double>(rows.size()));
}

}  // namespace trnplan::cli
