// Calls of NCCL that it marks with NVTX, each with the bytes of its message, and the kernels that they launch.
//
// Names of the payload: NVIDIA/nccl@1708736f:src/include/nvtx_payload_schemas.h; the message of an all-gather is
// that of one rank, of a reduce-scatter that which one rank ends with (src/collectives.cc).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "logs/nccom/collective_groups.h"

namespace trnplan::logs {

/// True for the range of a call: "ncclAllReduce", "ncclGroupEnd", "ncclCommInitRank".
[[nodiscard]] bool is_nccl_call(std::string_view name);

class NcclRanges {
 public:
  /// A call on a thread of the host, from `start` to `end` in ns, with its payload as JSON or "".
  void add(std::string_view name, std::int64_t thread, std::int64_t start, std::int64_t end,
           std::string_view payload);
  /// A kernel of NCCL that launch `correlation` of the process started, `nanoseconds` long.
  void add_kernel(std::int64_t process, std::int64_t correlation, std::string_view name,
                  std::int64_t nanoseconds);
  /// No range may follow.
  void sort();
  /// The host's launch at `start` on `thread`, of a process as above: adds its kernel to the groups if it is
  /// one of NCCL in a call with a size.
  void launch(std::int64_t process, std::int64_t correlation, std::int64_t thread, std::int64_t start,
              const SourcePos& at);
  void finish(Samples& out) { groups_.finish(out); }

  [[nodiscard]] bool wants_launches() const { return sizes_ > 0 && !kernels_.empty(); }
  [[nodiscard]] std::size_t sizes() const { return sizes_; }        ///< calls with a size
  [[nodiscard]] std::size_t kernels() const { return all_; }        ///< all that were added
  [[nodiscard]] std::size_t matched() const { return matched_; }    ///< kernels in the groups
  [[nodiscard]] std::size_t beyond() const { return beyond_; }      ///< kernels after the first half million
  [[nodiscard]] std::size_t rankless() const { return rankless_; }  ///< of communicators without their ranks

 private:
  struct Call {
    std::int64_t thread, start, end;
    double bytes;
    int op, communicator;  ///< indices; -1: none
  };
  struct Kernel {
    std::int64_t nanoseconds;
    int name;
    bool unique;  ///< false: a graph's launch of many kernels
  };
  struct Key {
    std::int64_t process, correlation;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = static_cast<std::uint64_t>(k.process) * 0x9e3779b97f4a7c15u;
      h = (h ^ (h >> 32) ^ static_cast<std::uint64_t>(k.correlation)) * 0x9e3779b97f4a7c15u;
      return static_cast<std::size_t>(h ^ (h >> 32));
    }
  };
  [[nodiscard]] const Call* call_at(std::int64_t thread, std::int64_t moment) const;
  static int index_of(std::map<std::string, int, std::less<>>& all, std::string_view text);

  std::vector<Call> calls_;
  std::map<std::string, int, std::less<>> ops_, communicators_, names_;
  std::vector<std::string> op_names_, kernel_names_;
  std::map<int, int> ranks_;  ///< of communicators
  std::unordered_map<Key, Kernel, Hash> kernels_;
  CollectiveGroups groups_;
  std::size_t sizes_ = 0, all_ = 0, matched_ = 0, rankless_ = 0, beyond_ = 0;
};

}  // namespace trnplan::logs
