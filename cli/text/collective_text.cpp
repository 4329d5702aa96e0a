#include "cli/text/text.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/text/table.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

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

constexpr int kGap = 4;  ///< nccom-test's gap before and between columns

std::string phases_text(const std::vector<models::CollectiveTiming::Part>& parts) {
  Table table({{"phase"}, {"steps"}, {"latency us"}, {"transfer us"}}, "limited by", kGap, kGap);
  for (const models::CollectiveTiming::Part& p : parts) {
    table.row({fmt::format("{}", &p - parts.data() + 1), fmt::format("{}", p.steps),
               fmt::format("{:.2f}", micro(p.latency)), fmt::format("{:.2f}", micro(p.transfer))},
              p.limit.empty() ? "-" : p.limit);
  }
  return table.text();
}

}  // namespace

std::string collective_text(const topology::Cluster& cluster, const std::string& profile,
                            const models::TimedCollective& timed, const std::string& fix) {
  const models::CollectiveTiming& t = timed.timing;
  const std::size_t chips = t.verdict.chips.size() * static_cast<std::size_t>(t.verdict.nodes);
  std::string text = fmt::format(
      "{} of {:.0f} byte{}{}, {} rank{} on {} {}{} of {} x {}\n", to_string(timed.run.op),
      timed.run.bytes.value, timed.run.bytes.value == 1 ? "" : "s", binary_size(timed.run.bytes),
      timed.run.ranks, timed.run.ranks == 1 ? "" : "s", chips, topology::chip_word(cluster.instance),
      chips == 1 ? "" : "s", cluster.nodes, printable(cluster.instance.shown_name()));
  text += fmt::format("  profile     {}\n", printable(profile));
  const bool has_time = std::isfinite(t.seconds.value);
  if (has_time) {
    text += fmt::format("  algorithm   {}\n", t.algorithm);
    text += fmt::format("  in a graph  {:.2f} us, 90 % between {:.2f} and {:.2f} us: alpha {:.2f} us{}\n",
                        micro(t.seconds), micro(t.seconds_90.low), micro(t.seconds_90.high), micro(t.alpha),
                        t.parts.empty() ? "" : ", then");
    if (!t.parts.empty()) text += phases_text(t.parts);
    const std::string_view benchmark = topology::benchmark_word(cluster.instance.traits.collectives);
    text += fmt::format("  {}  {:.2f} us, 90 % between {:.2f} and {:.2f} us: host launch {:.2f} us",
                        benchmark, micro(t.nccom_seconds), micro(t.nccom_seconds_90.low),
                        micro(t.nccom_seconds_90.high), micro(t.host_launch));
    text += t.barrier.value > 0 ? fmt::format(" and barrier {:.2f} us more\n", micro(t.barrier)) : " more\n";
    if (t.algbw > 0) {
      text += fmt::format("  bandwidth   algbw {:.2f} GB/s, busbw {:.2f} GB/s (10^9 bytes/s, time of {})\n",
                          t.algbw / 1e9, t.busbw / 1e9, benchmark);
    }
  } else {
    text += "  no time     there is no path for its bytes\n";
  }
  text += fmt::format("  group       {} ({}: {})\n", topology::to_string(t.verdict.verdict), t.verdict.rule,
                      t.verdict.message);
  if (t.verdict.verdict != topology::Verdict::supported) {
    text += fmt::format("              source: {}\n", t.verdict.source);
    if (!fix.empty()) text += fmt::format("              fix: {}\n", fix);
  }
  return text;
}

std::string collective_table(const std::vector<models::TimedCollective>& rows, const CollectiveTable& style) {
  std::vector<Column> columns = {{"size(B)"},      {"count(elems)"}, {"type"},
                                 {"time:avg(us)"}, {"algbw(GB/s)"},  {"busbw(GB/s)"}};
  if (style.algorithm) columns.push_back({"algorithm"});
  Table table(std::move(columns), "", kGap, kGap);
  double sum = 0;
  for (const models::TimedCollective& row : rows) {
    const Seconds time = style.in_graph ? row.timing.seconds : row.timing.nccom_seconds;
    const double algbw = time.value > 0 && row.run.ranks > 1 ? row.run.bytes.value / 1e9 / time.value : 0;
    const double busbw = algbw * models::bus_factor(row.run.op, row.run.ranks);
    sum += busbw;
    table.row({fmt::format("{:.0f}", row.run.bytes.value),
               fmt::format("{:.0f}", row.run.bytes.value / style.element_bytes), style.type,
               fmt::format("{:.2f}", micro(time)), fmt::format("{:.2f}", algbw), fmt::format("{:.2f}", busbw),
               row.timing.algorithm});
  }
  return (style.in_graph ? "# time inside a compiled graph: no host launch, no barrier\n" : "") +
         table.text() +
         fmt::format("Avg bus bandwidth:\t{:.4f}GB/s\n", sum / static_cast<double>(rows.size()));
}

}  // namespace trnplan::cli
