#include "targets/flags/shell_scan.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

/// Walks through a text and tracks what is open.
class ShellScan {
 public:
  ShellScan(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }
  bool ended() const { return at_ >= text_.size(); }
  bool inside() const { return !open_.empty(); }
  char here() const { return text_[at_]; }

  /// Advances over one character, or over all that it quotes.
  void step() {
    const char c = here(), next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    const char within = open_.empty() ? '\0' : open_.back();
    if (c == '\\') return advance(2);
    if (c == '\'' && within != '"') return quoted();
    if (c == '"') return within == '"' ? close() : open('"', 1);
    if (c == '`') return within == '`' ? close() : open('`', 1);
    if (c == '$' && next == '(') return open(')', 2);
    if (c == '$' && next == '{') return open('}', 2);
    if (c == '(' && within == ')') return open(')', 1);
    if (inside() && c == within) return close();
    advance(1);
  }
  void open(char closes, std::size_t length) {
    open_.push_back(closes);
    advance(length);
  }

 private:
  void advance(std::size_t length) { at_ = std::min(at_ + length, text_.size()); }
  void close() {
    open_.pop_back();
    advance(1);
  }
  void quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
  }

  std::string_view text_;
  std::size_t at_;
  std::vector<char> open_;
};

}  // namespace

bool shell_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool shell_word_ends(char c) {
  return blank(c) || c == '\r' || std::string_view("\n;&|<>()").find(c) != std::string_view::npos;
}

std::size_t shell_word_end(std::string_view text, std::size_t at) {
  ShellScan scan(text, at);
  while (!scan.ended() && (scan.inside() || !shell_word_ends(scan.here()))) scan.step();
  return scan.at();
}

std::size_t shell_closed(std::string_view text, std::size_t at) {
  ShellScan scan(text, at);
  if (scan.ended()) return scan.at();
  if (scan.here() == '(')
    scan.open(')', 1);
  else
    scan.step();
  while (!scan.ended() && scan.inside()) scan.step();
  return scan.at();
}

std::vector<std::string_view> shell_changed_names(std::string_view expression) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < expression.size();) {
    if (!shell_name_char(expression[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < expression.size() && shell_name_char(expression[end])) ++end;
    std::size_t next = end;
    while (next < expression.size() && blank(expression[next])) ++next;
    const std::string_view behind = expression.substr(next), before = expression.substr(0, i);
    const std::size_t sign = behind.find_first_not_of("+-*/%&|^<>");
    const bool compares = behind.starts_with("<=") || behind.starts_with(">=");
    const bool assigned = sign != std::string_view::npos && behind[sign] == '=' &&
                          !behind.substr(sign).starts_with("==") && !compares;
    const bool stepped = behind.starts_with("++") || behind.starts_with("--") || before.ends_with("++") ||
                         before.ends_with("--");
    if ((assigned || stepped) && std::isdigit(static_cast<unsigned char>(expression[i])) == 0)
      names.push_back(expression.substr(i, end - i));
    i = end;
  }
  return names;
}

std::string_view shell_indexed(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() && shell_name_char(word[end])) ++end;
  if (end == 0 || end >= word.size() || word[end] != '[') return "";
  const std::size_t closes = word.find(']', end);
  const std::string_view behind = closes == std::string_view::npos ? "" : word.substr(closes + 1);
  return behind.starts_with('=') || behind.starts_with("+=") ? word.substr(0, end) : "";
}

}  // namespace trnplan::targets
