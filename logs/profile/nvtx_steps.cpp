#include "logs/profile/nvtx_steps.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "logs/nccom/bounds.h"
#include "logs/training/step_log.h"
#include "text/diagnostic.h"
#include "text/log_lines.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kKinds = 256, kRangesKept = 1'000'000, kNameBytes = 120;
constexpr double kCovers = 0.5;
constexpr std::string_view kDigits = "0123456789";

bool says_step(std::string_view name) {
  std::string small(name);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small.find("step") != std::string::npos || small.find("iter") != std::string::npos;
}

}  // namespace

std::optional<StepRangeName> step_range_name(std::string_view name) {
  name = name.substr(0, kNameBytes);
  if (!says_step(name)) return std::nullopt;
  StepRangeName out;
  int numbers = 0;
  while (!name.empty()) {
    const std::size_t digits = std::min(name.find_first_of(kDigits), name.size());
    out.kind += printable(name.substr(0, digits), kNameBytes);
    name.remove_prefix(digits);
    if (name.empty()) break;
    const std::size_t length = std::min(name.find_first_not_of(kDigits), name.size());
    out.number = ++numbers == 1 ? whole_number_of(name.substr(0, length)) : std::nullopt;
    out.kind += '#';
    name.remove_prefix(length);
  }
  return out;
}

void NvtxSteps::add(const StepRangeName& name, std::int64_t thread, std::int64_t start, std::int64_t end) {
  if (ranges_ == kRangesKept) return;
  std::pair key(name.kind, thread);
  auto found = kinds_.find(key);
  if (found == kinds_.end()) {
    if (kinds_.size() == kKinds) return;
    found = kinds_.emplace(std::move(key), std::vector<Range>()).first;
  }
  ++ranges_;
  found->second.push_back({start, end, name.number});
}

void NvtxSteps::choose() {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (auto& [key, ranges] : kinds_) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
    if (ranges.size() < 2) continue;
    first = std::min(first, ranges.front().start);
    last = std::max(last, ranges.back().end);
  }
  const auto rank = [](const std::vector<Range>& ranges) {
    double seconds = 0;
    for (const Range& r : ranges) seconds += static_cast<double>(r.end - r.start) * kNano;
    return std::tuple(-static_cast<double>(ranges.size()), seconds);
  };
  for (auto& [key, ranges] : kinds_) {
    if (ranges.size() < 2) continue;
    double lasting = 0;
    for (const Range& r : ranges) lasting += static_cast<double>(r.end - r.start);
    if (lasting < kCovers * static_cast<double>(last - first)) continue;
    if (!steps_.empty() && rank(ranges) <= rank(steps_)) continue;
    chosen_ = key.first;
    steps_ = ranges;
  }
  kinds_.clear();
}

bool NvtxSteps::numbered() const {
  return std::adjacent_find(steps_.begin(), steps_.end(), [](const Range& a, const Range& b) {
           return !a.number || !b.number || *a.number >= *b.number;
         }) == steps_.end();
}

std::optional<NvtxSteps::Window> NvtxSteps::window() const {
  if (steps_.size() < 2) return std::nullopt;
  // The first step may hold compiling, the choice of kernels and growth of memory.
  const Range& from = steps_.size() > 2 ? steps_[1] : steps_[0];
  if (steps_.back().start <= from.start) return std::nullopt;
  auto steps = static_cast<std::int64_t>(&steps_.back() - &from);
  if (numbered()) steps = *steps_.back().number - *from.number;  // ranges may be left out
  return Window{from.start, steps_.back().start,
                static_cast<int>(std::min<std::int64_t>(steps, std::numeric_limits<int>::max()))};
}

void NvtxSteps::finish(const std::string& file, Samples& out) const {
  if (steps_.size() < 2) return;
  const bool numbered = this->numbered();
  StepLog log({"Nsight Systems trace", "starts of the NVTX ranges \"" + chosen_ + "\""}, file);
  for (std::size_t i = 1; i < steps_.size(); ++i) {
    const Range &from = steps_[i - 1], &to = steps_[i];
    if (to.start == from.start || (numbered && *to.number - *from.number > 1)) continue;
    StepRecord record;
    // Without numbers nothing says that the first is that of the run.
    record.step = numbered ? *from.number : static_cast<std::int64_t>(i) + 1;
    record.seconds = static_cast<double>(to.start - from.start) * kNano;
    log.add(record, out);
  }
  log.finish("", std::nullopt, out);
}

}  // namespace trnplan::logs
