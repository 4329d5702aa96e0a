// Search for rings of neighbouring chips. Private to this room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace trnplan::topology {

/// Depth-first search for Hamiltonian cycles of the chips in `members`, in lexicographic order. It ends when
/// `accept` takes a cycle or the steps are used up.
class RingSearch {
 public:
  using Usable = std::function<bool(int, int)>;
  using Accept = std::function<bool(const std::vector<int>&)>;

  RingSearch(const std::vector<std::vector<int>>& neighbours, const std::vector<int>& members, Usable usable,
             Accept accept, std::int64_t& steps)
      : neighbours_(neighbours),
        usable_(std::move(usable)),
        accept_(std::move(accept)),
        steps_(steps),
        open_(neighbours.size(), false),
        count_(members.size()) {
    for (const int c : members) open_[static_cast<std::size_t>(c)] = true;
    path_.push_back(members.front());
  }

  bool run() {
    if (!possible()) return false;
    open_[static_cast<std::size_t>(path_.front())] = false;
    return extend();
  }
  const std::vector<int>& path() const { return path_; }

 private:
  bool usable(int a, int b) const { return !usable_ || usable_(a, b); }
  bool member(int chip) const { return open_[static_cast<std::size_t>(chip)]; }

  /// True if the necessary conditions of a cycle hold: the set is connected, each chip has two neighbours
  /// and, where the set is bipartite, both sides have the same number of chips. One pass over a set of chips
  /// that changes with every call: Boost.Graph's breadth_first_search and is_bipartite would be three passes
  /// over a filtered graph, and the balance of the sides a fourth.
  bool possible() const {
    std::vector<signed char> colour(neighbours_.size(), -1);
    std::vector<int> queue{path_.front()};
    colour[static_cast<std::size_t>(path_.front())] = 0;
    bool two_colours = true;
    std::size_t first_colour = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const auto here = static_cast<std::size_t>(queue[i]);
      if (colour[here] == 0) ++first_colour;
      int degree = 0;
      for (const int next : neighbours_[here]) {
        if (!member(next) || !usable(queue[i], next)) continue;
        ++degree;
        signed char& other = colour[static_cast<std::size_t>(next)];
        if (other == colour[here]) two_colours = false;
        if (other >= 0) continue;
        other = colour[here] == 0 ? 1 : 0;
        queue.push_back(next);
      }
      if (degree < 2) return false;
    }
    return queue.size() == count_ && (!two_colours || 2 * first_colour == count_);
  }

  bool extend() {
    if (--steps_ < 0) return false;
    const int last = path_.back();
    const auto& next = neighbours_[static_cast<std::size_t>(last)];
    if (path_.size() == count_) {
      return std::binary_search(next.begin(), next.end(), path_.front()) && usable(last, path_.front()) &&
             accept_(path_);
    }
    for (const int c : next) {
      if (!member(c) || !usable(last, c)) continue;
      path_.push_back(c);
      open_[static_cast<std::size_t>(c)] = false;
      if (extend()) return true;
      if (steps_ < 0) return false;
      open_[static_cast<std::size_t>(c)] = true;
      path_.pop_back();
    }
    return false;
  }

  const std::vector<std::vector<int>>& neighbours_;
  Usable usable_;
  Accept accept_;
  std::int64_t& steps_;
  std::vector<bool> open_;
  std::size_t count_;
  std::vector<int> path_;
};

}  // namespace trnplan::topology
