#include "targets/flags/shell_values.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "targets/flags/shell_scan.h"
#include "targets/flags/shell_sum.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

/// Most bytes that a script expands to in total, and the bytes counted in addition for each word; our own
/// limits.
constexpr std::size_t kMostExpanded = 8 << 20, kOfAWord = 16;
/// Most levels of defaults inside defaults; our own limit.
constexpr int kDeepestDefault = 32;
/// Most bytes that are kept of a text that is unknown.
constexpr std::size_t kShown = 80;

}  // namespace

struct ShellValues::Fields {
  std::vector<ShellWord> done;
  ShellWord open;
  bool started = false;
  bool none = false;  ///< "$@" without arguments: makes no word
  Way way;
  ShellWord place;

  void end() {
    if (started) done.push_back(std::move(open));
    open = place;
    started = false;
  }
};

void ShellValues::count(std::size_t bytes) {
  bytes_ += bytes + kOfAWord;
  if (bytes_ <= kMostExpanded) return;
  throw InputError({{name_, 0, 0},
                    "",
                    "the script expands to more than 8 MiB",
                    "give the script that starts the run, or the line that it ends in"});
}

void ShellValues::add(Fields& f, std::string_view text) {
  count(text.size());
  f.open.text += text;
  f.started = true;
}

void ShellValues::unknown(Fields& f, std::string_view source) {
  add(f, source.substr(0, kShown));
  f.open.known = false;
}

const ShellVariable* ShellValues::find(std::string_view name) {
  if (const auto own = variables_.find(name); own != variables_.end()) return &own->second;
  const auto given = environment_.find(name);
  if (given == environment_.end()) return nullptr;
  const auto [taken, added] = taken_.try_emplace(given->first);
  if (added) taken->second.items = {{given->second, 0, 0, true}};
  return &taken->second;
}

void ShellValues::append(std::string_view name, ShellVariable value) {
  const ShellVariable* before = find(name);
  if (before == nullptr) return set(name, std::move(value));
  ShellVariable& own = variables_.try_emplace(std::string(name), *before).first->second;
  if (value.array || own.array) {
    own.array = true;
    own.items.insert(own.items.end(), value.items.begin(), value.items.end());
    return;
  }
  if (own.items.empty()) own.items.emplace_back();
  ShellWord& one = own.items.front();
  for (const ShellWord& more : value.items) {
    count(more.text.size());
    one.text += more.text;
    one.known = one.known && more.known;
  }
}

void ShellValues::unset(std::string_view name) {
  variables_[std::string(name)] = {};  // empty, even if the environment has one
}

void ShellValues::put(Fields& f, const ShellVariable& v, bool all, bool joins, bool quoted) {
  if (all && v.items.empty()) f.none = true;
  const std::size_t last = all ? v.items.size() : std::min<std::size_t>(1, v.items.size());
  for (std::size_t i = 0; i < last; ++i) {
    const ShellWord& item = v.items[i];
    const bool splits = f.way.splits && !quoted;
    const bool parts = f.way.splits && !(joins && quoted);
    if (i > 0 && parts) f.end();
    if (i > 0 && !parts) add(f, " ");
    const auto settle = [&] {
      if (!f.started && item.line > 0) f.open.line = item.line, f.open.column = item.column;
    };
    if (!splits || !item.known) {
      if (all || !item.known) settle();
      if (quoted || !item.text.empty()) add(f, item.text);
      f.open.known = f.open.known && item.known;
      continue;
    }
    std::string_view rest = item.text;
    for (std::size_t at = 0; at < rest.size();) {
      const bool gap = blank(rest[at]) || rest[at] == '\n';
      std::size_t end = at;
      while (end < rest.size() && (blank(rest[end]) || rest[end] == '\n') == gap) ++end;
      if (gap) {
        f.end();
      } else {
        if (all || end < rest.size() || at > 0) settle();
        add(f, rest.substr(at, end - at));
      }
      at = end;
    }
  }
}

