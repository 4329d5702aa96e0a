// Replica groups by a grid of ranks, rings by backtracking over sets of chips.
#pragma once

#include <string>
#include <vector>

#include "models/job/strategy.h"
#include "topology/instance.h"

namespace trnplan::second_opinion {

enum class GroupKind { tensor, copies, context, data, pipeline };
enum class GroupOpinion { fine, doubtful, refused };

struct Group {
  GroupKind kind = GroupKind::tensor;
  std::vector<int> ranks;
};

/// Every replica group of the strategy, kind by kind in the order of GroupKind. Requires: the product of the
/// degrees equals the cluster's cores and, on trn1 with TP 4, they form its columns. Cost: O(ranks).
std::vector<Group> groups_on_grid(const topology::Cluster& cluster, const models::Strategy& strategy);

/// Opinion on each group. Groups that are equal up to their nodes share one; otherwise each is judged alone.
std::vector<GroupOpinion> opinions_on(const topology::Cluster& cluster, const std::vector<Group>& groups);

/// The worst of the strategy's replica groups on `cluster`. Nodes of more than 64 chips are not checked:
/// every group there counts as fine.
struct GroupsOpinion {
  GroupOpinion worst = GroupOpinion::fine;
  std::string why;  ///< "DP group of ranks 0, 16: ..."; empty if fine
};
GroupsOpinion groups_by_backtracking(const topology::Cluster& cluster, const models::Strategy& strategy);

}  // namespace trnplan::second_opinion
