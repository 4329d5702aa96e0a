// The algorithms of the Neuron runtime, one file each. models/collective/collective_algorithm.h gives their
// messages and costs.
//
// To add one that gathers inside a node, write a file like neuron_kangaring.cpp and, below, its declaration,
// its name and a row in kLocalAlgorithms. It can then be requested; neuron_runtime.cpp decides when the
// runtime takes it by itself.
#pragma once

#include <string_view>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/collective/group_members.h"

namespace trnplan::models::neuron {

inline constexpr Algorithm ring{"ring"}, kangaring{"kangaring"}, mesh{"mesh"}, halving_doubling{"rdh"},
    torus{"torus"}, hierarchical{"hierarchical"}, flat_ring{"flat-ring"}, one_step{"one-step"};

/// Stages of an all-gather of `gathered` bytes inside each node, in its order; with `reduce`, the messages of
/// the reduce-scatter that is its reverse. Requires: two local members or more.
using LocalStages = std::vector<Stage>(const GroupMembers& group, double gathered, bool reduce);
LocalStages ring_stages, kangaring_stages, mesh_stages, halving_doubling_stages, torus_stages;

/// True if an algorithm can run on the group.
using CanRun = bool(const GroupMembers& group);
CanRun kangaring_can_run, halving_doubling_can_run, torus_can_run;

/// Stages of an all-gather of `gathered` bytes over the nodes, each local member with its counterparts: by
/// mesh or halving-doubling, else by a ring. In the order of an all-gather. Requires: two nodes or more.
[[nodiscard]] std::vector<Stage> stages_between(Algorithm algorithm, const GroupShape& shape, double gathered,
                                                bool reduce);

/// An algorithm for the inside of a node.
struct LocalAlgorithm {
  Algorithm algorithm;
  LocalStages* stages;
  CanRun* can_run = nullptr;  ///< null: always
  std::string_view needs;     ///< its requirement, as a sentence
};

inline constexpr LocalAlgorithm kLocalAlgorithms[] = {
    {ring, ring_stages, nullptr, ""},
    {kangaring, kangaring_stages, kangaring_can_run, "it needs every core of two chips or more"},
    {mesh, mesh_stages, nullptr, ""},
    {halving_doubling, halving_doubling_stages, halving_doubling_can_run,
     "it needs a power of two of ranks on each node, the same number on each of their chips"},
    {torus, torus_stages, torus_can_run,
     "it needs exactly one rank on every chip of a node, and chips in a plain torus"},
};

}  // namespace trnplan::models::neuron
