// A reader of JSON that works piece by piece, without a tree, because logs of tools are long and often cut.
//
// It is lenient with what it skips and never looks back, so it reads everything before a fault. Time is
// linear in the text. Memory is one key or text at a time and, of a stream, one chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/byte_stream.h"

namespace trnplan {

/// A reader of one JSON text. Use:
///
///   JsonReader json(text);
///   json.object([&](std::string_view key) {
///     if (key == "time") time = json.number();          // skips a value that is not read here
///     if (key == "rows") json.array([&] { ... });       // does the same with elements
///   });
///   if (json.failed()) ... json.problem(), json.line()
///
/// After a fault it reads nothing more, and all loops end. More than 64 levels are a fault.
class JsonReader {
 public:
  enum class Kind { object, array, text, number, word, none };

  /// Starts at byte `offset` of `text`, which is in line `line`.
  explicit JsonReader(std::string_view text, std::size_t offset = 0, int line = 1)
      : text_(text),
        at_(offset),
        line_(line),
        counted_(offset),
        line_start_(static_cast<std::int64_t>(offset)) {}
  /// Reads a stream from its current position.
  explicit JsonReader(ByteStream& stream) : stream_(&stream) {}
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// The kind of the next value; none at the end and after a fault.
  Kind peek();

  /// Calls each(key) for all entries of the next value if it is an object; skips a value of another kind.
  template <class Each>
  void object(Each each) {
    if (!open('{')) return;
    std::string key;
    while (next_entry(key)) {
      const std::size_t value = offset();
      each(std::string_view(key));
      if (!failed_ && offset() == value) skip();
    }
  }

  /// Calls each() for all elements of the next value if it is a list; skips a value of another kind.
  template <class Each>
  void array(Each each) {
    if (!open('[')) return;
    while (next_element()) {
      const std::size_t value = offset();
      each();
      if (!failed_ && offset() == value) skip();
    }
  }

  /// The next value if it is a finite number, perhaps in quotes; skips other values and returns nullopt.
  std::optional<double> number();
  /// The next value if it is a whole number from 0 to 2^63 - 1. Exact, because a time in ns does not fit a
  /// double.
  std::optional<std::int64_t> whole();
  /// The next value if it is a text: at most `limit` bytes of it, with \u escapes left as they are. "" for
  /// other values.
  std::string text(std::size_t limit = 4096);
  /// The next value if it is a number or a word: its characters, cut at `limit`. Skips other values and
  /// returns "". Valid until the next call.
  std::string_view scalar(std::size_t limit);
  /// The next value if it is a word: true, false, null or NaN. Skips other values and returns "". Valid until
  /// the next call.
  std::string_view word();
  void skip();

  bool failed() const { return failed_; }
  const std::string& problem() const { return problem_; }
  /// Stops reading, as after a fault.
  void stop() { fail("stopped"); }
  std::size_t offset() const { return dropped_ + at_; }
  /// Line of the place reached. Cost: linear in the bytes since the last call.
  int line();
  /// Column of the place reached, in bytes from 1. Cost as for line().
  int column();

 private:
  bool at_end() { return at_ == text_.size() && !more(); }
  bool more();
  bool open(char bracket);
  bool next_entry(std::string& key);
  bool next_element();
  bool close(char bracket);
  void skip_blanks();
  bool read_text(std::string& out, std::size_t limit);
  std::string_view token();
  void fail(std::string problem);

  ByteStream* stream_ = nullptr;
  std::string buffer_, token_;  ///< of a stream: the chunk, and a token that crosses two chunks
  std::size_t dropped_ = 0;     ///< bytes of the stream before the chunk
  std::string_view text_;       ///< the whole text, or the chunk
  std::size_t at_ = 0;
  int line_ = 1;
  std::size_t counted_ = 0;      ///< line ends before this offset are counted
  std::int64_t line_start_ = 0;  ///< start of the last line counted; negative if in an earlier chunk
  int depth_ = 0;
  bool first_ = false;  ///< directly after an opening bracket
  bool failed_ = false;
  std::string problem_;
};

}  // namespace trnplan
