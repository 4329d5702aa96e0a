#include "logs/profile/kernel_names.h"

#include <algorithm>
#include <cctype>

namespace trnplan::logs {

namespace {

bool has_any(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

}  // namespace

std::string_view to_string(KernelWork work) {
  switch (work) {
    case KernelWork::matmul:
      return "matmul";
    case KernelWork::attention:
      return "attention";
    case KernelWork::collective:
      return "collectives";
    case KernelWork::other:
      break;
  }
  return "other kernels";
}

KernelWork work_of_kernel(std::string_view name) {
  if (name.starts_with("ncclDevKernel") || name.starts_with("ncclKernel")) return KernelWork::collective;
  // Kernels of attention are made of products, and say so.
  if (has_any(name, {"flash", "Flash", "fmha", "sdpa", "attn", "attention"})) return KernelWork::attention;
  if (has_any(name, {"gemm", "Gemm", "GEMM", "nvjet", "matmul", "splitKreduce"})) return KernelWork::matmul;
  return KernelWork::other;
}

NcclKernel nccl_kernel(std::string_view name) {
  NcclKernel kernel;
  name = name.substr(0, name.find('('));
  for (std::size_t at = name.find('_'), part = 0; at != std::string_view::npos; ++part) {
    const std::size_t start = at + 1;
    at = name.find('_', start);
    const std::string_view word = name.substr(start, at == std::string_view::npos ? at : at - start);
    const auto is = [&](int (*kind)(int)) {
      return std::any_of(word.begin(), word.end(), [&](unsigned char c) { return kind(c) != 0; });
    };
    if (part == 0) {
      kernel.op = word;
    } else if (!is(std::islower)) {
      kernel.algorithm += (kernel.algorithm.empty() ? "" : "_") + std::string(word);
    } else if (!is(std::isupper)) {
      kernel.type = word;  // the name of the reduction has both
    }
  }
  return kernel;
}

}  // namespace trnplan::logs
