#include "logs/training/compiler_lines.h"
#include "units/quantity.h"

#include <algorithm>
#include <vector>

namespace trnplan::logs {

namespace {

constexpr double kBytesMost = 0x1p50;
constexpr std::size_t kSamples = 1000;

}  // namespace

bool CompilerLines::read(const LogLine& line, Samples& out) {
  MemorySample sample;
  sample.at = {name_, line.number, 1};
  if (const auto code = line.text.find("XCG815"); code != std::string_view::npos) {
    Scan scan(line.text.substr(code));
    std::optional<double> gib;
    if (scan.past("usage (")) gib = scan.number();
    if (!gib || !(*gib > 0) || *gib * kGiB > kBytesMost || !scan.take(")")) {
      out.warnings.add(sample.at, "XCG815", "no peak usage in GiB; the line is left out",
                       "give the line as the compiler printed it");
      return true;
    }
    sample.bytes = *gib * kGiB;
    sample.where = "neuronx-cc XCG815: estimated peak of one graph, too large";
  } else if (line.text.find("NCC_EOOM00") != std::string_view::npos) {
    sample.where = "neuronx-cc NCC_EOOM: a graph too large, by an unknown amount";
  } else {
    return false;
  }
  const auto found = by_bytes_.find(sample.bytes.value_or(0));
  if (found != by_bytes_.end()) {
    ++found->second.count;
  } else if (by_bytes_.size() < kSamples) {
    by_bytes_.emplace(sample.bytes.value_or(0), std::move(sample));
  } else {
    out.warnings.add(sample.at, "XCG815", "too many different usages; the line is left out",
                     "split the file");
  }
  return true;
}

void CompilerLines::finish(Samples& out) {
  std::vector<MemorySample> samples;
  for (auto& [bytes, sample] : by_bytes_) samples.push_back(std::move(sample));
  std::sort(samples.begin(), samples.end(),
            [](const MemorySample& a, const MemorySample& b) { return a.at.line < b.at.line; });
  out.memory.insert(out.memory.end(), samples.begin(), samples.end());
  by_bytes_.clear();
}

}  // namespace trnplan::logs
