// TOML as a tree: toml++'s, in the order of the file.
#define TOML_EXCEPTIONS 0
// Of lists and inline tables; the parser calls itself for each.
#define TOML_MAX_NESTED_VALUES 32
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "text/tree_builder.h"

namespace trnplan::document {

namespace {

SourcePos place(const std::string& name, const toml::source_position& at) {
  return {name, static_cast<int>(at.line), static_cast<int>(at.column)};
}

/// Behind the comment, or the text in quotes, that begins there: its dots part no keys. Cost: linear.
std::size_t behind_words(std::string_view text, std::size_t from) {
  const char quote = text[from];
  if (quote == '#') return std::min(text.find('\n', from), text.size());
  const std::string_view three = text.substr(from, 3);
  const bool many_lines = three == std::string(3, quote);
  for (std::size_t i = from + (many_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (!many_lines && (text[i] == quote || text[i] == '\n')) {
      return text[i] == quote ? i + 1 : i;
    } else if (many_lines && text.substr(i, 3) == three) {
      const std::size_t most = std::min(i + 5, text.size());  // two quotes more may be its last letters
      for (i += 3; i < most && text[i] == quote;) ++i;
      return i;
    }
  }
  return text.size();
}

/// toml++ makes a table of each part of a dotted key, within the last, and takes any number of them.
void check_dots(const std::string& text, const std::string& name, const DocumentLimits& limits) {
  int line = 1, dots = 0;
  std::size_t start = 0, all = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("#\"'").find(text[i]) != std::string_view::npos) {
      const std::size_t end = behind_words(text, i);
      const std::string_view words = std::string_view(text).substr(i, end - i);
      line += static_cast<int>(std::count(words.begin(), words.end(), '\n'));
      if (const std::size_t last = words.rfind('\n'); last != std::string_view::npos) start = i + last + 1;
      i = end - 1;
      continue;
    }
    const char c = text[i];
    if (c == '.' && ++all > limits.nodes) refuse({name, line}, "the file has too many values", "write fewer");
    if (c == '.' && ++dots >= limits.depth)
      refuse({name, line, static_cast<int>(i - start) + 1}, "keys are nested too deep", "flatten the file");
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
    if (c != '\n') continue;
    ++line;
    start = i + 1;
  }
}

class TomlTree {
 public:
  TomlTree(const std::string& name, const DocumentLimits& limits) : tree_(name, limits), name_(name) {}

  Node take(const toml::table& root) {
    put_table(root, {name_, 1, 1});
    return tree_.take();
  }

 private:
  void put_table(const toml::table& table, const SourcePos& at) {
    using Entry = std::pair<const toml::key*, const toml::node*>;
    std::vector<Entry> entries;
    for (const auto& [key, value] : table) entries.emplace_back(&key, &value);
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.first->source().begin < b.first->source().begin;
    });
    tree_.open(Node::Kind::map, at);
    for (const auto& [key, value] : entries) {
      tree_.scalar(std::string(key->str()), true, place(name_, key->source().begin));
      put(*value);
    }
    tree_.close();
  }

  void put(const toml::node& node) {
    const SourcePos at = place(name_, node.source().begin);
    if (const toml::table* table = node.as_table()) return put_table(*table, at);
    if (const toml::array* list = node.as_array()) {
      tree_.open(Node::Kind::sequence, at);
      for (const toml::node& item : *list) put(item);
      return tree_.close();
    }
    if (const auto* text = node.as_string()) return tree_.scalar(text->get(), true, at);
    if (const auto* whole = node.as_integer()) return tree_.scalar(std::to_string(whole->get()), false, at);
    if (const auto* truth = node.as_boolean())
      return tree_.scalar(truth->get() ? "true" : "false", false, at);
    const auto* number = node.as_floating_point();
    if (number == nullptr)
      refuse(at, "dates and times are not read", "write a number, true, false or \"text\"");
    if (!std::isfinite(number->get())) refuse(at, "this is not a finite number", "write a number");
    std::string digits = fmt::format("{}", number->get());
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";  // 1.0 is no whole number
    tree_.scalar(std::move(digits), false, at);
  }

  TreeBuilder tree_;
  const std::string& name_;
};

}  // namespace

Node parse_toml(const std::string& text, const std::string& name, const DocumentLimits& limits) {
  check_dots(text, name, limits);
  const toml::parse_result read = toml::parse(text);
  if (!read) {
    refuse(place(name, read.error().source().begin),
           "this is not valid TOML: " + std::string(read.error().description()),
           "write key = value, one a line, or [section]");
  }
  return TomlTree(name, limits).take(read.table());
}

}  // namespace trnplan::document
