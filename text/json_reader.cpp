#include "text/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "text/log_lines.h"

namespace trnplan {

namespace {

constexpr int kDepth = 64;
constexpr std::size_t kKey = 256;
constexpr std::size_t kToken = 400;  ///< longer than any number

}  // namespace

/// Replaces the current chunk by the stream's next one. Returns false at the end.
bool JsonReader::more() {
  if (stream_ == nullptr) return false;
  line();
  line_start_ -= static_cast<std::int64_t>(at_);
  dropped_ += at_;
  at_ = counted_ = 0;
  buffer_.clear();
  const bool any = append_from(*stream_, buffer_);
  text_ = buffer_;
  return any;
}

JsonReader::Kind JsonReader::peek() {
  if (failed_) return Kind::none;
  skip_blanks();
  if (at_end()) return Kind::none;
  switch (text_[at_]) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::text;
    case ']':
    case '}':
    case ',':
    case ':':
      return Kind::none;
    default:
      break;
  }
  const char c = text_[at_];
  return c == '-' || (c >= '0' && c <= '9') ? Kind::number : Kind::word;
}

bool JsonReader::open(char bracket) {
  if (failed_) return false;
  skip_blanks();
  if (at_end() || text_[at_] != bracket) {
    skip();
    return false;
  }
  if (++depth_ > kDepth) {
    fail(fmt::format("nested deeper than {}", kDepth));
    return false;
  }
  ++at_;
  first_ = true;
  return true;
}

bool JsonReader::close(char bracket) {
  skip_blanks();
  if (at_end()) {
    fail("the text ends within the JSON");
    return true;
  }
  if (text_[at_] == bracket) {
    ++at_;
    --depth_;
    first_ = false;
    return true;
  }
  if (!std::exchange(first_, false)) {
    if (text_[at_] != ',') {
      fail(fmt::format("neither a comma nor {} after a value", bracket));
      return true;
    }
    ++at_;
    skip_blanks();
  }
  return false;
}

bool JsonReader::next_element() {
  if (failed_ || close(']')) return false;
  if (peek() == Kind::none) fail(at_end() ? "the text ends within the JSON" : "a value is missing");
  return !failed_;
}

bool JsonReader::next_entry(std::string& key) {
  if (failed_ || close('}')) return false;
  if (!read_text(key, kKey)) return false;
  skip_blanks();
  if (at_end() || text_[at_] != ':') {
    fail(at_end() ? "the text ends within the JSON" : "no colon after a key");
    return false;
  }
  ++at_;
  if (peek() == Kind::none) fail(at_end() ? "the text ends within the JSON" : "a value is missing");
  return !failed_;
}

void JsonReader::skip_blanks() {
  while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
    ++at_;
  }
}

bool JsonReader::read_text(std::string& out, std::size_t limit) {
  out.clear();
  if (at_end() || text_[at_] != '"') {
    fail(at_end() ? "the text ends within the JSON" : "a key is not in double quotes");
    return false;
  }
  ++at_;
  while (!at_end()) {
    char c = text_[at_++];
    if (c == '"') return true;
    if (c == '\\' && !at_end()) {
      c = text_[at_++];
      if (c == 'u' && out.size() < limit) out += '\\';
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    if (out.size() < limit) out += c;
  }
  fail("the text ends within the JSON");
  return false;
}

std::string_view JsonReader::token() {
  constexpr std::string_view kEnds = ",:[]{}\" \t\r\n";
  const std::size_t start = at_;
  const auto scan = [&] {
    while (at_ < text_.size() && kEnds.find(text_[at_]) == std::string_view::npos) ++at_;
  };
  scan();
  if (at_ < text_.size() || stream_ == nullptr) return text_.substr(start, at_ - start);
  // The scalar crosses the end of a chunk. Of a long one the start suffices to see that it is not a number.
  token_ = text_.substr(start);
  while (more()) {
    scan();
    if (token_.size() <= kToken) token_ += text_.substr(0, at_);
    if (at_ < text_.size()) break;
  }
  return token_;
}

std::optional<double> JsonReader::number() {
  if (peek() == Kind::text) return number_of(text(kToken));
  if (peek() != Kind::number) {
    skip();
    return std::nullopt;
  }
  return number_of(token().substr(0, kToken));
}

std::optional<std::int64_t> JsonReader::whole() {
  if (peek() == Kind::text) return whole_number_of(text(kToken));
  if (peek() != Kind::number) {
    skip();
    return std::nullopt;
  }
  return whole_number_of(token().substr(0, kToken));
}

std::string JsonReader::text(std::size_t limit) {
  std::string out;
  if (peek() == Kind::text) {
    read_text(out, limit);
  } else {
    skip();
  }
  return out;
}

std::string_view JsonReader::scalar(std::size_t limit) {
  if (const Kind kind = peek(); kind == Kind::number || kind == Kind::word) return token().substr(0, limit);
  skip();
  return {};
}

std::string_view JsonReader::word() {
  if (peek() == Kind::word) return token();
  skip();
  return {};
}

void JsonReader::skip() {
  int depth = 0;
  do {
    switch (peek()) {
      case Kind::object:
      case Kind::array:
        ++at_;
        if (depth_ + ++depth > kDepth) fail(fmt::format("nested deeper than {}", kDepth));
        break;
      case Kind::text: {
        std::string ignored;
        read_text(ignored, 0);
        break;
      }
      case Kind::number:
      case Kind::word:
        token();
        break;
      case Kind::none:
        if (failed_) return;
        if (at_end()) return fail("the text ends within the JSON");
        if (depth == 0) return fail("a value is missing");
        if (text_[at_] == '}' || text_[at_] == ']') --depth;
        ++at_;
        break;
    }
  } while (depth > 0 && !failed_);
}

int JsonReader::line() {
  for (; counted_ < at_; ++counted_) {
    if (text_[counted_] != '\n') continue;
    if (line_ < std::numeric_limits<int>::max()) ++line_;
    line_start_ = static_cast<std::int64_t>(counted_) + 1;
  }
  return line_;
}

int JsonReader::column() {
  line();
  return static_cast<int>(static_cast<std::int64_t>(at_) - line_start_) + 1;
}

void JsonReader::fail(std::string problem) {
  if (failed_) return;
  failed_ = true;
  problem_ = std::move(problem);
}

}  // namespace trnplan
