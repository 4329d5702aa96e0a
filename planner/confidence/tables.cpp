#include "planner/confidence/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "models/collective/collective_timing.h"
#include "models/step/collective_use.h"
#include "models/step/step.h"

namespace trnplan::planner {

using models::CollectiveOp;
using models::Parameter;

namespace {

/// Tables end at a size whose time only bandwidth decides, as published ones do.
constexpr double kLargeTable = 0x1p30;
constexpr double kDifference = 1e-3;  ///< of logarithms, for gradients of rows

std::vector<double> sizes_of(const TableRequest& t) {
  std::vector<double> sizes;
  for (double bytes = t.smallest; bytes <= t.largest; bytes *= kTableFactor) sizes.push_back(bytes);
  return sizes;
}

}  // namespace

std::vector<std::string> nccom_command(const TableRequest& t) {
  const auto name = [&] {
    switch (t.op) {
      case CollectiveOp::all_reduce:
        return "allr";
      case CollectiveOp::all_gather:
        return "allg";
      default:
        return "redsct";
    }
  };
  const auto whole = [](double bytes) { return fmt::format("{:.0f}", bytes); };
  return {"nccom-test",
          "-r",
          std::to_string(t.ranks),
          "-N",
          std::to_string(t.nodes),
          "-b",
          whole(t.smallest),
          "-e",
          whole(std::ceil(t.largest)),
          "-f",
          std::to_string(kTableFactor),
          "-d",
          "bf16",
          name()};
}

std::vector<TableRequest> tables_of(const models::Job& job, const Plan& a, const Plan& b,
                                    const models::Profile& profile) {
  std::map<std::tuple<CollectiveOp, int, int>, TableRequest> tables;
  for (const Plan* plan : {&a, &b}) {
    const models::Job on = as_planned(job, *plan);
    const models::StepModel step(on, plan->strategy, profile, topology::ChipGraph(on.cluster.instance));
    for (const models::CollectiveUse& use : models::collectives_of(step)) {
      const bool of_groups = use.op == CollectiveOp::all_reduce || use.op == CollectiveOp::all_gather ||
                             use.op == CollectiveOp::reduce_scatter;
      if (!of_groups || use.ranks % use.nodes != 0) continue;
      const int nodes = std::min(use.nodes, 2), ranks = use.ranks / use.nodes * nodes;
      const double smallest = std::exp2(std::floor(std::log2(std::max(1.0, use.smallest.value))));
      TableRequest& table =
          tables.try_emplace({use.op, nodes, ranks}, TableRequest{use.op, ranks, nodes, smallest, 0})
              .first->second;
      table.smallest = std::min(table.smallest, smallest);
      table.largest = std::max({table.largest, use.largest.value, kLargeTable});
    }
  }
  std::vector<TableRequest> list;
  for (const auto& [key, table] : tables) list.push_back(table);
  return list;
}

std::vector<TableRow> Tables::rows(const TableRequest& t) const {
  const topology::Cluster cluster{instance_, t.nodes};
  const models::CollectiveTimer timer(cluster, graph_, profile_);
  std::vector<TableRow> rows;
  for (const double bytes : sizes_of(t)) {
    const models::CollectiveTiming now = timer.time({t.op, t.ranks, Bytes(bytes)});
    if (now.verdict.verdict == topology::Verdict::refused || !std::isfinite(now.nccom_seconds.value))
      return {};
    rows.emplace_back();
  }
  for (const Parameter p : noise_.parameters) {
    const std::vector<double> more = seconds(cluster, t, p, kDifference);
    const std::vector<double> less = seconds(cluster, t, p, -kDifference);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].gradient.push_back(std::log(more[i] / less[i]) / (2 * kDifference));
  }
  return rows;
}

std::vector<double> Tables::seconds(const topology::Cluster& cluster, const TableRequest& t, Parameter p,
                                    double change) const {
  models::Profile near = profile_;
  near.value(p).median *= std::exp(change);
  const models::CollectiveTimer timer(cluster, graph_, near);
  std::vector<double> all;
  for (const double bytes : sizes_of(t))
    all.push_back(timer.time({t.op, t.ranks, Bytes(bytes)}).nccom_seconds.value);
  return all;
}

}  // namespace trnplan::planner
