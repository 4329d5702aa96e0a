#include "targets/flags/shell_source.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "targets/flags/shell_scan.h"
#include "text/log_lines.h"

namespace trnplan::targets {

std::size_t shell_assigns(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() && shell_name_char(word[end])) ++end;
  if (end == 0 || std::isdigit(static_cast<unsigned char>(word[0])) != 0) return 0;
  if (word.substr(end).starts_with("+=")) return end + 2;
  return word.substr(end).starts_with('=') ? end + 1 : 0;
}

ShellSource::ShellSource(std::string_view text) : text_(text) {
  lines_.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines_.push_back(i + 1);
  }
}

ShellWord ShellSource::place(std::size_t at) const {
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), at);
  return {"", static_cast<int>(next - lines_.begin()), static_cast<int>(at - *std::prev(next)) + 1, true};
}

void ShellSource::skip_blanks() {
  for (; at_ < text_.size(); ++at_) {
    if (text_.substr(at_, 2) == "\\\n") {
      ++at_;
    } else if (text_.substr(at_, 3) == "\\\r\n") {
      at_ += 2;
    } else if (!blank(text_[at_]) && text_[at_] != '\r') {
      break;
    }
  }
}

void ShellSource::skip_space() {
  for (;;) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '\n')
      ++at_;
    else if (!comment())
      return;
  }
}

bool ShellSource::comment() {
  if (at_ >= text_.size() || text_[at_] != '#') return false;
  at_ = std::min(text_.find('\n', at_), text_.size());
  return true;
}

void ShellSource::documents() {
  for (const std::string& end : ends_) {
    while (at_ < text_.size()) {
      const std::size_t line = std::min(text_.find('\n', at_), text_.size());
      const std::string_view whole = trimmed(text_.substr(at_, line - at_));
      at_ = std::min(line + 1, text_.size());
      if (whole == end) break;
    }
  }
  ends_.clear();
}

bool ShellSource::parentheses() {
  skip_blanks();
  if (at_ >= text_.size() || text_[at_] != '(') return false;
  std::size_t at = at_ + 1;
  while (at < text_.size() && blank(text_[at])) ++at;
  if (at >= text_.size() || text_[at] != ')') return false;
  at_ = at + 1;
  skip_space();
  return true;
}

ShellSlice ShellSource::word() {
  const std::size_t from = at_;
  at_ = shell_word_end(text_, at_);
  return {from, at_};
}

ShellRawWord ShellSource::raw_word() {
  ShellRawWord w{word(), false, {}};
  const std::string_view text = slice(w.all);
  if (at_ >= text_.size() || text_[at_] != '(' || shell_assigns(text) != text.size() || text.empty())
    return w;
  w.array = true;
  for (++at_; at_ < text_.size();) {
    skip_space();
    if (at_ >= text_.size()) break;
    if (text_[at_] == ')') {
      ++at_;
      break;
    }
    const ShellSlice item = word();
    if (item.to == item.from)
      ++at_;
    else
      w.items.push_back(item);
  }
  return w;
}

/// Skips one of > FILE, 2>&1, < FILE, <<END; true if there was one.
bool ShellSource::redirection() {
  std::size_t at = at_;
  while (at < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at])) != 0) ++at;
  if (at + 1 < text_.size() && text_[at] == '&' && text_[at + 1] == '>') ++at;
  if (at >= text_.size() || (text_[at] != '<' && text_[at] != '>')) return false;
  if (process(at)) return true;
  const bool document = text_.substr(at, 2) == "<<" && text_.substr(at, 3) != "<<<";
  while (at < text_.size() && std::string_view("<>&|-").find(text_[at]) != std::string_view::npos) ++at;
  at_ = at;
  skip_blanks();
  if (process(at_)) return true;
  const ShellSlice w = word();
  if (document) {
    std::string end(slice(w));
    std::erase_if(end, [](char c) { return c == '"' || c == '\'' || c == '\\'; });
    ends_.push_back(std::move(end));
  }
  return true;
}

/// Skips a process in place of a file, <(...); true if there was one.
bool ShellSource::process(std::size_t at) {
  const std::string_view two = text_.substr(at, 2);
  if (two != "<(" && two != ">(") return false;
  at_ = shell_closed(text_, at + 1);
  return true;
}

std::vector<ShellRawWord> ShellSource::command_words() {
  std::vector<ShellRawWord> all;
  for (;;) {
    skip_blanks();
    if (at_ >= text_.size() || comment()) break;
    if (redirection()) continue;
    const std::size_t from = at_;
    ShellRawWord w = raw_word();
    if (at_ == from) break;
    all.push_back(std::move(w));
    if (all.size() == 1 && parentheses()) return {};
  }
  return all;
}

}  // namespace trnplan::targets
