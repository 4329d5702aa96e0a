// Short lists, many of them. Internal to the flow network.
//
// Memory   A list is a pointer. Its entries lie behind a word with their number, in chunks that all lists share.
// Cost     As of a vector: the entries are copied when a list grows, by half.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trnplan::sim {

inline constexpr std::size_t kWordBytes = 8;

/// Entries that a ShortLists owns.
template <class T>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % kWordBytes == 0);

 public:
  T* begin() { return reinterpret_cast<T*>(block_ + 1); }
  T* end() { return begin() + size(); }
  const T* begin() const { return reinterpret_cast<const T*>(block_ + 1); }
  const T* end() const { return begin() + size(); }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  T& back() { return begin()[size() - 1]; }
  std::size_t size() const { return *block_ >> 32; }
  bool empty() const { return size() == 0; }
  void pop_back() { *block_ -= kOne; }
  /// Takes all entries, and leaves the room for them.
  void forget() {
    if (!empty()) *block_ &= kOne - 1;
  }

 private:
  friend class ShortLists;
  static constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
  static constexpr std::size_t kWords = sizeof(T) / kWordBytes;
  static inline std::uint64_t none_ = 0;  ///< is never written

  std::size_t room() const { return *block_ & (kOne - 1); }

  std::uint64_t* block_ = &none_;  ///< the number of entries, above that for which there is room; then these
};

class ShortLists {
 public:
  /// `few`: entries that there is room for when there are two, at least that many.
  template <class T>
  void push(ShortList<T>& list, const T& entry, std::size_t few = 2) {
    const std::size_t size = list.size();
    if (size == list.room()) resize(list, size == 0 ? 1 : std::max(few, size + size / 2));
    *list.block_ += ShortList<T>::kOne;
    list[size] = entry;
  }
  /// Makes room for so many entries.
  template <class T>
  void reserve(ShortList<T>& list, std::size_t entries) {
    if (entries > list.room()) resize(list, entries);
  }
  /// Gives back the room beyond the entries of a short list.
  template <class T>
  void shrink(ShortList<T>& list) {
    if (list.empty()) return clear(list);
    if (list.size() < list.room()) resize(list, list.size());
  }
  /// Takes all entries and the room for them.
  template <class T>
  void clear(ShortList<T>& list) {
    if (list.room() > 0) give_back(list.block_, 1 + list.room() * ShortList<T>::kWords);
    list = {};
  }

 private:
  using Word = std::uint64_t;
  using Memory = std::unique_ptr<std::byte[]>;
  static constexpr std::size_t kLong = 64;  ///< words from which on a list has memory of its own
  static constexpr std::size_t kLeast = 64, kMost = 8192;

  template <class T>
  void resize(ShortList<T>& list, std::size_t room) {
    Word* const block = take(1 + room * ShortList<T>::kWords);
    *block = list.size() << 32 | room;
    if (!list.empty()) std::memcpy(block + 1, list.begin(), list.size() * sizeof(T));
    clear(list);
    list.block_ = block;
  }
  static Memory memory(std::size_t words) {
    return std::make_unique_for_overwrite<std::byte[]>(words * sizeof(Word));
  }
  /// The smallest block that is free, of which the rest stays free, or a new one.
  Word* take(std::size_t words) {
    if (words >= kLong) {
      auto own = memory(words);
      auto* const block = reinterpret_cast<Word*>(own.get());
      long_.emplace(block, std::move(own));
      return block;
    }
    if (const std::uint64_t fit = free_sizes_ >> words << words; fit != 0) {
      const auto size = static_cast<std::size_t>(std::countr_zero(fit));
      Word* const block = free_[size];
      std::memcpy(&free_[size], block, sizeof(Word*));
      if (free_[size] == nullptr) free_sizes_ &= ~(std::uint64_t{1} << size);
      if (size > words) give_back(block + words, size - words);
      return block;
    }
    if (left_ < words) {
      if (left_ > 0) give_back(unused_, left_);
      left_ = chunk_ = std::clamp(2 * chunk_, kLeast, kMost);
      unused_ = reinterpret_cast<Word*>(chunks_.emplace_back(memory(chunk_)).get());
    }
    left_ -= words;
    return std::exchange(unused_, unused_ + words);
  }
  void give_back(Word* block, std::size_t words) {
    if (words >= kLong) {
      long_.erase(block);
      return;
    }
    std::memcpy(block, &free_[words], sizeof(Word*));
    free_[words] = block;
    free_sizes_ |= std::uint64_t{1} << words;
  }

  std::vector<Memory> chunks_;
  Word* unused_ = nullptr;  ///< of the last chunk, `left_` of them
  std::size_t left_ = 0, chunk_ = 0;
  std::array<Word*, kLong> free_{};  ///< by size; the first word of a block is where the next one is
  std::uint64_t free_sizes_ = 0;     ///< a bit for each size of which there is one
  std::unordered_map<Word*, Memory> long_;
};

}  // namespace trnplan::sim