void ShellValues::parameter(Fields& f, std::string_view inner, std::string_view source, bool quoted,
                            int depth) {
  const bool counts = inner.size() > 1 && inner.front() == '#';
  if (counts) inner.remove_prefix(1);
  std::size_t end = 0;
  while (end < inner.size() && shell_name_char(inner[end])) ++end;
  if (end == 0 && !inner.empty() && std::string_view("@*#").find(inner.front()) != std::string_view::npos)
    end = 1;
  const std::string_view name = inner.substr(0, end);
  std::string_view rest = inner.substr(end);
  if (name.empty() || depth > kDeepestDefault) return unknown(f, source);

  bool all = name == "@" || name == "*", joins = name == "*";
  std::size_t index = 0;
  if (rest.starts_with('[')) {
    const std::size_t closed = rest.find(']');
    if (closed == std::string_view::npos) return unknown(f, source);
    const std::string_view which = rest.substr(1, closed - 1);
    all = which == "@" || which == "*";
    joins = which == "*";
    const auto number = whole_number_of(which);
    if (!all && !number) return unknown(f, source);
    index = static_cast<std::size_t>(number.value_or(0));
    rest.remove_prefix(closed + 1);
  }

  static const ShellVariable kNone{{}, true}, kZero{{{"0", 0, 0, true}}, false};
  const bool arguments = name == "@" || name == "*";
  const ShellVariable* v = arguments ? &kNone : name == "#" ? &kZero : find(name);
  ShellVariable one;
  if (v != nullptr && index > 0) {
    if (index < v->items.size()) one.items = {v->items[index]};
    v = one.items.empty() ? nullptr : &one;
  }
  if (counts) {
    if (v == nullptr || !rest.empty() || (!all && (v->items.empty() || !v->items.front().known)))
      return f.way.unset_is_empty && v == nullptr ? add(f, "0") : unknown(f, source);
    return add(f, std::to_string(all ? v->items.size() : v->items.front().text.size()));
  }

  const bool empty =
      v != nullptr &&
      (v->items.empty() || (v->items.size() == 1 && v->items.front().known && v->items.front().text.empty()));
  const auto value = [&] {
    if (v != nullptr) return put(f, *v, all, joins, quoted);
    if (f.way.unset_is_empty) return quoted ? add(f, "") : void();
    unknown(f, source);
  };
  if (rest.empty()) return value();
  const bool colon = rest.front() == ':';
  if (colon) rest.remove_prefix(1);
  if (rest.empty()) return unknown(f, source);
  const char sign = rest.front();
  const std::string_view word = rest.substr(1);
  const bool lacks = v == nullptr || (colon && empty);
  if (sign == '+') {
    if (!lacks) expand(f, word, quoted, depth + 1);
    return;
  }
  if (sign != '-' && sign != '=' && sign != '?') return unknown(f, source);
  if (!lacks) return value();
  if (sign == '?') return unknown(f, source);
  if (sign == '=' && shell_name_char(name.front()) &&
      std::isdigit(static_cast<unsigned char>(name.front())) == 0) {
    Fields whole;
    whole.place = whole.open = f.place;
    whole.way = {false, f.way.unset_is_empty};
    expand(whole, word, true, depth + 1);
    set(name, {{std::move(whole.open)}, false});
    return put(f, *find(name), false, false, quoted);
  }
  expand(f, word, quoted, depth + 1);
}

std::size_t ShellValues::dollar(Fields& f, std::string_view text, std::size_t at, bool quoted, int depth) {
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  if (next == '(' || next == '{') {
    const std::size_t end = shell_closed(text, at);
    const std::string_view source = text.substr(at, end - at);
    const bool closed = source.size() > 2 && source.back() == (next == '(' ? ')' : '}');
    const bool sum =
        closed && next == '(' && source.starts_with("$((") && source.ends_with("))") && source.size() > 4;
    const auto number = sum ? arithmetic(source.substr(3, source.size() - 5), f.place) : std::nullopt;
    if (closed && next == '{') {
      parameter(f, source.substr(2, source.size() - 3), source, quoted, depth);
    } else {
      number ? add(f, std::to_string(*number)) : unknown(f, source);
    }
    return end;
  }
  std::size_t end = at + 1;
  if (std::isdigit(static_cast<unsigned char>(next)) != 0 ||
      std::string_view("@*#").find(next) != std::string_view::npos)
    ++end;
  else
    while (end < text.size() && shell_name_char(text[end])) ++end;
  const std::string_view source = text.substr(at, end - at);
  if (end > at + 1) {
    parameter(f, source.substr(1), source, quoted, depth);
  } else if (next == '?' || next == '$' || next == '!' || next == '-') {
    unknown(f, text.substr(at, 2));
    ++end;
  } else if (next != '\'' && next != '"') {
    add(f, "$");
  }
  return end;
}

void ShellValues::expand(Fields& f, std::string_view text, bool quoted, int depth) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '\\') {
      const bool stays = quoted && next != '$' && next != '`' && next != '"' && next != '\\' && next != '\n';
      if (stays) add(f, "\\");
      if (next != '\n' && next != '\0') add(f, text.substr(at + 1, 1));
      at += 2;
    } else if (c == '\'' && !quoted) {
      const std::size_t end = std::min(text.find('\'', at + 1), text.size());
      add(f, text.substr(at + 1, end - at - 1));
      at = end + 1;
    } else if (c == '"' && !quoted) {
      const std::size_t end = shell_closed(text, at);
      const bool closed = end - at > 1 && text[end - 1] == '"';
      f.none = false;
      const bool before = f.started;
      expand(f, text.substr(at + 1, end - at - (closed ? 2 : 1)), true, depth);
      if (!f.none || before) f.started = true;
      f.none = false;
      at = end;
    } else if (c == '"') {
      ++at;
    } else if (c == '$') {
      at = dollar(f, text, at, quoted, depth);
    } else if (c == '`') {
      const std::size_t end = shell_closed(text, at);
      unknown(f, text.substr(at, end - at));
      at = end;
    } else {
      std::size_t end = at + 1;
      while (end < text.size() && std::string_view("\\'\"$`").find(text[end]) == std::string_view::npos)
        ++end;
      add(f, text.substr(at, end - at));
      at = end;
    }
  }
}

std::vector<ShellWord> ShellValues::expanded(std::string_view word, const ShellWord& at, Way way) {
  Fields f;
  f.place = f.open = {"", at.line, at.column, true};
  f.way = way;
  expand(f, word, false, 0);
  f.end();
  return std::move(f.done);
}

ShellWord ShellValues::joined(std::string_view word, const ShellWord& at, bool unset_is_empty) {
  Fields f;
  f.place = f.open = {"", at.line, at.column, true};
  f.way = {false, unset_is_empty};
  expand(f, word, false, 0);
  return std::move(f.open);
}

std::optional<std::int64_t> ShellValues::arithmetic(std::string_view expression, const ShellWord& at) {
  const ShellWord plain = joined(expression, at, true);
  if (!plain.known) return std::nullopt;
  count(plain.text.size());
  return shell_sum(plain.text, *this);
}

}  // namespace trnplan::targets
