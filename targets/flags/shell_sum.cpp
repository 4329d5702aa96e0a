#include "targets/flags/shell_sum.h"

#include <cstddef>
#include <limits>

#include "targets/flags/shell_scan.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

/// Most levels of parentheses; our own limit.
constexpr int kDeepestSum = 64;

class ShellSum {
 public:
  ShellSum(std::string_view text, ShellValues& values) : text_(text), values_(values) {}

  std::optional<std::int64_t> result() {
    const auto all = level(0, 0);
    skip();
    return at_ == text_.size() ? all : std::nullopt;
  }

 private:
  using Number = std::optional<std::int64_t>;

  void skip() {
    while (at_ < text_.size() && (blank(text_[at_]) || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view sign) {
    skip();
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }

  /// Operators by precedence; of two that begin alike, the longer one comes first.
  static constexpr int kLevels = 6, kMostSigns = 4;
  static constexpr std::string_view kSigns[kLevels][kMostSigns] = {
      {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};

  std::string_view sign_of(int at_level) {
    for (const std::string_view sign : kSigns[at_level]) {
      if (!sign.empty() && take(sign)) return sign;
    }
    return {};
  }

  static Number applied(std::string_view sign, std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    switch (sign.front()) {
      case '+':
        return __builtin_add_overflow(a, b, &r) ? Number() : r;
      case '-':
        return __builtin_sub_overflow(a, b, &r) ? Number() : r;
      case '*':
        return __builtin_mul_overflow(a, b, &r) ? Number() : r;
      case '/':
      case '%':
        if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return {};
        return sign == "/" ? a / b : a % b;
      case '|':
        return a != 0 || b != 0 ? 1 : 0;
      case '&':
        return a != 0 && b != 0 ? 1 : 0;
      case '=':
        return a == b ? 1 : 0;
      case '!':
        return a != b ? 1 : 0;
      default:
        break;
    }
    const bool equal = sign.size() == 2 && a == b;
    return equal || (sign.front() == '<' ? a < b : a > b) ? 1 : 0;
  }

  Number level(int of, int depth) {
    if (of == kLevels) return single(depth);
    Number left = level(of + 1, depth);
    while (left) {
      const std::string_view sign = sign_of(of);
      if (sign.empty()) break;
      const Number right = level(of + 1, depth);
      left = right ? applied(sign, *left, *right) : Number();
    }
    return left;
  }

  Number single(int depth) {
    if (depth == kDeepestSum) return {};
    if (take("(")) {
      const Number inner = level(0, depth + 1);
      return take(")") ? inner : Number();
    }
    if (take("-")) {
      const Number of = single(depth + 1);
      return of ? applied("-", 0, *of) : Number();
    }
    if (take("!")) {
      const Number of = single(depth + 1);
      return of ? Number(*of == 0 ? 1 : 0) : Number();
    }
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && shell_name_char(text_[at_])) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    if (word.empty()) return {};
    if (const auto number = whole_number_of(word)) return number;
    const ShellVariable* v = values_.find(word);
    if (v == nullptr || v->items.empty() || !v->items.front().known) return {};
    return whole_number_of(v->items.front().text);
  }

  std::string_view text_;
  ShellValues& values_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_sum(std::string_view expression, ShellValues& values) {
  return ShellSum(expression, values).result();
}

}  // namespace trnplan::targets
