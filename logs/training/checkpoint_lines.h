// Durations of checkpoints in the words of training frameworks.
//
//   Megatron-LM   save-checkpoint ................................: (81611.24, 81611.82)
//                 ms, the least and the most of all ranks, or one number with --timing-log-option max:
//                 NVIDIA/Megatron-LM@86df799:megatron/core/timers.py
//   TorchTitan    Finished saving the checkpoint in 12.34 seconds.
//                 Some versions add "(or staging if async is enabled)": the part for which the run waits.
//                 pytorch/torchtitan@b5bcd76:torchtitan/components/checkpoint.py
//   NeMo 2        Global Checkpoint Save : Rank: 0 : Iteration: 50 : Start time: 1744408121.151s : Save
//                 duration: 4.389s
//                 NVIDIA/dgxc-benchmarking: README of its recipes
#pragma once

#include <optional>
#include <string_view>

namespace trnplan::logs {

/// Seconds for which the line says that the run saved a checkpoint; nullopt: it is no such line.
[[nodiscard]] std::optional<double> save_seconds(std::string_view line);

}  // namespace trnplan::logs
