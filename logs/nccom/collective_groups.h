// Single collectives of a profile, grouped into one sample for each size of each kind.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "logs/training/samples.h"

namespace trnplan::logs {

/// One collective in the list of a profile.
struct TimedOperation {
  std::string op;  ///< as printed: AllGather, allreduce, _allgather_base, ...
  std::string type, algorithm;
  int ranks = 0;  ///< 0: not stated
  double bytes = 0;
  double seconds = 0;
};

/// Seconds of one kind that are kept for its median.
inline constexpr std::size_t kKept = 4096;

/// canonical_op() of a name, ignoring case, dashes and underscores; else the name, made printable.
std::string operation_name(std::string_view printed);

/// Bytes of an element of c10::ScalarType, by its name; 0 for others.
double torch_scalar_bytes(std::string_view type);

/// Ranks of the first group in "[[0, 1], [2, 3]]"; 0 if there is none or it is elided with "...".
int first_group_size(std::string_view text);

class CollectiveGroups {
 public:
  /// Adds an operation. False, without adding it, if bytes or seconds are beyond reason, or there are more
  /// than 100,000 kinds.
  bool add(const TimedOperation& operation, const SourcePos& at);
  /// Writes samples in the order of kind and size.
  void finish(Samples& out);

 private:
  using Key = std::tuple<std::string, std::string, int, std::string, double>;
  /// Counts all, and holds kKept at most for the median: all of them up to that number, then each second one,
  /// each fourth ...
  struct Group {
    SourcePos at;
    double least = 0;
    std::size_t count = 0, stride = 1;
    std::vector<double> kept;
    void take(double seconds);
  };
  std::map<Key, Group> groups_;
};

}  // namespace trnplan::logs
