// Handling of Ctrl-C during a long search.
#pragma once

#include <atomic>
#include <csignal>

namespace trnplan::cli {

/// Makes Ctrl-C set a flag instead of ending the program, during its lifetime; a second one ends it at once.
/// If the caller ignores Ctrl-C, it stays ignored.
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

  /// A signal handler can access only static storage.
  static std::atomic<bool>& flag() {
    static std::atomic<bool> interrupted{false};
    static_assert(std::atomic<bool>::is_always_lock_free);
    return interrupted;
  }

 private:
  struct sigaction before_ {};
};

}  // namespace trnplan::cli
