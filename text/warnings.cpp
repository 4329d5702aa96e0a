#include "text/warnings.h"

#include <fmt/format.h>

namespace trnplan {

namespace {

constexpr std::size_t kWarnings = 50;

}  // namespace

void Warnings::add(SourcePos at, std::string_view key, std::string problem, std::string fix) {
  if (list_.size() < kWarnings) {
    list_.push_back({std::move(at), printable(key, 40), std::move(problem), std::move(fix)});
    return;
  }
  if (more_++ == 0) list_.push_back({std::move(at), "", "", "fix the first ones"});
  list_.back().problem = fmt::format("{} more warnings after this", more_);
}

}  // namespace trnplan
