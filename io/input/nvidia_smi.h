// What nvidia-smi printed of the GPUs of a node, and which machines of the catalogue have such ones.
#pragma once

#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "units/quantity.h"

namespace trnplan::io {

struct GpuListing {
  std::string name;  ///< of each of them: "NVIDIA H100 80GB HBM3"
  int count = 0;
  Bytes memory{};  ///< of one; by its name where the listing has none, 0 where that has none
};

/// Whether the text is of `nvidia-smi -L` or `nvidia-smi --query-gpu=name,memory.total --format=csv`.
[[nodiscard]] bool looks_like_nvidia_smi(const std::string& text);
/// Throws InputError where a line is neither, no GPU is listed, or they differ. Cost: linear in the text.
[[nodiscard]] GpuListing read_nvidia_smi(const std::string& text, const std::string& file);

/// Types of the catalogue with as many GPUs of that name and memory, those that EC2 has first, then by name.
[[nodiscard]] std::vector<std::string> machines_with(const GpuListing& gpus, const Catalog& catalog);

}  // namespace trnplan::io
