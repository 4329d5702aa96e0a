// Bytes that come piece by piece: a file, a pipe, a text. Readers of logs hold no more of them than they
// need.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trnplan {

/// Bytes that a reader asks for at a time.
inline constexpr std::size_t kChunk = std::size_t{256} * 1024;

class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Up to `size` bytes into `out`; 0 at the end only. May throw InputError.
  virtual std::size_t read(char* out, std::size_t size) = 0;
  /// Back to the first byte; false, and unreachable, where that cannot be (a pipe).
  virtual bool rewind() = 0;
  /// rewind() would do so.
  virtual bool rewindable() const = 0;
};

/// A text in memory, given `piece` bytes at a time.
class TextStream : public ByteStream {
 public:
  explicit TextStream(std::string_view text, std::size_t piece = kChunk) : text_(text), piece_(piece) {}
  std::size_t read(char* out, std::size_t size) override;
  bool rewind() override {
    at_ = 0;
    return true;
  }
  bool rewindable() const override { return true; }

 private:
  std::string_view text_;
  std::size_t piece_, at_ = 0;
};

/// Appends up to `size` bytes of the stream to `text`; false at its end, when none were left.
bool append_from(ByteStream& stream, std::string& text, std::size_t size = kChunk);

/// A stream whose start was read already: gives `head`, then the rest.
class HeadedStream : public ByteStream {
 public:
  HeadedStream(std::string head, ByteStream& rest) : head_(std::move(head)), rest_(rest) {}
  std::size_t read(char* out, std::size_t size) override;
  bool rewind() override;
  bool rewindable() const override { return !beyond_ || rest_.rewindable(); }

  std::string_view head() const { return head_; }
  /// All of it can be read again once it was read.
  bool twice() const { return rest_.rewindable(); }

 private:
  std::string head_;
  ByteStream& rest_;
  std::size_t at_ = 0;      ///< of the head
  bool beyond_ = false;     ///< something was read of the rest
  bool from_rest_ = false;  ///< the rest was rewound: it gives the head, too
};

}  // namespace trnplan
