// Reads JSON piece by piece, without a tree: logs of tools are long, and often cut.
//
// It is lenient with what it skips and never looks back, so what stands before a fault is read. Reading costs
// time linear in the text; memory is one key or text at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trnplan::calibrate {

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
      : text_(text), at_(offset), line_(line), counted_(offset), line_start_(offset) {}

  /// What comes next; none at the end and after a fault.
  Kind peek();

  /// Calls each(key) for all entries of the object that comes next; a value of another kind is skipped.
  template <class Each>
  void object(Each each) {
    if (!open('{')) return;
    std::string key;
    while (next_entry(key)) {
      const std::size_t value = at_;
      each(std::string_view(key));
      if (!failed_ && at_ == value) skip();
    }
  }

  /// Calls each() for all elements of the list that comes next; a value of another kind is skipped.
  template <class Each>
  void array(Each each) {
    if (!open('[')) return;
    while (next_element()) {
      const std::size_t value = at_;
      each();
      if (!failed_ && at_ == value) skip();
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
  /// skipped.
  std::string_view scalar(std::size_t limit);
  /// The word that comes next: true, false, null, NaN; "" for other values, which are skipped.
  std::string_view word();
  void skip();

  bool failed() const { return failed_; }
  const std::string& problem() const { return problem_; }
  std::size_t offset() const { return at_; }
  /// Of the place reached. Cost: the bytes since the last call.
  int line();
  /// Of the place reached, in bytes from 1. Cost as line().
  int column();

 private:
  bool open(char bracket);
  bool next_entry(std::string& key);
  bool next_element();
  bool close(char bracket);
  void skip_blanks();
  bool read_text(std::string& out, std::size_t limit);
  std::string_view token();
  void fail(std::string problem);

  std::string_view text_;
  std::size_t at_;
  int line_;
  std::size_t counted_;     ///< line ends before are counted
  std::size_t line_start_;  ///< of the last line counted
  int depth_ = 0;
  bool first_ = false;  ///< within a bracket just opened
  bool failed_ = false;
  std::string problem_;
};

}  // namespace trnplan::calibrate
