// TOML as training configs are written in it: tables, keys, texts, numbers, truths and lists of them. Dates, tables within
// lists, inline tables and texts of several lines are refused.
#include <map>
#include <utility>

#include "text/log_lines.h"
#include "text/tree_builder.h"

namespace trnplan::document {

namespace {

bool bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

class TomlParser {
 public:
  TomlParser(const std::string& text, const std::string& name, const DocumentLimits& limits)
      : text_(text), name_(name), limits_(limits) {}

  Node run() {
    root_.kind = Node::Kind::map;
    root_.at = {name_, 1, 1};
    Place table{&root_, 0};
    for (skip_lines(); !at_end(); skip_lines()) {
      if (peek() == '[') {
        table = header();
      } else {
        entry(table);
      }
      skip_blanks();
      if (!at_end() && peek() != '\n' && peek() != '#')
        refuse(here(), "more stands behind the value", "write one key a line");
    }
    return std::move(root_);
  }

 private:
  /// A table and its number; valid until the next header.
  struct Place {
    Node* table;
    std::size_t number;
  };
  /// Where a key stands in the entries of its table, and the number of the table that it names.
  struct Slot {
    std::size_t index, number;
  };

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  SourcePos here() const { return {name_, line_, static_cast<int>(at_ - line_start_) + 1}; }

  void step() {
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    ++at_;
  }
  void skip_blanks() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\r')) step();
  }
  void skip_comment() {
    while (!at_end() && peek() != '\n') step();
  }
  /// To the next thing that is no blank, comment or end of a line.
  void skip_lines() {
    for (;;) {
      skip_blanks();
      if (peek() == '#' && !at_end()) {
        skip_comment();
      } else if (peek() == '\n') {
        step();
      } else {
        return;
      }
    }
  }

  void take(char c, const char* what) {
    skip_blanks();
    if (peek() != c) refuse(here(), std::string(what) + " is missing", std::string("write ") + c);
    step();
  }

  std::string part() {
    skip_blanks();
    if (peek() == '"' || peek() == '\'') return quoted();
    std::string key;
    while (!at_end() && bare(peek())) {
      key += peek();
      step();
    }
    if (key.empty()) refuse(here(), "a key was expected", "write key = value, or [section]");
    return key;
  }

  std::vector<std::string> path() {
    std::vector<std::string> parts = {part()};
    for (skip_blanks(); peek() == '.'; skip_blanks()) {
      step();
      parts.push_back(part());
    }
    if (static_cast<int>(parts.size()) >= limits_.depth)
      refuse(here(), "keys are nested too deep", "flatten the file");
    return parts;
  }

  void count() {
    if (++used_ > limits_.nodes) refuse(here(), "the file has too many values", "write fewer");
  }

  /// Goes to the table of that name in `place`, made where there is none.
  void enter(Place& place, const std::string& key, const SourcePos& at) {
    std::vector<Node::Entry>& entries = place.table->entries;
    const auto [found, fresh] =
        slots_.emplace(std::pair(place.number, key), Slot{entries.size(), slots_.size() + 1});
    if (fresh) {
      count();
      Node made;
      made.kind = Node::Kind::map;
      made.at = at;
      entries.push_back({key, at, std::move(made)});
    }
    place = {&entries[found->second.index].value, found->second.number};
    if (!place.table->is_map()) refuse(at, in_quotes(key) + " is a value already", "use another name");
  }

  Place header() {
    const SourcePos at = here();
    step();
    if (peek() == '[') refuse(at, "lists of tables are not read", "write [section]");
    const std::vector<std::string> parts = path();
    take(']', "the end of the section's name");
    Place place{&root_, 0};
    std::string whole;
    for (const std::string& p : parts) {
      whole += (whole.empty() ? "" : ".") + p;
      enter(place, p, at);
    }
    if (const auto [found, fresh] = headers_.emplace(place.number, line_); !fresh) {
      throw InputError(Diagnostic{at, whole,
                                  "this section was already given at line " + std::to_string(found->second),
                                  "keep one of the two"});
    }
    return place;
  }

  void entry(Place place) {
    const SourcePos at = here();
    const std::vector<std::string> parts = path();
    take('=', "=");
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) enter(place, parts[i], at);
    std::vector<Node::Entry>& entries = place.table->entries;
    const auto [before, fresh] =
        slots_.emplace(std::pair(place.number, parts.back()), Slot{entries.size(), slots_.size() + 1});
    if (!fresh) {
      throw InputError(Diagnostic{
          at, parts.back(),
          "this key was already given at line " + std::to_string(entries[before->second.index].value.at.line),
          "keep one of the two"});
    }
    Node value = read_value(0);
    entries.push_back({parts.back(), at, std::move(value)});
  }

  std::string quoted() {
    const char quote = peek();
    const SourcePos at = here();
    step();
    if (text_.compare(at_, 2, std::string(2, quote)) == 0)
      refuse(at, "texts of several lines are not read", "write it in one line");
    std::string out;
    while (!at_end() && peek() != quote && peek() != '\n') {
      if (quote == '"' && peek() == '\\') {
        step();
        const char c = peek();
        if (c != '"' && c != '\\') refuse(here(), "only \\\" and \\\\ are read", "write the text in '...'");
      }
      out += peek();
      step();
    }
    if (peek() != quote) refuse(at, "the text has no end", "close the quote");
    step();
    return out;
  }

  Node read_value(int depth) {
    skip_blanks();
    count();
    Node node;
    node.at = here();
    if (peek() == '[') {
      list(node, depth);
      return node;
    }
    if (peek() == '{') refuse(node.at, "inline tables are not read", "write a [section]");
    node.kind = Node::Kind::scalar;
    if (peek() == '"' || peek() == '\'') {
      node.quoted = true;
      node.scalar = quoted();
      return node;
    }
    while (!at_end() && (bare(peek()) || peek() == '+' || peek() == '.')) {
      if (peek() != '_') node.scalar += peek();
      step();
    }
    if (node.scalar.starts_with('+')) node.scalar.erase(0, 1);
    if (node.scalar != "true" && node.scalar != "false" && !trnplan::number_of(std::string_view(node.scalar)))
      refuse(node.at, in_quotes(node.scalar) + " is no value",
             "write a number, true, false, a list or \"text\"");
    return node;
  }

  void list(Node& node, int depth) {
    if (depth >= limits_.depth) refuse(here(), "lists are nested too deep", "flatten the file");
    node.kind = Node::Kind::sequence;
    step();
    for (skip_lines(); peek() != ']'; skip_lines()) {
      if (at_end()) refuse(node.at, "the list has no end", "close the bracket");
      node.items.push_back(read_value(depth + 1));
      skip_lines();
      if (at_end()) refuse(node.at, "the list has no end", "close the bracket");
      if (peek() == ',') {
        step();
      } else if (peek() != ']') {
        refuse(here(), "a comma is missing", "write , between values");
      }
    }
    step();
  }

  const std::string& text_;
  const std::string& name_;
  const DocumentLimits& limits_;
  std::size_t at_ = 0, line_start_ = 0, used_ = 0;
  int line_ = 1;
  Node root_;
  std::map<std::pair<std::size_t, std::string>, Slot>
      slots_;                           // by table and key, so that long files stay linear
  std::map<std::size_t, int> headers_;  // number of a table to the line of its [section]
};

}  // namespace

Node parse_toml(const std::string& text, const std::string& name, const DocumentLimits& limits) {
  return TomlParser(text, name, limits).run();
}

}  // namespace trnplan::document
