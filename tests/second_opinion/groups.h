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

/// Every replica group of the strategy, kind by kind in the order of GroupKind. Requires: degrees that multiply to the
/// cluster's cores and, on trn1 with TP 4, form its columns. Cost: O(ranks).
std::vector<Group> groups_on_grid(const topology::Cluster& cluster, const models::Strategy& strategy);

/// On each of them, without a look at those before it but for those that are alike up to their nodes.
std::vector<GroupOpinion> opinions_on(const topology::Cluster& cluster, const std::vector<Group>& groups);

/// The worst of the strategy's replica groups on `cluster`, and which that is. Nodes of more than 64 chips are not
/// looked at: all is fine there.
struct GroupsOpinion {
  GroupOpinion worst = GroupOpinion::fine;
  std::string why;  ///< "DP group of ranks 0, 16: ..."; empty when fine
};
GroupsOpinion groups_by_backtracking(const topology::Cluster& cluster, const models::Strategy& strategy);

}  // namespace trnplan::second_opinion
