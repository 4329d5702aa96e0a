#include "text/byte_stream.h"

#include <algorithm>

namespace trnplan {

std::size_t TextStream::read(char* out, std::size_t size) {
  const std::size_t count = std::min({size, piece_, text_.size() - at_});
  std::copy_n(text_.data() + at_, count, out);
  at_ += count;
  return count;
}

bool TextStream::seek(std::uint64_t offset) {
  if (offset > text_.size()) return false;
  at_ = static_cast<std::size_t>(offset);
  return true;
}

bool append_from(ByteStream& stream, std::string& text, std::size_t size) {
  const std::size_t before = text.size();
  text.resize(before + size);
  std::size_t got = 0;
  try {
    got = stream.read(text.data() + before, size);
  } catch (...) {
    text.resize(before);
    throw;
  }
  text.resize(before + got);
  return got > 0;
}

std::size_t HeadedStream::read(char* out, std::size_t size) {
  if (!from_rest_ && at_ < head_.size()) {
    const std::size_t count = std::min(size, head_.size() - at_);
    std::copy_n(head_.data() + at_, count, out);
    at_ += count;
    return count;
  }
  const std::size_t got = rest_.read(out, size);
  beyond_ = beyond_ || got > 0;
  return got;
}

bool HeadedStream::seek(std::uint64_t offset) {
  if (!rest_.seek(offset + mark_)) return false;
  beyond_ = from_rest_ = true;
  return true;
}

std::optional<std::uint64_t> HeadedStream::size() const {
  const std::optional<std::uint64_t> whole = rest_.size();
  return whole ? std::optional(*whole - mark_) : whole;
}

bool HeadedStream::rewind() {
  if (beyond_) {
    if (!rest_.rewind()) return false;
    std::string mark;
    while (mark.size() < mark_ && append_from(rest_, mark, mark_ - mark.size())) {
    }
    from_rest_ = true;
    return true;
  }
  at_ = 0;
  return true;
}

}  // namespace trnplan
