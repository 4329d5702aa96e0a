#include "topology/rank_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace trnplan::topology {

std::string_view to_string(GroupKind kind) {
  switch (kind) {
    case GroupKind::tensor:
      return "tp";
    case GroupKind::pipeline:
      return "pp";
    case GroupKind::data:
      return "dp";
    case GroupKind::context:
      return "cp";
    case GroupKind::kv_replicas:
      return "kv";
  }
  return "?";
}

/// A rule is a permutation of the row-major ranks that moves ranks by an `extent`, which cluster and degrees
/// determine. Without an extent the order is row-major. The permutation stays inside blocks that are no
/// larger than a pipeline stage, and is the same in each: kPartsOfBlock extents.
struct RankRule {
  int (*extent)(const Cluster& cluster, const Degrees& degrees);
  int (*rank_of)(int contiguous, int extent);
  int (*contiguous_of)(int rank, int extent);
  /// The reason why the order cannot be formed with that extent, or "".
  std::string (*obstacle)(const Degrees& degrees, int extent);
};

namespace {

constexpr int kPartsOfBlock = 4;

int no_extent(const Cluster&, const Degrees&) {
  return 0;
}

int unmoved(int rank, int) {
  return rank;
}

std::string no_obstacle(const Degrees&, int) {
  return "";
}

constexpr int kColumnOrderDegree = 4;

/// Columns of NxD's TP 4 order: a quarter of an instance's cores.
int columns_for(const Cluster& cluster, const Degrees& d) {
  const int cores = cluster.instance.cores();
  return d.tensor == kColumnOrderDegree && cores > kColumnOrderDegree ? cores / kColumnOrderDegree : 0;
}

int in_column_order(int contiguous, int columns) {
  const int replica = contiguous / kColumnOrderDegree, tensor = contiguous % kColumnOrderDegree;
  return (replica / columns * kColumnOrderDegree + tensor) * columns + replica % columns;
}

int contiguous_of_column_order(int rank, int columns) {
  const int block = rank / (columns * kColumnOrderDegree), tensor = rank / columns % kColumnOrderDegree;
  return (block * columns + rank % columns) * kColumnOrderDegree + tensor;
}

std::string column_obstacle(const Degrees& d, int columns) {
  if ((d.data * d.context) % columns == 0) return "";
  return "NxD's column order for TP 4 needs DP x CP to be a multiple of " + std::to_string(columns) +
         ", not " + std::to_string(d.data * d.context);
}

constexpr int kLogic2Cores = 128;  ///< physical cores of one instance; an UltraServer joins four instances

/// A quarter of an instance's ranks where LOGIC2 applies; else 0.
int quarter_for(const Cluster& cluster, const Degrees& d) {
  if (cluster.instance.core.lnc < 1) return 0;
  const int ranks = kLogic2Cores / cluster.instance.core.lnc;
  const bool whole = ranks % 4 == 0 && cluster.instance.cores() % ranks == 0;
  return whole && d.tensor == ranks / 2 ? ranks / 4 : 0;
}

/// The quarters of an instance in the order 0, 3, 1, 2: LOGIC2 as a map of contiguous ranks.
int in_half_order(int contiguous, int quarter) {
  constexpr int kOrder[] = {0, 3, 1, 2};
  const int in_quarter = contiguous % quarter, number = contiguous / quarter;
  return (number / 4 * 4 + kOrder[number % 4]) * quarter + in_quarter;
}

int contiguous_of_half_order(int rank, int quarter) {
  constexpr int kPlace[] = {0, 2, 3, 1};
  const int in_quarter = rank % quarter, number = rank / quarter;
  return (number / 4 * 4 + kPlace[number % 4]) * quarter + in_quarter;
}

constexpr RankRule kRowMajor{no_extent, unmoved, unmoved, no_obstacle};
constexpr RankRule kColumnsOfFour{columns_for, in_column_order, contiguous_of_column_order, column_obstacle};
constexpr RankRule kHalfInstances{quarter_for, in_half_order, contiguous_of_half_order, no_obstacle};

const RankRule& rule_for(const Cluster& cluster) {
  switch (cluster.instance.traits.rank_order) {
    case RankOrderRule::row_major:
      break;
    case RankOrderRule::columns_of_four:
      return kColumnsOfFour;
    case RankOrderRule::half_instances:
      return kHalfInstances;
  }
  return kRowMajor;
}

}  // namespace

std::string RankOrder::obstacle(const Cluster& cluster, Degrees d) {
  if (d.tensor < 1 || d.context < 1 || d.data < 1 || d.pipeline < 1) return "every degree must be at least 1";
  if (d.world() != cluster.cores()) {
    return "TP " + std::to_string(d.tensor) + " x CP " + std::to_string(d.context) + " x DP " +
           std::to_string(d.data) + " x PP " + std::to_string(d.pipeline) + " is " +
           std::to_string(d.world()) + " ranks, the cluster has " + std::to_string(cluster.cores()) + " " +
           std::string(device_word(cluster.instance.traits.accelerator)) + "s";
  }
  const RankRule& rule = rule_for(cluster);
  const int extent = rule.extent(cluster, d);
  return extent > 0 ? rule.obstacle(d, extent) : "";
}

