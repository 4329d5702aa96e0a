// A loop on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace trnplan {

/// The machine's cores, at least 1. More threads than that make nothing faster.
inline int core_count() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Number of threads for `wanted` (0 = as many as the machine has cores).
inline int thread_count(int wanted) {
  return wanted > 0 ? wanted : core_count();
}

/// Calls body(0) ... body(count - 1), in any order, on up to `threads` threads, one of which is the caller's.
/// Rethrows the exception of the call with the lowest number that fails, after all have ended.
template <class Body>
void parallel_for(int count, int threads, Body&& body) {
  std::atomic<int> next{0};
  std::mutex guard;
  std::exception_ptr failure;
  int failed = count;
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(guard);
        if (i < failed) failure = std::current_exception();
        failed = std::min(failed, i);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < std::min(threads, count); ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace trnplan
