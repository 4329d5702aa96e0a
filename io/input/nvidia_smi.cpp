#include "io/input/nvidia_smi.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "text/diagnostic.h"
#include "text/lines.h"
#include "text/log_lines.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

constexpr std::string_view kListed = "GPU ", kHeader = "name, memory.total";

/// "GPU 0: NVIDIA H200 (UUID: GPU-...)".
std::optional<GpuListing> listed_gpu(std::string_view line) {
  const std::size_t colon = line.find(": "), end = line.find(" (UUID");
  if (!line.starts_with(kListed) || colon == std::string_view::npos || end == std::string_view::npos ||
      end < colon + 2 || !parse_whole(line.substr(kListed.size(), colon - kListed.size())))
    return std::nullopt;
  return GpuListing{std::string(line.substr(colon + 2, end - colon - 2)), 1};
}

/// "NVIDIA H200, 143771 MiB".
std::optional<GpuListing> row_of_gpu(std::string_view line) {
  const std::size_t comma = line.find(", ");
  if (comma == std::string_view::npos || !line.ends_with(" MiB")) return std::nullopt;
  const auto size = parse_whole(line.substr(comma + 2, line.size() - comma - 6));
  if (!size) return std::nullopt;
  return GpuListing{std::string(line.substr(0, comma)), 1, mebibytes(*size)};
}

/// Memory in the name, "80GB" as a word, which dashes may separate.
Bytes memory_in_name(std::string_view name) {
  for (std::size_t end = name.find("GB"); end != std::string_view::npos; end = name.find("GB", end + 1)) {
    const std::size_t before = name.find_last_not_of("0123456789", end == 0 ? 0 : end - 1);
    const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
    if (const auto size = parse_whole(name.substr(start, end - start))) return Bytes(*size * 1e9);
  }
  return {};
}

bool has_word(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (word.empty() || at == std::string_view::npos) return false;
  const std::size_t end = at + word.size();
  return (at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ' || text[end] == '-');
}

}  // namespace

bool looks_like_nvidia_smi(const std::string& text) {
  return text.starts_with("GPU 0: ") || text.starts_with(kHeader);
}

GpuListing read_nvidia_smi(const std::string& text, const std::string& file) {
  GpuListing all;
  const bool table = text.starts_with(kHeader);
  int number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const std::string_view row = trimmed(line);
    if (row.empty() || (table && number == 1) || row.starts_with("MIG ")) continue;
    const std::optional<GpuListing> one = table ? row_of_gpu(row) : listed_gpu(row);
    if (!one)
      throw InputError(Diagnostic{{file, number, 1},
                                  "",
                                  in_quotes(row) + " is not a line of nvidia-smi about a GPU",
                                  "give the output of nvidia-smi -L as it is"});
    if (all.count > 0 && (one->name != all.name || one->memory != all.memory))
      throw InputError(
          Diagnostic{{file, number, 1},
                     "",
                     fmt::format("{} together with {}", in_quotes(one->name), in_quotes(all.name)),
                     "state the machine: --instance TYPE"});
    const int count = all.count + 1;
    all = *one;
    all.count = count;
  }
  if (all.count == 0)
    throw InputError(Diagnostic{{file, 0, 0}, "", "no GPU is listed", "run nvidia-smi on a node with GPUs"});
  if (all.memory.value <= 0) all.memory = memory_in_name(all.name);
  return all;
}

std::vector<std::string> machines_with(const GpuListing& gpus, const Catalog& catalog) {
  constexpr double kAlike = 0.1;  // a part of the memory is the driver's, and GB are not GiB
  std::vector<std::pair<bool, std::string>> found;
  for (const std::string& name : catalog.instances()) {
    const topology::Instance i = catalog.instance(name);
    const double memory = i.core.memory.value;
    if (i.cores() != gpus.count || !has_word(gpus.name, i.device_name)) continue;
    if (gpus.memory.value > 0 && std::abs(gpus.memory.value / memory - 1) > kAlike) continue;
    found.emplace_back(i.ec2_type.empty(), name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [own, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace trnplan::io
