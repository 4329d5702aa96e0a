#include "logs/profile/nccl_ranges.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "logs/nccom/bounds.h"
#include "logs/profile/kernel_names.h"
#include "text/json_reader.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kCallsKept = 1'000'000, kKernelsKept = 500'000, kTextsKept = 10'000, kTextBytes = 80;
constexpr std::string_view kPrefix = "nccl", kGroupStart = "GroupStart", kGroupEnd = "GroupEnd";

struct Payload {
  std::string communicator;
  double bytes = 0;
  int ranks = 0;
};

Payload payload_of(std::string_view text) {
  Payload p;
  JsonReader json(text);
  json.object([&](std::string_view key) {
    if (key == "NCCL communicator ID") {
      p.communicator = json.peek() == JsonReader::Kind::text ? json.text(kTextBytes)
                                                             : std::string(json.scalar(kTextBytes));
    } else if (key == "Message size [bytes]") {
      p.bytes = json.number().value_or(0);
    } else if (key == "No. of ranks") {
      p.ranks = static_cast<int>(std::clamp<double>(json.number().value_or(0), 0, kRanksMost));
    }
  });
  return p;
}

}  // namespace

bool is_nccl_call(std::string_view name) {
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) && name[kPrefix.size()] >= 'A' &&
         name[kPrefix.size()] <= 'Z';
}

/// Index of a text; -1 if there are too many.
int NcclRanges::index_of(std::map<std::string, int, std::less<>>& all, std::string_view text) {
  text = text.substr(0, kTextBytes);
  const auto found = all.find(text);
  if (found != all.end()) return found->second;
  if (all.size() == kTextsKept) return -1;
  const int index = static_cast<int>(all.size());
  all.emplace(text, index);
  return index;
}

void NcclRanges::add(std::string_view name, std::int64_t thread, std::int64_t start, std::int64_t end,
                     std::string_view payload) {
  if (calls_.size() == kCallsKept) return;
  name.remove_prefix(kPrefix.size());
  const Payload p = payload.empty() ? Payload() : payload_of(payload);
  const int communicator = p.communicator.empty() ? -1 : index_of(communicators_, p.communicator);
  if (p.ranks > 0 && communicator >= 0) ranks_[communicator] = p.ranks;
  const bool sized = p.bytes > 0 && p.bytes <= kBytesMost;
  if (!sized && name != kGroupStart && name != kGroupEnd) return;
  const int op = index_of(ops_, name);
  if (op < 0) return;
  if (static_cast<std::size_t>(op) == op_names_.size()) op_names_.emplace_back(name.substr(0, kTextBytes));
  calls_.push_back({thread, start, end, sized ? p.bytes : 0, op, communicator});
  sizes_ += sized;
}

void NcclRanges::add_kernel(std::int64_t process, std::int64_t correlation, std::string_view name,
                            std::int64_t nanoseconds) {
  ++all_;
  const int index = index_of(names_, name);
  if (index < 0) return;
  if (static_cast<std::size_t>(index) == kernel_names_.size())
    kernel_names_.emplace_back(name.substr(0, kTextBytes));
  const auto found = kernels_.find({process, correlation});
  if (found != kernels_.end()) {
    found->second.unique = false;
  } else if (kernels_.size() < kKernelsKept) {
    kernels_.emplace(Key{process, correlation}, Kernel{nanoseconds, index, true});
  } else {
    ++beyond_;
  }
}

void NcclRanges::sort() {
  std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
    return std::tie(a.thread, a.start) < std::tie(b.thread, b.start);
  });
}

/// The call that launches at a moment: the one around it, or the only one of the group that ends then.
const NcclRanges::Call* NcclRanges::call_at(std::int64_t thread, std::int64_t moment) const {
  auto after = std::upper_bound(calls_.begin(), calls_.end(), std::tuple(thread, moment),
                                [](const std::tuple<std::int64_t, std::int64_t>& at, const Call& call) {
                                  return at < std::tuple(call.thread, call.start);
                                });
  const auto is = [&](auto call, std::string_view name) {
    return call->thread == thread && op_names_[static_cast<std::size_t>(call->op)] == name;
  };
  if (after == calls_.begin()) return nullptr;
  const auto call = after - 1;
  if (call->thread != thread || call->end < moment) return nullptr;
  if (call->bytes > 0) return &*call;
  const bool alone = is(call, kGroupEnd) && call - calls_.begin() >= 2 && (call - 1)->bytes > 0 &&
                     is(call - 2, kGroupStart) && (call - 1)->thread == thread;
  return alone ? &*(call - 1) : nullptr;
}

void NcclRanges::launch(std::int64_t process, std::int64_t correlation, std::int64_t thread,
                        std::int64_t start, const SourcePos& at) {
  const auto found = kernels_.find({process, correlation});
  if (found == kernels_.end() || !found->second.unique) return;
  const Call* call = call_at(thread, start);
  if (call == nullptr) return;
  const NcclKernel kernel = nccl_kernel(kernel_names_[static_cast<std::size_t>(found->second.name)]);
  TimedOperation o;
  o.op = op_names_[static_cast<std::size_t>(call->op)];
  o.type = kernel.type;
  o.algorithm = kernel.algorithm;
  const auto ranks = ranks_.find(call->communicator);
  o.ranks = ranks == ranks_.end() ? 0 : ranks->second;
  o.bytes = call->bytes;
  o.seconds = static_cast<double>(found->second.nanoseconds) * kNano;
  const std::string canonical = operation_name(o.op);
  if (canonical == "all_gather" || canonical == "reduce_scatter") {
    if (o.ranks == 0) {
      ++rankless_;
      return;
    }
    o.bytes *= o.ranks;
  }
  if (!groups_.add(o, at)) return;
  ++matched_;
  kernels_.erase(found);  // a second launch of this number started none
}

}  // namespace trnplan::logs
