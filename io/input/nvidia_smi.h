// GPUs of a node in the output of nvidia-smi, and the machines of the catalogue that have them.
#pragma once

#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "units/quantity.h"

namespace trnplan::io {

struct GpuListing {
  std::string name;  ///< of each GPU: "NVIDIA H100 80GB HBM3"
  int count = 0;
  Bytes memory{};  ///< of one; from its name if the listing has none, 0 if the name has none
};

/// True for the output of `nvidia-smi -L` or `nvidia-smi --query-gpu=name,memory.total --format=csv`.
[[nodiscard]] bool looks_like_nvidia_smi(const std::string& text);
/// Reads that output. Throws InputError if a line is neither, no GPU is listed, or they differ. Cost: linear
/// in the text.
[[nodiscard]] GpuListing read_nvidia_smi(const std::string& text, const std::string& file);

/// Types of the catalogue with as many GPUs of that name and memory, those of EC2 first, then by name.
[[nodiscard]] std::vector<std::string> machines_with(const GpuListing& gpus, const Catalog& catalog);

}  // namespace trnplan::io
