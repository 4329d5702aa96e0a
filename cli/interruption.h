// Ctrl-C during a long search.
#pragma once

#include <atomic>
#include <csignal>

namespace trnplan::cli {

/// Ctrl-C as a flag instead of an end, as long as it lives; a second one ends the program at once. Where the
/// caller has it ignored, it stays ignored.
class Interruption {
 public:
  Interruption() {
    flag() = false;
    struct sigaction action {};
    action.sa_handler = [](int) { flag() = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, nullptr, &before_);
    if (before_.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
  }
  ~Interruption() { sigaction(SIGINT, &before_, nullptr); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// A handler reaches nothing but static storage.
  static std::atomic<bool>& flag() {
    static std::atomic<bool> interrupted{false};
    static_assert(std::atomic<bool>::is_always_lock_free);
    return interrupted;
  }

 private:
  struct sigaction before_ {};
};

}  // namespace trnplan::cli
