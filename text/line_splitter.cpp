#include "text/line_splitter.h"

#include <algorithm>
#include <limits>

namespace trnplan {

void LineSplitter::count() {
  if (number_ < std::numeric_limits<int>::max()) ++number_;
}

/// Position of the next line end in bytes_; its size where there is none. Remembers the place of the next
/// , because a log of progress bars may have a thousand \r before it.
std::size_t LineSplitter::line_end() {
  if (newline_ == kUnknown) newline_ = std::min(bytes_.find('\n'), bytes_.size());
  return std::min(bytes_.substr(0, newline_).find('\r'), newline_);
}

void LineSplitter::keep(std::string_view piece) {
  pending_.append(piece.substr(0, kLineKept - std::min(kLineKept, pending_.size())));
}

bool LineSplitter::next() {
  if (given_) pending_.clear();
  given_ = false;
  const auto forget = [&](std::size_t count) {
    bytes_.remove_prefix(count);
    newline_ = newline_ == kUnknown || newline_ < count ? kUnknown : newline_ - count;
  };
  if (return_ && !bytes_.empty()) {
    return_ = false;
    if (bytes_.front() == '\n') forget(1);
  }
  if (bytes_.empty()) return false;
  const std::size_t end = line_end();
  const std::string_view piece = bytes_.substr(0, end);
  if (end == bytes_.size()) {
    keep(piece);
    bytes_ = {};
    return false;
  }
  if (pending_.empty()) {
    line_ = piece.substr(0, kLineKept);
  } else {
    keep(piece);
    line_ = pending_;
    given_ = true;
  }
  count();
  return_ = bytes_[end] == '\r';
  forget(end + 1);
  return true;
}

}  // namespace trnplan
