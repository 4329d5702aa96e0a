// A heap whose entries know their place, so that one can be moved or taken out wherever it is.
//
// A vector in the order of a 4-ary heap: the first entry comes before all others. `before(a, b)` orders
// entries, `placed(entry, index)` is called for every entry that moves.
// Cost     O(log n) each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trnplan::sim::indexed_heap {

template <class Entry, class Before, class Placed>
void rise(std::vector<Entry>& heap, std::size_t i, const Before& before, const Placed& placed) {
  const Entry entry = heap[i];
  while (i > 0) {
    const std::size_t parent = (i - 1) / 4;
    if (!before(entry, heap[parent])) break;
    heap[i] = heap[parent];
    placed(heap[i], i);
    i = parent;
  }
  heap[i] = entry;
  placed(heap[i], i);
}

template <class Entry, class Before, class Placed>
void sink(std::vector<Entry>& heap, std::size_t i, const Before& before, const Placed& placed) {
  const Entry entry = heap[i];
  for (;;) {
    const std::size_t first = 4 * i + 1;
    if (first >= heap.size()) break;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < heap.size() && child < first + 4; ++child) {
      if (before(heap[child], heap[least])) least = child;
    }
    if (!before(heap[least], entry)) break;
    heap[i] = heap[least];
    placed(heap[i], i);
    i = least;
  }
  heap[i] = entry;
  placed(heap[i], i);
}

template <class Entry, class Before, class Placed>
void push(std::vector<Entry>& heap, Entry entry, const Before& before, const Placed& placed) {
  heap.push_back(std::move(entry));
  rise(heap, heap.size() - 1, before, placed);
}

/// Makes a heap of entries in any order.
template <class Entry, class Before, class Placed>
void make(std::vector<Entry>& heap, const Before& before, const Placed& placed) {
  for (std::size_t i = heap.size() / 4 + 1; i-- > 0;) {
    if (i < heap.size()) sink(heap, i, before, placed);
  }
}

/// After the entry at `i` has changed.
template <class Entry, class Before, class Placed>
void update(std::vector<Entry>& heap, std::size_t i, const Before& before, const Placed& placed) {
  if (i > 0 && before(heap[i], heap[(i - 1) / 4])) return rise(heap, i, before, placed);
  sink(heap, i, before, placed);
}

template <class Entry, class Before, class Placed>
void erase(std::vector<Entry>& heap, std::size_t i, const Before& before, const Placed& placed) {
  const Entry last = heap.back();
  heap.pop_back();
  if (i == heap.size()) return;
  heap[i] = last;
  update(heap, i, before, placed);
}

}  // namespace trnplan::sim::indexed_heap
