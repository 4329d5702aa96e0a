// Bytes that arrive in pieces, from a file, a pipe or a text. Readers of logs hold no more of them than they
// need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trnplan {

/// Number of bytes that a reader asks for at a time.
inline constexpr std::size_t kChunk = std::size_t{256} * 1024;

/// Bytes that some editors and spreadsheets write before a text in UTF-8; no part of it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
/// The text behind such a mark.
constexpr std::string_view without_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Reads up to `size` bytes into `out` and returns their number, which is 0 only at the end. May throw
  /// InputError.
  virtual std::size_t read(char* out, std::size_t size) = 0;
  /// Goes back to the first byte. Returns false, and changes nothing, where that is impossible (a pipe).
  virtual bool rewind() = 0;
  /// True if rewind() would succeed.
  virtual bool rewindable() const = 0;
  /// Path of the file that holds just these bytes; "": there is none, or it is not known.
  virtual std::string path() const { return ""; }
  /// Continues at byte `offset`. Returns false, and changes nothing, where that is impossible.
  virtual bool seek(std::uint64_t /*offset*/) { return false; }
  /// Number of all bytes; nothing where seek() is impossible.
  virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
};

/// A text in memory, given out in pieces of `piece` bytes.
class TextStream : public ByteStream {
 public:
  explicit TextStream(std::string_view text, std::size_t piece = kChunk) : text_(text), piece_(piece) {}
  std::size_t read(char* out, std::size_t size) override;
  bool rewind() override {
    at_ = 0;
    return true;
  }
  bool rewindable() const override { return true; }
  bool seek(std::uint64_t offset) override;
  std::optional<std::uint64_t> size() const override { return text_.size(); }

 private:
  std::string_view text_;
  std::size_t piece_, at_ = 0;
};

/// Appends up to `size` bytes of the stream to `text`. Returns false when the stream had none left.
bool append_from(ByteStream& stream, std::string& text, std::size_t size = kChunk);

/// A stream whose first bytes were already read: gives `head`, then the rest, without a byte order mark.
class HeadedStream : public ByteStream {
 public:
  HeadedStream(std::string head, ByteStream& rest) : head_(without_mark(head)), rest_(rest) {
    mark_ = head.size() - head_.size();
  }
  std::size_t read(char* out, std::size_t size) override;
  bool rewind() override;
  bool rewindable() const override { return !beyond_ || rest_.rewindable(); }
  std::string path() const override { return mark_ > 0 ? "" : rest_.path(); }
  bool seek(std::uint64_t offset) override;
  std::optional<std::uint64_t> size() const override;

  std::string_view head() const { return head_; }
  /// True if all bytes can be read a second time.
  bool twice() const { return rest_.rewindable(); }

 private:
  std::string head_;
  ByteStream& rest_;
  std::size_t mark_ = 0;    ///< bytes left out before the head
  std::size_t at_ = 0;      ///< position in the head
  bool beyond_ = false;     ///< bytes of the rest were read
  bool from_rest_ = false;  ///< the rest was rewound, so that it gives the head too
};

}  // namespace trnplan
