// What kind of machine an instance is: what code asks instead of its name. Each instance's file states all of them
// under `traits`, with sources.
#pragma once

#include <compare>
#include <string_view>

namespace trnplan::topology {

/// What computes, and so which model of a device times operators.
enum class Accelerator { neuron_core, gpu };
/// In which order the framework places ranks on devices (topology/rank_order.h).
enum class RankOrderRule { row_major, columns_of_four, half_instances };
/// Which groups of ranks may communicate (topology/verdict.h).
enum class GroupRule { torus_ring, logic2_mesh, any_group, not_published };
/// Which library runs collectives.
enum class CollectiveRuntime { neuron, nccl };

struct Traits {
  Accelerator accelerator = Accelerator::neuron_core;
  RankOrderRule rank_order = RankOrderRule::row_major;
  GroupRule groups = GroupRule::torus_ring;
  CollectiveRuntime collectives = CollectiveRuntime::neuron;
  bool adjacent_kv_copies = false;   ///< copies of a KV head sit on ranks that follow each other
  bool flat_ring = false;            ///< collectives over nodes may run as one ring through all chips
  bool logical_cores = false;        ///< physical cores can be joined: the job must say how (Core::lnc)
  bool step_time = false;            ///< a step's time on it is modelled
  bool runtime_reserve = false;      ///< the profiles' memory of the runtime was found on it
  bool native_pytorch = false;       ///< PyTorch itself runs on it (eager, FSDP2, DTensor), not only NxD
  bool in_switch_reduction = false;  ///< the switch between the chips can reduce (NVLS)
  int sequential_move_factor =
      0;  ///< trainer.sequential_move_factor of NxDT's configs for it; 0: they set none

  auto operator<=>(const Traits&) const = default;
};

/// As the files spell them: "neuron_core", "columns_of_four", "torus_ring", "nccl".
std::string_view to_string(Accelerator a);
std::string_view to_string(RankOrderRule r);
std::string_view to_string(GroupRule r);
std::string_view to_string(CollectiveRuntime r);

/// What people call the device that one rank runs on: "core", "GPU".
std::string_view device_word(Accelerator a);

}  // namespace trnplan::topology
