// A reader of quantities with units in the catalogue's files: {"value": 95, "unit": "TFLOPS", "source": ...}.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "text/document.h"

namespace trnplan {

enum class Dimension { none, flops_per_second, hertz, bytes, bytes_per_second, seconds, watts };

inline constexpr int whole_most = std::numeric_limits<int>::max();

/// Reads the quantities of one map. Appends faults to the list; a value that is refused reads as the least
/// allowed or as 0.
class QuantityReader {
 public:
  /// `where` is the path of the map in its file. Keeps references to the map and the faults.
  QuantityReader(MapReader& map, std::string where, std::vector<Diagnostic>& faults)
      : map_(map), where_(std::move(where)), faults_(faults) {}

  /// Value in base units (FLOP/s, Hz, bytes, bytes/s, s, W). `least` is in the unit of the file.
  double quantity(std::string_view key, Dimension dimension, double least);
  double positive(std::string_view key, Dimension dimension) { return quantity(key, dimension, 1e-9); }

  /// A whole number without a dimension; a bare number is accepted too. `fallback` when absent.
  int whole(std::string_view key, int fallback, int least);
  int required_whole(std::string_view key, int least);

  /// The list under key.value, or under key itself; null when absent.
  const Node* list(std::string_view key);

 private:
  std::string path(std::string_view key) const;

  MapReader& map_;
  std::string where_;
  std::vector<Diagnostic>& faults_;
};

}  // namespace trnplan
