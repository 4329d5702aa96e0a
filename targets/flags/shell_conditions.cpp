#include "targets/flags/shell_conditions.h"

#include <algorithm>
#include <optional>
#include <span>

#include "targets/flags/shell_scan.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

using enum ShellTruth;

ShellTruth truth(bool holds) {
  return holds ? yes : no;
}

ShellTruth both(ShellTruth a, ShellTruth b) {
  if (a == no || b == no) return no;
  return a == yes && b == yes ? yes : unknown;
}

ShellTruth either(ShellTruth a, ShellTruth b) {
  return shell_not(both(shell_not(a), shell_not(b)));
}

std::optional<std::int64_t> number_in_test(const ShellWord& w) {
  if (!w.known) return std::nullopt;
  const bool negative = w.text.starts_with('-');
  const auto size = whole_number_of(std::string_view(w.text).substr(negative ? 1 : 0));
  return !size ? std::nullopt : std::optional<std::int64_t>(negative ? -*size : *size);
}

ShellTruth compared(const ShellWord& a, std::string_view by, const ShellWord& b, bool patterns) {
  if (by == "=" || by == "==" || by == "!=") {
    const ShellTruth same = !a.known || !b.known ? unknown
                            : patterns           ? shell_matches(a, b.text)
                                                 : truth(a.text == b.text);
    return by == "!=" ? shell_not(same) : same;
  }
  const auto x = number_in_test(a), y = number_in_test(b);
  if (!x || !y) return unknown;
  if (by == "-eq") return truth(*x == *y);
  if (by == "-ne") return truth(*x != *y);
  if (by == "-lt") return truth(*x < *y);
  if (by == "-le") return truth(*x <= *y);
  if (by == "-gt") return truth(*x > *y);
  if (by == "-ge") return truth(*x >= *y);
  return unknown;
}

/// Test without -a and -o, && and ||.
ShellTruth primary(std::span<const ShellWord> words, bool patterns) {
  bool inverted = false;
  while (words.size() > 1 && words.front().text == "!") {
    inverted = !inverted;
    words = words.subspan(1);
  }
  ShellTruth holds = unknown;
  if (words.empty()) {
    holds = no;
  } else if (words.size() == 1) {
    holds = words[0].known ? truth(!words[0].text.empty()) : unknown;
  } else if (words.size() == 2 && (words[0].text == "-z" || words[0].text == "-n")) {
    if (words[1].known) holds = truth(words[1].text.empty() == (words[0].text == "-z"));
  } else if (words.size() == 3) {
    holds = compared(words[0], words[1].text, words[2], patterns);
  }
  return inverted ? shell_not(holds) : holds;
}

/// Truth of words joined by `conjunction` and `disjunction`; unknown if they contain a parenthesis.
ShellTruth combined(std::span<const ShellWord> words, std::string_view conjunction,
                    std::string_view disjunction, bool patterns) {
  if (std::any_of(words.begin(), words.end(),
                  [](const ShellWord& w) { return w.text == "(" || w.text == ")"; }))
    return unknown;
  ShellTruth any = no, all = yes;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= words.size(); ++i) {
    const bool ends = i == words.size(), ors = !ends && words[i].text == disjunction;
    if (!ends && !ors && words[i].text != conjunction) continue;
    all = both(all, primary(words.subspan(from, i - from), patterns));
    from = i + 1;
    if (!ends && !ors) continue;
    any = either(any, all);
    all = yes;
  }
  return any;
}

}  // namespace

ShellTruth shell_not(ShellTruth of) {
  return of == unknown ? unknown : of == yes ? no : yes;
}

ShellTruth shell_matches(const ShellWord& word, std::string_view pattern) {
  constexpr std::size_t kLongest = 256;
  if (pattern == "*") return yes;
  if (!word.known) return unknown;
  if (pattern.find_first_of("*?[") == std::string_view::npos) return truth(word.text == pattern);
  if (pattern.find('[') != std::string_view::npos || pattern.size() > kLongest || word.text.size() > kLongest)
    return unknown;
  const std::string_view text = word.text;
  std::size_t t = 0, p = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t]))) {
      ++t, ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return no;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return truth(p == pattern.size());
}

ShellTruth shell_test(const std::vector<ShellWord>& words) {
  return combined(words, "-a", "-o", false);
}

ShellTruth shell_test(std::string_view expression, ShellValues& values, const ShellWord& at) {
  std::vector<ShellWord> words;
  for (std::size_t i = 0; i < expression.size();) {
    if (blank(expression[i]) || expression[i] == '\n' || expression[i] == '\r') {
      ++i;
      continue;
    }
    std::size_t end = shell_word_end(expression, i);
    if (end == i) {
      const std::string_view two = expression.substr(i, 2);
      end = i + (two == "&&" || two == "||" ? 2 : 1);
      words.push_back({std::string(expression.substr(i, end - i)), at.line, at.column, true});
    } else {
      words.push_back(values.joined(expression.substr(i, end - i), at, true));
    }
    i = end;
  }
  return combined(words, "&&", "||", true);
}

}  // namespace trnplan::targets
