// Work of a GPU's kernel, by its name.
//
// Words: vllm-project/vllm@93e5a576:tools/profiler/nsys_profile_tools/vllm_engine_model.json (gemm, nvjet, flash,
// fmha, attn); names of NCCL's kernels: NVIDIA/nccl@b6475625:src/device/generate.py.
#pragma once

#include <string>
#include <string_view>

namespace trnplan::logs {

enum class KernelWork { other, matmul, attention, collective };
inline constexpr KernelWork kKernelWorks[] = {KernelWork::matmul, KernelWork::attention,
                                              KernelWork::collective, KernelWork::other};
/// "matmul", "attention", "collectives", "other kernels".
[[nodiscard]] std::string_view to_string(KernelWork work);

/// Work by the words of a name, demangled or not.
[[nodiscard]] KernelWork work_of_kernel(std::string_view name);

/// Parts of "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)"; "": not named.
struct NcclKernel {
  std::string op;         ///< AllReduce
  std::string type;       ///< bf16
  std::string algorithm;  ///< RING_LL
};
/// Requires: work_of_kernel() says a collective.
[[nodiscard]] NcclKernel nccl_kernel(std::string_view name);

}  // namespace trnplan::logs