RankOrder::RankOrder(const Cluster& cluster, Degrees degrees)
    : degrees_(degrees),
      rule_(&rule_for(cluster)),
      extent_(rule_->extent(cluster, degrees)),
      adjacent_copies_(cluster.instance.traits.adjacent_kv_copies) {
  const std::string problem = obstacle(cluster, degrees);
  if (!problem.empty()) throw std::invalid_argument(problem);
}

bool RankOrder::column_order() const {
  return rule_ == &kColumnsOfFour && extent_ > 0;
}

bool RankOrder::half_order() const {
  return rule_ == &kHalfInstances && extent_ > 0;
}

int RankOrder::rank(int pipeline, int data, int context, int tensor) const {
  const Degrees& d = degrees_;
  const int contiguous = ((pipeline * d.data + data) * d.context + context) * d.tensor + tensor;
  return extent_ == 0 ? contiguous : rule_->rank_of(contiguous, extent_);
}

int RankOrder::stage_of(int rank) const {
  const int contiguous = extent_ == 0 ? rank : rule_->contiguous_of(rank, extent_);
  return contiguous / (degrees_.tensor * degrees_.context * degrees_.data);
}

std::vector<std::vector<int>> RankOrder::kv_groups_of(const std::vector<int>& tensor_group,
                                                      int replicas) const {
  std::vector<std::vector<int>> all;
  if (replicas < 2) return all;
  if (!has_kv_groups(replicas)) throw std::invalid_argument("the KV replicas must divide TP");
  const std::size_t sets = static_cast<std::size_t>(degrees_.tensor / replicas);
  const std::size_t copies_of_one = static_cast<std::size_t>(replicas);
  for (std::size_t j = 0; j < sets; ++j) {
    std::vector<int> copies;
    for (std::size_t i = 0; i < copies_of_one; ++i) {
      copies.push_back(tensor_group[adjacent_copies_ ? j * copies_of_one + i : j + i * sets]);
    }
    all.push_back(std::move(copies));
  }
  return all;
}

std::vector<std::vector<int>> RankOrder::kv_groups(int replicas) const {
  return replicas < 2 ? std::vector<std::vector<int>>{} : kv_groups_in(groups(GroupKind::tensor), replicas);
}

std::vector<std::vector<int>> RankOrder::kv_groups_in(const std::vector<std::vector<int>>& tensor_groups,
                                                      int replicas) const {
  std::vector<std::vector<int>> all;
  for (const std::vector<int>& group : tensor_groups) {
    for (std::vector<int>& copies : kv_groups_of(group, replicas)) all.push_back(std::move(copies));
  }
  return all;
}

std::vector<std::vector<int>> RankOrder::groups(GroupKind kind) const {
  return groups_within(kind, std::numeric_limits<int>::max());
}

std::vector<std::vector<int>> RankOrder::distinct_groups(GroupKind kind, int cores) const {
  return groups_within(kind, std::lcm(cores, std::max(1, kPartsOfBlock * extent_)));
}

namespace {

/// Groups by their row-major ranks: in each of `blocks` blocks of `block` ranks one starts at each of the
/// first `starts`, and goes on in strides.
struct Spread {
  int blocks = 0, block = 1, starts = 1, degree = 1, stride = 1;
};

Spread spread_of(GroupKind kind, const Degrees& d) {
  const int replica = d.context * d.tensor, stage = d.data * replica;
  switch (kind) {
    case GroupKind::kv_replicas:
      break;  // needs `replicas`: see kv_groups()
    case GroupKind::tensor:
      return {d.pipeline * d.data * d.context, d.tensor, 1, d.tensor, 1};
    case GroupKind::context:
      return {d.pipeline * d.data, replica, d.tensor, d.context, d.tensor};
    case GroupKind::data:
      return {d.pipeline, stage, replica, d.data, replica};
    case GroupKind::pipeline:
      return {d.pipeline - 1, stage, stage, std::min(2, d.pipeline), stage};
  }
  return {};
}

}  // namespace

/// Groups whose first row-major ranks differ by a multiple of `period`, which is a whole number of blocks of
/// the rule, differ by that shift.
std::vector<std::vector<int>> RankOrder::groups_within(GroupKind kind, int period) const {
  const auto placed = [&](int contiguous) {
    return extent_ == 0 ? contiguous : rule_->rank_of(contiguous, extent_);
  };
  const Spread s = spread_of(kind, degrees_);
  std::vector<std::vector<int>> all;
  if (s.degree < 2) return all;
  const int starts = std::min(s.starts, period);
  for (int b = 0; b < s.blocks && (b == 0 || b * s.block % period != 0); ++b) {
    for (int i = 0; i < starts; ++i) {
      std::vector<int>& group = all.emplace_back();
      group.reserve(static_cast<std::size_t>(s.degree));
      for (int k = 0; k < s.degree; ++k) group.push_back(placed(b * s.block + i + k * s.stride));
    }
  }
  if (kind != GroupKind::pipeline || degrees_.pipeline == 2) return all;
  for (int i = 0; i < starts; ++i) all.push_back({placed(s.blocks * s.block + i), placed(i)});
  return all;
}

}  // namespace trnplan::topology
