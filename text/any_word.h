// A search for any of many words in one pass over a text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trnplan {

/// Tells whether a text contains one of N words of two bytes or more. Most places of a text begin none of
/// them, as their first two bytes say. For a handful of words as many searches are faster.
template <std::size_t N>
class AnyWord {
 public:
  constexpr explicit AnyWord(const std::array<std::string_view, N>& words) : words_(words) {
    static_assert(N < 256);
    for (std::size_t w = N; w > 0; --w) {
      std::uint8_t& first = first_[next(next(0, words[w - 1][0]), words[w - 1][1])];
      others_[w - 1] = first;
      first = static_cast<std::uint8_t>(w);
    }
  }

  /// Cost: O(bytes) where few places begin a word.
  [[nodiscard]] bool in(std::string_view text) const {
    if (text.empty()) return false;
    std::size_t two = next(0, text[0]);
    for (std::size_t i = 1; i < text.size(); ++i) {
      two = next(two, text[i]);
      for (std::size_t w = first_[two]; w > 0; w = others_[w - 1]) {
        if (text.substr(i - 1).starts_with(words_[w - 1])) return true;
      }
    }
    return false;
  }

 private:
  /// The last two bytes, as a number.
  static constexpr std::size_t next(std::size_t two, char c) {
    return (two << 8 & 0xff00) | static_cast<unsigned char>(c);
  }

  std::array<std::string_view, N> words_;
  std::array<std::uint8_t, 0x10000>
      first_{};                           ///< by two bytes: the first word that begins so, from 1; 0: none
  std::array<std::uint8_t, N> others_{};  ///< the next word that begins as a word does
};

}  // namespace trnplan
