#include "topology/rank_order.h"

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

namespace {

constexpr int kColumnOrderDegree = 4;

/// Columns of NxD's TP 4 order on trn1, or 0 where ranks are contiguous.
int columns_for(const Cluster& cluster, const Degrees& d) {
  const int cores = cluster.instance.cores();
  const bool applies = cluster.instance.family == "trn1" && d.tensor == kColumnOrderDegree;
  return applies && cores > kColumnOrderDegree ? cores / kColumnOrderDegree : 0;
}

bool is_trn2(const Cluster& cluster) {
  return cluster.instance.family.starts_with("trn2");
}

constexpr int kTrn2Cores = 128;  ///< physical cores of a trn2 instance; an UltraServer joins four instances

/// A quarter of an instance's ranks where trn2's LOGIC2 applies, else 0.
int quarter_for(const Cluster& cluster, const Degrees& d) {
  if (!is_trn2(cluster) || cluster.instance.core.lnc < 1) return 0;
  const int ranks = kTrn2Cores / cluster.instance.core.lnc;
  const bool whole = ranks % 4 == 0 && cluster.instance.cores() % ranks == 0;
  return whole && d.tensor == ranks / 2 ? ranks / 4 : 0;
}

/// The quarters of an instance in the order 0, 3, 1, 2: LOGIC2 as a map of contiguous ranks.
int in_half_order(int contiguous, int quarter) {
  constexpr int kOrder[] = {0, 3, 1, 2};
  const int in_quarter = contiguous % quarter, number = contiguous / quarter;
  return (number / 4 * 4 + kOrder[number % 4]) * quarter + in_quarter;
}

int contiguous_of(int rank, int quarter) {
  constexpr int kPlace[] = {0, 2, 3, 1};
  const int in_quarter = rank % quarter, number = rank / quarter;
  return (number / 4 * 4 + kPlace[number % 4]) * quarter + in_quarter;
}

}  // namespace

std::string RankOrder::obstacle(const Cluster& cluster, Degrees d) {
  if (d.tensor < 1 || d.context < 1 || d.data < 1 || d.pipeline < 1) return "every degree must be at least 1";
  if (d.world() != cluster.cores()) {
    return "TP " + std::to_string(d.tensor) + " x CP " + std::to_string(d.context) + " x DP " +
           std::to_string(d.data) + " x PP " + std::to_string(d.pipeline) + " is " +
           std::to_string(d.world()) + " ranks, the cluster has " + std::to_string(cluster.cores()) +
           " cores";
  }
  const int columns = columns_for(cluster, d);
  if (columns > 0 && (d.data * d.context) % columns != 0) {
    return "NxD's column order for TP 4 needs DP x CP to be a multiple of " + std::to_string(columns) +
           ", not " + std::to_string(d.data * d.context);
  }
  return "";
}

RankOrder::RankOrder(const Cluster& cluster, Degrees degrees)
    : degrees_(degrees),
      columns_(columns_for(cluster, degrees)),
      quarter_(quarter_for(cluster, degrees)),
      adjacent_copies_(is_trn2(cluster)) {
  const std::string problem = obstacle(cluster, degrees);
  if (!problem.empty()) throw std::invalid_argument(problem);
}

int RankOrder::rank(int pipeline, int data, int context, int tensor) const {
  const Degrees& d = degrees_;
  const int replica = data * d.context + context;
  if (columns_ == 0) {
    const int contiguous = (pipeline * d.data * d.context + replica) * d.tensor + tensor;
    return quarter_ == 0 ? contiguous : in_half_order(contiguous, quarter_);
  }
  const int blocks = d.data * d.context / columns_;
  return ((pipeline * blocks + replica / columns_) * d.tensor + tensor) * columns_ + replica % columns_;
}

int RankOrder::stage_of(int rank) const {
  const int contiguous = quarter_ == 0 ? rank : contiguous_of(rank, quarter_);
  return contiguous / (degrees_.tensor * degrees_.context * degrees_.data);
}

std::vector<std::vector<int>> RankOrder::kv_groups_of(const std::vector<int>& tensor_group,
                                                      int replicas) const {
  std::vector<std::vector<int>> all;
  if (replicas < 2) return all;
  if (degrees_.tensor % replicas != 0) throw std::invalid_argument("the KV replicas must divide TP");
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
  std::vector<std::vector<int>> all;
  if (replicas < 2) return all;
  for (const std::vector<int>& group : groups(GroupKind::tensor)) {
    for (std::vector<int>& copies : kv_groups_of(group, replicas)) all.push_back(std::move(copies));
  }
  return all;
}

std::vector<std::vector<int>> RankOrder::groups(GroupKind kind) const {
  const Degrees& d = degrees_;
  std::vector<std::vector<int>> all;
  const auto collect = [&](int degree, int outer, auto&& member) {
    if (degree < 2) return;
    all.reserve(static_cast<std::size_t>(outer));
    for (int o = 0; o < outer; ++o) {
      std::vector<int>& group = all.emplace_back();
      group.reserve(static_cast<std::size_t>(degree));
      for (int i = 0; i < degree; ++i) group.push_back(member(o, i));
    }
  };
  switch (kind) {
    case GroupKind::kv_replicas:
      break;  // kv_groups() knows how many
    case GroupKind::tensor:
      collect(d.tensor, d.pipeline * d.data * d.context, [&](int o, int i) {
        return rank(o / (d.data * d.context), o / d.context % d.data, o % d.context, i);
      });
      break;
    case GroupKind::context:
      collect(d.context, d.pipeline * d.data * d.tensor, [&](int o, int i) {
        return rank(o / (d.data * d.tensor), o / d.tensor % d.data, i, o % d.tensor);
      });
      break;
    case GroupKind::data:
      collect(d.data, d.pipeline * d.context * d.tensor, [&](int o, int i) {
        return rank(o / (d.context * d.tensor), i, o / d.tensor % d.context, o % d.tensor);
      });
      break;
    case GroupKind::pipeline: {
      const int pairs = d.pipeline > 2 ? d.pipeline : d.pipeline - 1;
      all.reserve(static_cast<std::size_t>(pairs) * static_cast<std::size_t>(d.data * d.context * d.tensor));
      for (int p = 0; p < pairs; ++p) {
        for (int o = 0; o < d.data * d.context * d.tensor; ++o) {
          const int data = o / (d.context * d.tensor), context = o / d.tensor % d.context,
                    tensor = o % d.tensor;
          all.push_back({rank(p, data, context, tensor), rank((p + 1) % d.pipeline, data, context, tensor)});
        }
      }
      break;
    }
  }
  return all;
}

}  // namespace trnplan::topology
