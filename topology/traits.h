// The traits of an instance, which code asks for instead of its name. Each instance's file states all of them
// under `traits`, with sources.
#pragma once

#include <compare>
#include <string_view>

namespace trnplan::topology {

/// The kind of processor, which selects the model of a device that times operators.
enum class Accelerator { neuron_core, gpu };
/// The order in which the framework places ranks on devices (topology/rank_order.h).
enum class RankOrderRule { row_major, columns_of_four, half_instances };
/// The rule for groups of ranks that may communicate (topology/verdict.h).
enum class GroupRule { torus_ring, logic2_mesh, any_group, not_published };
/// The library that runs collectives.
enum class CollectiveRuntime { neuron, nccl };

struct Traits {
  Accelerator accelerator = Accelerator::neuron_core;
  RankOrderRule rank_order = RankOrderRule::row_major;
  GroupRule groups = GroupRule::torus_ring;
  CollectiveRuntime collectives = CollectiveRuntime::neuron;
  bool adjacent_kv_copies = false;   ///< copies of a KV head are on consecutive ranks
  bool flat_ring = false;            ///< collectives across nodes may run as one ring through all chips
  bool logical_cores = false;        ///< physical cores can be joined: the job must state Core::lnc
  bool step_time = false;            ///< the time of a step on it is modelled
  bool runtime_reserve = false;      ///< the profiles' memory of the runtime was measured on it
  bool native_pytorch = false;       ///< runs PyTorch itself (eager, FSDP2, DTensor), not only NxD
  bool in_switch_reduction = false;  ///< the switch between the chips can reduce (NVLS)
  /// trainer.sequential_move_factor of NxDT's configs for it; 0: they set none.
  int sequential_move_factor = 0;

  auto operator<=>(const Traits&) const = default;
};

/// Spelling in the files: "neuron_core", "columns_of_four", "torus_ring", "nccl".
std::string_view to_string(Accelerator a);
std::string_view to_string(RankOrderRule r);
std::string_view to_string(GroupRule r);
std::string_view to_string(CollectiveRuntime r);

/// The program with which a library's collectives are measured: "nccom-test" or "nccl-tests".
std::string_view benchmark_word(CollectiveRuntime r);
/// The common name of the device that one rank runs on: "core" or "GPU".
std::string_view device_word(Accelerator a);

}  // namespace trnplan::topology
