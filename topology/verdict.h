// Verdicts on whether the Neuron runtime accepts a replica group. They follow from the chip graph, never from
// a list of degrees.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/chip_graph.h"
#include "topology/instance.h"
#include "topology/rank_order.h"

namespace trnplan::topology {

enum class Verdict { supported, doubtful, refused };
std::string_view to_string(Verdict v);

/// The verdict on one replica group.
struct GroupVerdict {
  GroupKind kind = GroupKind::tensor;
  std::vector<int> ranks;  ///< global ranks
  std::vector<int> chips;  ///< chips of the local part (on the first node of the group), ascending
  int nodes = 1;           ///< nodes the group touches
  Verdict verdict = Verdict::supported;
  /// One of: one-rank, one-chip, ring, adjacent-pair, one-per-chip, two-chips, two-hop-pair, two-hop-ring,
  /// unequal-positions, no-ring, not-adjacent, permute, partial-chips, unequal-nodes, no-efa, switch,
  /// not-published.
  std::string rule;
  std::string message;  ///< the finding, with chips and hops
  std::string source;   ///< source of the rule
};

/// The numbers in words: "0 to 15", "0, 4, 8, 12", "0 to 3, 8"; three or more in a row are a range.
std::string number_list(const std::vector<int>& numbers);

/// Judges a group by the instance's rule (Traits::groups). any_group (a switch): all groups are supported
/// where the nodes have a network. not_published: a group that leaves a chip is refused. torus_ring (trn1)
/// and logic2_mesh (trn2) have three verdicts:
///
///  supported  The chips of the group's local part, with all their cores or with one rank each on at most
///             four chips, form a ring of neighbours; or the local part is a single rank, or a pair on
///             adjacent chips. By logic2_mesh also one rank each on more chips, and equal numbers of the
///             cores of each.
///  doubtful   One rank per chip on more than four chips although a ring exists; two chips with several
///             cores; a pipeline pair two hops apart, or on two nodes at different local positions; by
///             logic2_mesh with LNC 2, eight ranks on eight chips in a ring of two-hop steps.
///  refused    Anything else. Across nodes every node must hold the same local cores, and the local part must
///             pass. A context-parallel group passes on by permute, so each rank must also share a chip or a
///             link with the next, inside a node.
///
/// Sources: AWS's documented sets of 2, 8 and 32 ranks and the 8x4 mesh (aws-neuron/aws-neuron-sdk@89a72682,
/// general/arch/neuron-features/collective-communication.rst); "permute: pairs must form a ring with direct
/// physical links" (neuron-runtime/about/collectives.rst); runtime logs of refused groups
/// (huggingface/optimum-neuron issues 424, 619, 761; the TP 16 x DP 2 log of the tutorial "LLM training with
/// AWS Neuronx-distributed-training", 2026-01-17); on trn2 NxD's lists of meshes
/// (aws-neuron/neuronx-distributed@fbac349b,
/// src/neuronx_distributed/parallel_layers/parallel_state.py:341-371). The rule is inferred from these; no
/// source states it as a whole.
GroupVerdict judge(const Cluster& cluster, const ChipGraph& graph, GroupKind kind,
                   const std::vector<int>& ranks);

struct PlacementVerdict {
  Verdict overall = Verdict::supported;   ///< the worst of the groups
  std::optional<GroupVerdict> offending;  ///< the first group with the overall verdict, unless supported
  /// Every group, kinds in the order tp, kv, cp, dp, pp; empty except from judge_all().
  std::vector<GroupVerdict> groups;
};

/// Judges every group of the order and, when KV heads are replicated, the groups of their replicas. Cost:
/// O(ranks); groups that are alike are judged once.
PlacementVerdict judge_all(const Cluster& cluster, const ChipGraph& graph, const RankOrder& order,
                           int kv_replicas = 1);
/// Judges in the same manner without the list of groups, for searches.
PlacementVerdict judge_worst(const Cluster& cluster, const ChipGraph& graph, const RankOrder& order,
                             int kv_replicas = 1);

/// The groups of one kind together.
struct KindVerdict {
  GroupKind kind = GroupKind::tensor;
  int groups = 0;
  int ranks = 0;       ///< in each group
  GroupVerdict worst;  ///< the first group of the worst verdict
  /// Rings without a common link over the chips of a group's local part, of the group that has the fewest.
  /// Empty when the chips form no ring, and for pipeline pairs. One chip is a ring without links.
  std::vector<std::vector<int>> rings;
};

/// The kinds in `verdict.groups`, in its order. Cost: a ring search for each different set of chips.
std::vector<KindVerdict> by_kind(const ChipGraph& graph, const PlacementVerdict& verdict);

/// The torus of rows x columns (4x4 on trn1) as text, with marked chips in brackets. Where the instance joins
/// several, one drawing follows the other. Empty when the instance is not a torus.
std::string draw_torus(const Instance& instance, const std::vector<int>& marked);

/// The chips that a switch joins, with their links to it above and, below, the NICs with the chips and the
/// rail of each. Empty unless there is one switch and each chip has its only link to it. Errors: none.
std::string draw_switch(const Instance& instance);

}  // namespace trnplan::topology
