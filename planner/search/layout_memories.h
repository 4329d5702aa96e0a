// Loads of collectives that the plans of a search share. Private to the search.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "models/collective/collective_memory.h"
#include "models/job/strategy.h"

namespace trnplan::planner {

/// Memories by cluster and degrees, which place ranks. Threads: any number, each lends memories of its own.
class LayoutMemories {
 public:
  /// A memory on loan, which goes back at its end.
  class Loan {
   public:
    explicit Loan(LayoutMemories& of, int cluster, const models::Strategy& s)
        : of_(of),
          key_{cluster, s.tensor_parallel, s.context_parallel, s.data_parallel, s.pipeline_parallel},
          memory_(of.take(key_)) {}
    ~Loan() { of_.give_back(key_, std::move(memory_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    models::CollectiveMemory* get() const { return memory_.get(); }

   private:
    LayoutMemories& of_;
    std::array<int, 5> key_;
    std::unique_ptr<models::CollectiveMemory> memory_;
  };

 private:
  using Key = std::array<int, 5>;

  std::unique_ptr<models::CollectiveMemory> take(const Key& key) {
    const std::lock_guard lock(guard_);
    auto& idle = idle_[key];
    if (idle.empty()) return std::make_unique<models::CollectiveMemory>();
    std::unique_ptr<models::CollectiveMemory> last = std::move(idle.back());
    idle.pop_back();
    return last;
  }
  void give_back(const Key& key, std::unique_ptr<models::CollectiveMemory> memory) {
    const std::lock_guard lock(guard_);
    idle_[key].push_back(std::move(memory));
  }

  std::mutex guard_;
  std::map<Key, std::vector<std::unique_ptr<models::CollectiveMemory>>> idle_;
};

}  // namespace trnplan::planner
