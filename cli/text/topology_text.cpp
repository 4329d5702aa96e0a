#include "cli/text/text.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

namespace {

/// "0-1-2-3", with an open end after `most` chips.
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
  const bool gpus = instance.traits.accelerator == topology::Accelerator::gpu;
  const std::string_view nic = gpus ? "NIC" : "EFA device";
  if (instance.nics == 0) return fmt::format("  no {}: one node alone\n", nic);
  const double gigabits = instance.nic.value * 8 / 1e9;
  std::string text = fmt::format("  {} {}s of {:.0f} Gbit/s each way: {:.0f} Gbit/s a node\n", instance.nics,
                                 nic, gigabits, gigabits * instance.nics);
  std::vector<std::vector<int>> chips(static_cast<std::size_t>(instance.nics));
  for (int c = 0; c < instance.chips; ++c)
    chips[static_cast<std::size_t>(instance.nic_of_chip[static_cast<std::size_t>(c)])].push_back(c);
  const bool one_each = std::all_of(chips.begin(), chips.end(), [&](const std::vector<int>& of) {
    return of.size() == 1 && of.front() == &of - chips.data();
  });
  const std::string_view chip = topology::chip_word(instance),
                         core = topology::device_word(instance.traits.accelerator);
  const char* device = gpus ? "NIC" : "device";
  const auto held = [&](std::size_t count) {
    return chip == core
               ? std::string()
               : fmt::format(" ({} {}s)", count * static_cast<std::size_t>(instance.cores_per_chip), core);
  };
  if (one_each) return text + fmt::format("    {} n serves {} n{}\n", device, chip, held(1));
  for (std::size_t n = 0; n < chips.size(); ++n) {
    text += fmt::format("    {} {} serves {}{} {}{}\n", device, n, chip, chips[n].size() == 1 ? "" : "s",
                        fmt::join(chips[n], ", "), held(chips[n].size()));
  }
  return text;
}

std::string node_text(const topology::Cluster& cluster, const topology::ChipGraph& graph) {
  const topology::Instance& instance = cluster.instance;
  std::vector<int> all(static_cast<std::size_t>(instance.chips));
  std::iota(all.begin(), all.end(), 0);
  const std::string drawn = topology::draw_switch(instance);
  const std::string_view chip = topology::chip_word(instance),
                         device = topology::device_word(instance.traits.accelerator);
  const std::string head =
      fmt::format("{} x {}: {} {}{}{}, {} links a node\n", cluster.nodes, instance.name, instance.chips, chip,
                  instance.chips == 1 ? "" : "s",
                  chip == device ? std::string() : fmt::format(", {} {}s", instance.cores(), device),
                  instance.links.size());
  if (!drawn.empty()) {
    const double node = instance.nic.value * 8 / 1e9 * instance.nics;
    return head + drawn +
           fmt::format("  {} NICs: {:.0f} Gbit/s a node, {}\n", instance.nics, node,
                       instance.oversubscription > 1
                           ? fmt::format("{:g} times what the network carries", instance.oversubscription)
                           : "non-blocking, as far as is known");
  }
  return head + links_text(instance) + nics_text(instance) +
         rings_text(graph.disjoint_rings(all), fmt::format("  all {}s together: ", chip).c_str());
}

}  // namespace

namespace {

/// Verdict and its basis: each kind of group with its rings, and the offending group.
std::string groups_text(const topology::ChipGraph& graph, const topology::PlacementVerdict& verdict,
                        std::string_view chip) {
  using topology::Verdict;
  if (verdict.groups.empty()) return "";
  std::string text = fmt::format("verdict: {}\n", topology::to_string(verdict.overall));
  for (const topology::KindVerdict& k : topology::by_kind(graph, verdict)) {
    const bool alike = k.worst.nodes > 1 && !k.worst.rule.starts_with("unequal") &&
                       k.worst.rule != "no-efa" && k.worst.rule != "one-rank";
    text += fmt::format("  {:<2} {} groups of {}: {} ({}: {}{})\n", upper(topology::to_string(k.kind)),
                        k.groups, k.ranks, topology::to_string(k.worst.verdict), k.worst.rule,
                        k.worst.message, alike ? fmt::format(", on each of {} nodes", k.worst.nodes) : "");
    if (k.kind != topology::GroupKind::pipeline) text += rings_text(k.rings, "     ");
    if (k.worst.verdict != Verdict::supported) text += fmt::format("     source: {}\n", k.worst.source);
  }
  if (!verdict.offending) return text;
  constexpr std::size_t kRanksShown = 16;
  std::vector<int> ranks = verdict.offending->ranks;
  const bool more = ranks.size() > kRanksShown;
  ranks.resize(std::min(ranks.size(), kRanksShown));
  return text + fmt::format("  offending {} group: ranks {}{}, {}s {}\n",
                            upper(topology::to_string(verdict.offending->kind)), fmt::join(ranks, ", "),
                            more ? ", ..." : "", chip, topology::number_list(verdict.offending->chips));
}

}  // namespace

std::string topology_text(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                          const topology::PlacementVerdict& verdict, const std::string& advice) {
  std::string text = groups_text(graph, verdict, topology::chip_word(cluster.instance)) + advice;
  const std::string drawing = topology::draw_torus(
      cluster.instance, verdict.offending ? verdict.offending->chips : std::vector<int>{});
  if (!drawing.empty()) text += (text.empty() ? "" : "\n") + drawing;
  return text + (text.empty() ? "" : "\n") + node_text(cluster, graph);
}

}  // namespace trnplan::cli
