// Warnings of a reader, in a list that a hostile file cannot make long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan {

class Warnings {
 public:
  /// Keeps the first 50; the rest are only counted, in one more that stands where the first of them was.
  void add(SourcePos at, std::string_view key, std::string problem, std::string fix);

  /// What was added since the last call, in that order.
  std::vector<Diagnostic> take() {
    more_ = 0;
    return std::exchange(list_, {});
  }

 private:
  std::vector<Diagnostic> list_;
  std::size_t more_ = 0;
};

}  // namespace trnplan
