#include "launch/health/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "models/collective/collective.h"
#include "units/median.h"

namespace trnplan::launch {

namespace {

/// Key of comparable runs: operation, nodes, ranks, type and bytes.
using Kind = std::tuple<std::string, std::size_t, int, std::string, double>;

Kind kind_of(const logs::NodeTest& t, const logs::NccomRow& row) {
  return {t.table->op, t.nodes.size(), *t.table->ranks, row.type, row.bytes};
}

/// Slowest run of the fastest quarter.
double fastest_quarter(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[(seconds.size() - 1) / 4];
}

io::HealthTest judged(const logs::NodeTest& t, const std::map<Kind, std::vector<double>>& kinds,
                      double factor, const Predict& predict) {
  io::HealthTest out;
  out.nodes = t.nodes;
  out.file = t.at.file;
  out.line = t.at.line;
  out.failure = t.failure;
  out.slow = !out.failure.empty();
  if (out.slow) return out;
  models::CollectiveRun run;
  run.op = *models::collective_op(t.table->op);
  run.ranks = *t.table->ranks;
  std::vector<double> ratios;
  for (const logs::NccomRow& row : t.table->rows) {
    run.bytes = Bytes(row.bytes);
    const Prediction p = predict(static_cast<int>(t.nodes.size()), run, row.at);
    io::HealthRow r{row.bytes, row.seconds, p.seconds, p.seconds_90, std::nullopt, 0};
    double reference = p.seconds_90.second;
    if (const auto& peers = kinds.at(kind_of(t, row)); peers.size() > 1) {
      r.peers = fastest_quarter(peers);
      reference = std::min(reference, *r.peers);
    }
    r.ratio = row.seconds / reference;
    ratios.push_back(r.ratio);
    out.rows.push_back(r);
  }
  out.ratio = median(ratios);
  out.slow = *out.ratio > factor;
  return out;
}

std::string how(const io::HealthTest& t) {
  return t.ratio ? fmt::format("{:.2f} times as long as it should take", *t.ratio) : "failed: " + t.failure;
}

/// Findings on one node.
struct Node {
  const io::HealthTest* alone = nullptr;  ///< the slowest of its runs alone
  std::vector<const io::HealthTest*> pairs;
  bool slow_alone() const { return alone != nullptr && alone->slow; }
  bool slow_in_pairs() const {
    return !pairs.empty() && std::all_of(pairs.begin(), pairs.end(), [](const auto* p) { return p->slow; });
  }
};

bool slower(const io::HealthTest& a, const io::HealthTest* b) {
  if (b == nullptr || !a.ratio) return true;
  return b->ratio && *a.ratio > *b->ratio;
}

std::map<std::string, Node> nodes_of(const std::vector<io::HealthTest>& tests) {
  std::map<std::string, Node> nodes;
  for (const io::HealthTest& t : tests) {
    for (const std::string& name : t.nodes) {
      Node& node = nodes[name];
      if (t.nodes.size() > 1)
        node.pairs.push_back(&t);
      else if (slower(t, node.alone))
        node.alone = &t;
    }
  }
  return nodes;
}

std::string partners_of(const std::string& name, const io::HealthTest& pair) {
  std::string text;
  for (const std::string& other : pair.nodes) {
    if (other != name) text += (text.empty() ? "" : ", ") + other;
  }
  return text;
}

/// True if the node is sound alone, and all nodes it met are named themselves.
bool only_by_partners(const std::string& name, const Node& node, const std::map<std::string, Node>& nodes) {
  if (node.slow_alone() || node.pairs.size() < 2) return false;
  return std::all_of(node.pairs.begin(), node.pairs.end(), [&](const io::HealthTest* pair) {
    return std::any_of(pair->nodes.begin(), pair->nodes.end(), [&](const std::string& other) {
      const Node& partner = nodes.at(other);
      return other != name && (partner.slow_alone() || partner.slow_in_pairs());
    });
  });
}

io::SlowNode named(const std::string& name, const Node& node, const std::map<std::string, Node>& nodes) {
  io::SlowNode out{name, node.slow_alone(), node.slow_in_pairs(), "", "", {}};
  if (out.alone) out.problem = "alone " + how(*node.alone);
  if (out.in_pairs) {
    for (const io::HealthTest* pair : node.pairs) {
      out.problem += (out.problem.empty() ? "" : "; ");
      out.problem += fmt::format("with {} {}", partners_of(name, *pair), how(*pair));
    }
    if (node.pairs.size() == 1)
      out.problem += ", its only pair: this node, the other one, or the path between them is slow";
    if (only_by_partners(name, node, nodes)) out.problem += "; perhaps only because these are slow as well";
  }
  out.fix = out.alone ? "check neuron-ls and the driver's log on it, and replace it"
                      : "check with fi_info -p efa that it has all its EFA devices and is in the placement "
                        "group, and replace it";
  out.command = {"scontrol", "update", "nodename=" + name, "state=drain", "reason=slow"};
  return out;
}

}  // namespace

std::string not_understood(const logs::NodeTest& t) {
  if (!t.table) return t.unread ? t.failure : "";
  if (!models::collective_op(t.table->op)) return "the command above the table names no known operation";
  if (!t.table->ranks) return "the command above the table does not say how many ranks";
  for (const logs::NccomRow& row : t.table->rows) {
    if (!(row.seconds > 0) || !(row.bytes > 0)) return "a size or a time of 0";
  }
  return "";
}

io::HealthReport judge_health(const std::vector<logs::NodeTest>& tests, double factor,
                              const Predict& predict) {
  std::map<Kind, std::vector<double>> kinds;
  for (const logs::NodeTest& t : tests) {
    if (!t.table) continue;
    for (const logs::NccomRow& row : t.table->rows) kinds[kind_of(t, row)].push_back(row.seconds);
  }
  io::HealthReport report;
  report.factor = factor;
  for (const logs::NodeTest& t : tests) {
    report.tests.push_back(judged(t, kinds, factor, predict));
    ++(t.nodes.size() > 1 ? report.pairs : report.alone);
  }
  const std::map<std::string, Node> nodes = nodes_of(report.tests);
  report.nodes = static_cast<int>(nodes.size());
  for (const auto& [name, node] : nodes) {
    if (node.slow_alone() || node.slow_in_pairs()) report.slow.push_back(named(name, node, nodes));
  }
  return report;
}

std::vector<std::vector<std::pair<int, int>>> pair_rounds(int nodes) {
  std::vector<std::vector<std::pair<int, int>>> rounds;
  if (nodes < 2) return rounds;
  if (nodes == 2) return {{{0, 1}}};
  rounds.resize(nodes % 2 == 0 ? 2 : 3);
  for (int i = 0; i + 1 < nodes; ++i) rounds[static_cast<std::size_t>(i % 2)].emplace_back(i, i + 1);
  rounds.back().emplace_back(nodes - 1, 0);
  return rounds;
}

}  // namespace trnplan::launch
