// Reports of neuron-monitor in a stream, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "logs/profile/neuron_monitor.h"
#include "logs/training/samples.h"
#include "text/byte_stream.h"
#include "text/json_reader.h"
#include "text/line_splitter.h"

namespace trnplan::logs {

inline constexpr std::string_view kBlanks = " \t\r\n";
inline constexpr std::size_t kReport = 16 << 20;  ///< bytes of one report of neuron-monitor

/// Window of text that holds a report and the text read ahead.
class ReportWindow {
 public:
  explicit ReportWindow(ByteStream& bytes) : bytes_(bytes) {}

  bool over() { return at_ == text_.size() && !more(); }
  bool opens() { return !over() && text_[at_] == '{'; }

  /// Reads the report that opens here, and moves after it; false, without moving, if it is damaged.
  bool read(NeuronMonitor& monitor, Samples& out) {
    while (text_.size() - at_ < kReport) {
      JsonReader probe(rest());
      probe.skip();
      if (!probe.failed() || probe.offset() < rest().size() || !more()) break;
    }
    JsonReader json(text_, at_, line_);
    monitor.read(json, out);
    if (json.failed()) return false;
    go(json.offset() - at_);
    return true;
  }

  void skip_blanks() {
    while (!over() && kBlanks.find(text_[at_]) != std::string_view::npos) go(1);
  }

  void skip_line() {
    while (!over()) {
      const std::size_t end = rest().find('\n');
      if (end != std::string_view::npos) return go(end + 1);
      go(rest().size());
    }
  }

 private:
  std::string_view rest() const { return std::string_view(text_).substr(at_); }

  void go(std::size_t count) {
    const std::string_view passed = rest().substr(0, count);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += count;
  }

  /// Reads as many bytes again as are held, so that a long report is not scanned too often.
  bool more() {
    text_.erase(0, std::exchange(at_, 0));
    return append_from(bytes_, text_, std::max(kChunk, text_.size()));
  }

  ByteStream& bytes_;
  std::string text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace trnplan::logs
