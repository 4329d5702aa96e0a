// Progress of a search, on a terminal.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "planner/search/search.h"

namespace trnplan::cli {

/// One line on a terminal, for a search that takes more than a second.
class ProgressBar {
 public:
  void operator()(const planner::SearchProgress& p) {
    if (!due()) return;
    const int all = p.simulated + p.open;
    const auto full = static_cast<std::size_t>(all > 0 ? kWidth * p.simulated / all : 0);
    std::string line =
        fmt::format("[{:<{}}] {} simulated, {} open", std::string(full, '='), kWidth, p.simulated, p.open);
    if (p.best) line += fmt::format("; best {:.4g} s", p.best->value);
    show(line);
  }
  /// The cluster that is judged next.
  void operator()(const std::string& instance, int nodes) {
    ++clusters_;
    if (due()) show(fmt::format("cluster {}: {} x {}", clusters_, nodes, instance));
  }
  void clear() const {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  bool due() {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - start_ < kPatience || now - last_ < kInterval) return false;
    last_ = now;
    return true;
  }
  void show(const std::string& text) {
    shown_ = true;
    const std::string line = "\r\x1b[K" + text;
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

  static constexpr std::chrono::milliseconds kPatience{1000}, kInterval{100};
  static constexpr int kWidth = 30;
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  int clusters_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_{};
};

}  // namespace trnplan::cli
