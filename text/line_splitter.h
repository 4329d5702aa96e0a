// A splitter that cuts bytes that arrive in pieces into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trnplan {

/// One line of the file.
struct RawLine {
  std::string_view text;  ///< without its end; the first kLineKept bytes; valid until the next line
  int number = 0;         ///< counts from 1; stays at the largest int
  bool ended = true;      ///< a line end closes it, not the end of the bytes
};

/// The most bytes of a line that are kept; the rest of a longer line is dropped.
inline constexpr std::size_t kLineKept = std::size_t{1024} * 1024;

/// Splits at
/// , \r
///  and \r. Holds at most kLineKept bytes, however the bytes are cut. Cost: linear.
class LineSplitter {
 public:
  /// Calls each(RawLine) for every line that ends within the bytes.
  template <class Each>
  void feed(std::string_view bytes, Each&& each) {
    bytes_ = bytes;
    newline_ = kUnknown;
    while (next()) each(RawLine{line_, number_, true});
  }
  /// Calls each(RawLine) for a line that has no end.
  template <class Each>
  void finish(Each&& each) {
    if (pending_.empty()) return;
    count();
    each(RawLine{pending_, number_, false});
    pending_.clear();
  }
  /// Number of bytes that it holds now.
  std::size_t held() const { return pending_.size(); }

 private:
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  bool next();
  void count();
  std::size_t line_end();
  void keep(std::string_view piece);

  std::string pending_;  ///< the start of an unfinished line
  bool given_ = false;   ///< pending_ was given out and can be dropped
  bool return_ = false;  ///< the last line ended at \r, so a \n that follows belongs to it
  int number_ = 0;
  std::string_view bytes_, line_;   ///< within feed()
  std::size_t newline_ = kUnknown;  ///< bytes of bytes_ before its next \n
};

}  // namespace trnplan
