#include "text/diagnostic.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace trnplan {

namespace {

std::string join(const std::vector<Diagnostic>& faults) {
  std::string all;
  for (const Diagnostic& d : faults) {
    if (!all.empty()) all += '\n';
    all += to_string(d);
  }
  return all;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// The first character of a text, which is not empty.
struct Character {
  std::size_t bytes = 1;
  bool harmless = false;  ///< neither drives a terminal nor misleads its reader
};

/// True if the character, which is beyond ASCII, is harmless. C1 controls drive terminals as escape sequences
/// do; other characters reorder what follows, break its line, or are invisible (Unicode 15, general
/// categories Cc, Cf, Zl and Zp).
bool harmless(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kHarmful[] = {{0x80, 0x9f},      {0xad, 0xad},     {0x600, 0x605},   {0x61c, 0x61c},
                                {0x6dd, 0x6dd},    {0x70f, 0x70f},   {0x180e, 0x180e}, {0x200b, 0x200f},
                                {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
                                {0xe0000, 0xe007f}};
  return std::none_of(std::begin(kHarmful), std::end(kHarmful),
                      [c](const Range& r) { return r.first <= c && c <= r.last; });
}

/// The first character. A byte that is not UTF-8 counts as a character of its own that is not harmless,
/// because an 8-bit terminal would obey it.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead >= 0x20 && lead != 0x7f};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t c = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    c = c << 6 | (byte(i) & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kLeast[bytes] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return {};
  return {bytes, harmless(c)};
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  out.reserve(std::min(text.size(), limit));
  std::size_t at = 0;
  while (at < text.size()) {
    const Character c = first_character(text.substr(at));
    const std::size_t shown = c.harmless ? c.bytes : 1;
    if (out.size() + shown > limit) break;
    if (c.harmless) {
      out += text.substr(at, c.bytes);
    } else {
      out += '?';
    }
    at += c.bytes;
  }
  if (at < text.size()) out += "...";
  return out;
}

std::string in_quotes(std::string_view text, std::size_t limit) {
  return '"' + printable(text, limit) + '"';
}

std::string to_string(const Diagnostic& d) {
  std::string out = printable(d.at.file, 4096);
  if (d.at.line > 0) out += ":" + std::to_string(d.at.line) + ":" + std::to_string(d.at.column);
  if (!out.empty()) out += ": ";
  if (!d.key.empty()) out += printable(d.key) + ": ";
  out += printable(d.problem, 2000);
  if (!d.fix.empty()) out += "\n  fix: " + printable(d.fix, 2000);
  return out;
}

InputError::InputError(std::vector<Diagnostic> faults)
    : std::runtime_error(join(faults)), faults_(std::move(faults)) {}

InputError::InputError(Diagnostic fault) : InputError(std::vector<Diagnostic>{std::move(fault)}) {}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 200) return "";
  std::string best;
  int best_distance = static_cast<int>(std::max<std::size_t>(word.size() / 3, 2)) + 1;
  for (const std::string& c : candidates) {
    const std::size_t longer = std::max(word.size(), c.size()) - std::min(word.size(), c.size());
    if (longer >= static_cast<std::size_t>(best_distance)) continue;  // at least this many letters differ
    const int d = edit_distance(word, c);
    if (d < best_distance && 2 * d <= static_cast<int>(std::max(word.size(), c.size()))) {
      best_distance = d;
      best = c;
    }
  }
  return best;
}

}  // namespace trnplan
