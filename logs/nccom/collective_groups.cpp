#include "logs/nccom/collective_groups.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "logs/nccom/bounds.h"
#include "logs/training/step_log.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kGroups = 100'000;

}  // namespace

std::string operation_name(std::string_view printed) {
  // Letters only: AllGather, all_gather and _allgather_base are one operation.
  std::string plain;
  for (const char c : printed.substr(0, 64)) {
    if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') plain += c;
  }
  if (plain.ends_with("base")) plain.resize(plain.size() - 4);
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"allreduce", "all_reduce"},
      {"allgather", "all_gather"},
      {"allgatherintotensor", "all_gather"},
      {"reducescatter", "reduce_scatter"},
      {"reducescattertensor", "reduce_scatter"},
      {"alltoall", "all_to_all"},
      {"alltoallv", "all_to_all_v"},
      {"permute", "permute"},
      {"collectivepermute", "permute"},
      {"sendrecv", "send_recv"},
      {"allreducecoalesced", "all_reduce"}};
  for (const auto& [name, op] : kNames) {
    if (plain == name) return std::string(op);
  }
  return printable(printed, 60);
}

double torch_scalar_bytes(std::string_view type) {
  static constexpr std::pair<std::string_view, int> kTypes[] = {
      {"Float", 4}, {"Double", 8}, {"Half", 2},  {"BFloat16", 2}, {"Byte", 1},
      {"Char", 1},  {"Bool", 1},   {"Short", 2}, {"Int", 4},      {"Long", 8}};
  for (const auto& [name, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  return type.starts_with("Float8") ? 1 : 0;
}

int first_group_size(std::string_view text) {
  const std::size_t start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) return 0;
  const std::string_view group = text.substr(start, text.find(']', start) - start);
  if (group.find("..") != std::string_view::npos) return 0;
  const auto ranks = std::count(group.begin(), group.end(), ',') + 1;
  return static_cast<int>(std::min<std::ptrdiff_t>(ranks, kRanksMost));
}

bool CollectiveGroups::add(const TimedOperation& o, const SourcePos& at) {
  if (!(o.bytes > 0) || o.bytes > kBytesMost || !(o.seconds > 0) || o.seconds > kSecondsMost || o.ranks < 0 ||
      o.ranks > kRanksMost) {
    return false;
  }
  const Key key{operation_name(o.op), printable(o.type, 20), o.ranks, printable(o.algorithm, 40), o.bytes};
  const auto found = groups_.find(key);
  if (found == groups_.end()) {
    if (groups_.size() == kGroups) return false;
    groups_.emplace(key, Group{.at = at, .least = o.seconds}).first->second.take(o.seconds);
  } else {
    found->second.take(o.seconds);
  }
  return true;
}

void CollectiveGroups::Group::take(double seconds) {
  least = std::min(least, seconds);
  const std::size_t index = count++;
  if (index % stride != 0) return;
  if (kept.size() == kKept) {
    for (std::size_t i = 0; i < kKept / 2; ++i) kept[i] = kept[2 * i];
    kept.resize(kKept / 2);
    stride *= 2;
    if (index % stride != 0) return;
  }
  kept.push_back(seconds);
}

void CollectiveGroups::finish(Samples& out) {
  for (auto& [key, group] : groups_) {
    CollectiveSample s;
    std::tie(s.op, s.type, s.ranks, s.algorithm, s.bytes) = key;
    s.at = group.at;
    constexpr std::size_t kMost = std::numeric_limits<int>::max();
    s.count = static_cast<int>(std::min(group.count, kMost));
    s.seconds = group.least;
    std::vector<std::pair<double, double>> values;
    for (const double seconds : group.kept) values.emplace_back(seconds, 1);
    s.median_seconds = weighted_median(std::move(values));
    out.collectives.push_back(std::move(s));
  }
  groups_.clear();
}

}  // namespace trnplan::logs
