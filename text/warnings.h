// The warnings of a reader, in a list that a hostile file cannot make long.
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
  /// Keeps the first 50 warnings. One more warning, at the place of the first that did not fit, gives the
  /// number of the rest.
  void add(SourcePos at, std::string_view key, std::string problem, std::string fix);

  /// Returns the warnings since the last call, in the order in which they were added.
  std::vector<Diagnostic> take() {
    more_ = 0;
    return std::exchange(list_, {});
  }

 private:
  std::vector<Diagnostic> list_;
  std::size_t more_ = 0;
};

}  // namespace trnplan
