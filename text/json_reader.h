// Reads JSON piece by piece, without a tree: logs of tools are long, and often cut.
//
// It is lenient with what it skips and never looks back, so what stands before a fault is read. Reading costs
// time linear in the text; memory is one key or text at a time, and of a stream one chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/byte_stream.h"

namespace trnplan {

/// Use:
///
///   JsonReader json(text);
///   json.object([&](std::string_view key) {
///     if (key == "time") time = json.number();          // a value nobody reads is skipped
///     if (key == "rows") json.array([&] { ... });       // the same for elements
///   });
///   if (json.failed()) ... json.problem(), json.line()
///
/// After a fault nothing more is read, and all loops end. More than 64 levels are a fault.
class JsonReader {
 public:
  enum class Kind { object, array, text, number, word, none };

  /// Starts at the byte `offset` of `text`, in its line `line`.
  explicit JsonReader(std::string_view text, std::size_t offset = 0, int line = 1)
      : text_(text),
        at_(offset),
        line_(line),
        counted_(offset),
        line_start_(static_cast<std::int64_t>(offset)) {}
  /// Reads from a stream, from where it stands.
  explicit JsonReader(ByteStream& stream) : stream_(&stream) {}
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// What comes next; none at the end and after a fault.
  Kind peek();

  /// Calls each(key) for all entries of the object that comes next; a value of another kind is skipped.
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

  /// Calls each() for all elements of the list that comes next; a value of another kind is skipped.
  template <class Each>
  void array(Each each) {
    if (!open('[')) return;
    while (next_element()) {
      const std::size_t value = offset();
      each();
      if (!failed_ && offset() == value) skip();
    }
  }

  /// The finite number that comes next, perhaps in quotes; other values are skipped, with nullopt.
  std::optional<double> number();
  /// The same for whole numbers from 0 to 2^63 - 1, exactly: a time in ns is beyond a double.
  std::optional<std::int64_t> whole();
  /// The text that comes next, at most `limit` bytes of it, with \u escapes left as they are; "" for other
  /// values.
  std::string text(std::size_t limit = 4096);
  /// The number or word that comes next, as it stands there, cut at `limit`; "" for other values, which are
  /// skipped. Valid until the next call.
  std::string_view scalar(std::size_t limit);
  /// The word that comes next: true, false, null, NaN; "" for other values, which are skipped. Valid until
  /// the next call.
  std::string_view word();
  void skip();

  bool failed() const { return failed_; }
  const std::string& problem() const { return problem_; }
  /// Reads nothing more, as after a fault.
  void stop() { fail("stopped"); }
  std::size_t offset() const { return dropped_ + at_; }
  /// Of the place reached. Cost: the bytes since the last call.
  int line();
  /// Of the place reached, in bytes from 1. Cost as line().
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
  std::string buffer_, token_;  ///< of a stream: the chunk, and a token over two of them
  std::size_t dropped_ = 0;     ///< bytes of the stream before the chunk
  std::string_view text_;       ///< all, or the chunk
  std::size_t at_ = 0;
  int line_ = 1;
  std::size_t counted_ = 0;      ///< line ends before are counted
  std::int64_t line_start_ = 0;  ///< of the last line counted; below 0 in an earlier chunk
  int depth_ = 0;
  bool first_ = false;  ///< within a bracket just opened
  bool failed_ = false;
  std::string problem_;
};

}  // namespace trnplan
