// JSON as a tree, built from the events of nlohmann's parser and their positions in the text.
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "text/tree_builder.h"

namespace trnplan::document {

namespace {

/// An iterator that counts how far nlohmann's lexer has read, because the lexer's events carry no position.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* place = nullptr;
  std::size_t* read = nullptr;

  reference operator*() const { return *place; }
  CountingIterator& operator++() {
    ++place;
    ++*read;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& o) const { return place == o.place; }
};

class JsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonHandler(TreeBuilder& tree, const std::string& text, const std::size_t& read)
      : tree_(tree), text_(text), read_(read) {}

  bool null() override {
    tree_.null(word());
    return true;
  }
  bool boolean(bool value) override { return plain(value ? "true" : "false", word()); }
  bool number_integer(std::int64_t value) override { return plain(std::to_string(value), number()); }
  bool number_unsigned(std::uint64_t value) override { return plain(std::to_string(value), number()); }
  bool number_float(double, const std::string& digits) override { return plain(digits, number()); }
  bool string(std::string& value) override {
    tree_.scalar(value, true, quoted());
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Kind::map); }
  bool key(std::string& value) override { return string(value); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Node::Kind::sequence); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    // Either "[name of the exception] parse error at line 1, column 2: what is wrong", or that without the
    // middle part.
    const std::string what = e.what();
    const std::size_t name = what.find("] "), place = what.find(": ");
    const std::size_t message = place != std::string::npos ? place : name;
    refuse(at(read_ == 0 ? 0 : read_ - 1),
           "this is not valid JSON: " + (message == std::string::npos ? what : what.substr(message + 2)),
           "check commas, quotes and brackets here and before; JSON has no comments and no trailing commas");
  }

 private:
  bool plain(std::string text, const SourcePos& where) {
    tree_.scalar(std::move(text), false, where);
    return true;
  }
  bool open(Node::Kind kind) {
    tree_.open(kind, at(read_ - 1));
    return true;
  }
  bool close() {
    tree_.close();
    return true;
  }

  /// Line and column of an offset. Offsets only grow, so the whole parse counts the lines once.
  SourcePos at(std::size_t offset) {
    for (; counted_ < offset && counted_ < text_.size(); ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    const std::size_t column = offset >= line_start_ ? offset - line_start_ + 1 : 1;
    return tree_.position(line_, static_cast<int>(column));
  }
  /// Start of the token that ends at the last character read; goes back over characters of `set`. After a
  /// number or a literal the lexer may have read one character too many.
  SourcePos back_over(std::string_view set) {
    const auto in_set = [&](std::size_t i) { return set.find(text_[i]) != std::string_view::npos; };
    std::size_t start = read_;
    if (start > 0 && !in_set(start - 1)) --start;
    while (start > 0 && in_set(start - 1)) --start;
    return at(start);
  }
  SourcePos number() { return back_over("+-.0123456789eE"); }
  SourcePos word() { return back_over("aeflnrstu"); }
  SourcePos quoted() {
    std::size_t start =
        read_ >= 2 ? read_ - 2 : 0;  // the character before the closing quote, or the opening quote
    while (start > 0 && !(text_[start] == '"' && !escaped(start))) --start;
    return at(start);
  }
  bool escaped(std::size_t i) const {
    std::size_t backslashes = 0;
    while (backslashes < i && text_[i - 1 - backslashes] == '\\') ++backslashes;
    return backslashes % 2 == 1;
  }

  TreeBuilder& tree_;
  const std::string& text_;
  const std::size_t& read_;
  std::size_t counted_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

/// Parses JSON. nlohmann's parser keeps its own stack of one bit per level, so nesting cannot exhaust the
/// program's.
Node parse_json(const std::string& text, const std::string& name, const DocumentLimits& limits) {
  TreeBuilder tree(name, limits);
  std::size_t read = 0;
  JsonHandler handler(tree, text, read);
  const CountingIterator first{text.data(), &read};
  const CountingIterator last{text.data() + text.size(), &read};
  nlohmann::json::sax_parse(first, last, &handler);
  return tree.take();
}

}  // namespace trnplan::document
