#include "launch/folder/setup_env.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace trnplan::launch {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool in_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9');
}

/// A place in one line.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : left_(line) {}
  bool done() const { return left_.empty(); }
  char front() const { return left_.empty() ? '\0' : left_.front(); }
  char take() {
    const char c = left_.front();
    left_.remove_prefix(1);
    return c;
  }
  bool take(std::string_view text) {
    if (!left_.starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }
  void blanks() {
    while (!done() && is_blank(front())) take();
  }
  std::string name() {
    std::string text;
    if (!begins_name(front())) return text;
    while (!done() && in_name(front())) text += take();
    return text;
  }

 private:
  std::string_view left_;
};

/// Nested defaults beyond this depth are nobody's.
constexpr int kMostNested = 8;

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(&environment) {}

  SetupEnv read(const std::string& text) {
    std::size_t at = 0;
    for (int number = 1; at < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view row = std::string_view(text).substr(at, end - at);
      if (open_ > 0 || !read_line(row, number)) unread(row, number);
      at = end + 1;
    }
    for (auto& [name, value] : env_.values) {
      if (names_.find(' ' + name + ' ') != std::string::npos) value.text.reset();
    }
    return std::move(env_);
  }

 private:
  /// A word of a line; `whole` is false where it does not end or is none.
  struct Word {
    std::string text;
    bool known = true, whole = true;
  };

  /// What the line assigns counts only when all of it is read.
  bool read_line(std::string_view row, int number) {
    Cursor c(row);
    c.blanks();
    std::map<std::string, SetupValue> assigned;
    std::vector<SetupEnv::Assignment> named;
    if (c.take("export ")) c.blanks();
    while (!c.done() && c.front() != '#') {
      const std::string name = c.name();
      if (name.empty()) return false;
      named.push_back({name, number});
      if (c.take("=")) {
        const Word word = read_word(c, assigned, 0);
        if (!word.whole) return false;
        assigned[name] = {word.known ? std::optional(word.text) : std::nullopt, number};
      } else if (!row.starts_with("export ")) {
        return false;
      }
      if (!c.done() && !is_blank(c.front()) && c.front() != ';') return false;
      c.blanks();
      if (c.take(";")) c.blanks();
    }
    for (auto& [name, value] : assigned) env_.values[name] = value;
    env_.assignments.insert(env_.assignments.end(), named.begin(), named.end());
    return true;
  }

  /// Up to a blank, a semicolon or, inside ${NAME:-...}, the closing brace.
  Word read_word(Cursor& c, const std::map<std::string, SetupValue>& assigned, int nested) {
    Word word;
    bool quoted = false;
    while (!c.done() && word.whole) {
      const char next = c.front();
      if (!quoted && (is_blank(next) || next == ';')) break;
      if (nested > 0 && next == '}') break;
      c.take();
      if (next == '"') {
        quoted = !quoted;
      } else if (next == '\'' && !quoted) {
        take_single(c, word);
      } else if (next == '\\') {
        take_escaped(c, word, quoted);
      } else if (next == '$') {
        expand(c, assigned, nested, word);
      } else if (next == '`') {
        word.known = word.whole = false;
      } else if (!quoted && std::string_view("&|<>()").find(next) != std::string_view::npos) {
        word.whole = false;
      } else {
        const bool first = word.text.empty() || word.text.back() == ':';
        if (!quoted && next == '~' && first) word.known = false;  // of an assignment nothing else is expanded
        word.text += next;
      }
    }
    if (quoted) word.whole = false;
    return word;
  }

  static void take_single(Cursor& c, Word& word) {
    while (!c.done() && c.front() != '\'') word.text += c.take();
    if (c.done()) {
      word.whole = false;
    } else {
      c.take();
    }
  }

  static void take_escaped(Cursor& c, Word& word, bool quoted) {
    if (c.done()) {
      word.whole = false;  // the line goes on
      return;
    }
    const char next = c.take();
    if (quoted && std::string_view("\"\\$`").find(next) == std::string_view::npos) word.text += '\\';
    word.text += next;
  }

  /// After the dollar.
  void expand(Cursor& c, const std::map<std::string, SetupValue>& assigned, int nested, Word& word) {
    if (c.front() == '(') {
      take_command(c, word);
      return;
    }
    const bool braces = c.take("{");
    const std::string name = c.name();
    if (name.empty()) {
      if (braces || in_name(c.front()) || c.front() == '\'') word.whole = false;
      word.text += '$';
      if (!c.done() && !is_blank(c.front()) && c.front() != '"') word.known = false;
      return;
    }
    std::optional<std::string> value;
    const bool known = value_of(name, assigned, value);
    word.known = word.known && known;
    if (braces) {
      const bool or_empty = c.take(":-");
      if (or_empty || c.take("-")) {
        if (nested == kMostNested) word.whole = false;
        if (!word.whole) return;
        const Word fallback = read_default(c, assigned, nested + 1);
        word.whole = fallback.whole;
        if (known && (!value || (or_empty && value->empty()))) {
          value = fallback.text;
          word.known = word.known && fallback.known;
        }
      }
      if (!c.take("}")) word.whole = false;
    }
    word.text += value.value_or("");
  }

  /// A default takes blanks as they are.
  Word read_default(Cursor& c, const std::map<std::string, SetupValue>& assigned, int nested) {
    Word all;
    while (!c.done() && c.front() != '}' && all.whole) {
      if (is_blank(c.front()) || c.front() == ';') {
        all.text += c.take();
        continue;
      }
      const Word part = read_word(c, assigned, nested);
      all.text += part.text;
      all.known = all.known && part.known;
      all.whole = part.whole;
    }
    return all;
  }

  /// $(...): what it prints is not known; it is skipped up to its end, which brackets in quotes do not make.
  static void take_command(Cursor& c, Word& word) {
    word.known = false;
    int open = 0;
    char before = ' ';
    while (!c.done()) {
      const char next = c.take();
      const bool comment = next == '#' && (is_blank(before) || before == ';' || before == '(');
      if (comment || next == '`' || next == '<' || next == '\\') break;
      if ((next == '\'' || next == '"') && !take_quoted(c, next)) break;
      if (next == '(') ++open;
      if (next == ')' && --open == 0) return;
      before = next;
    }
    word.whole = false;
  }

  /// Up to the quote that ends it; false where none does, or something in it may hold quotes of its own.
  static bool take_quoted(Cursor& c, char quote) {
    while (!c.done()) {
      const char next = c.take();
      if (next == quote) return true;
      if (quote == '"' && (next == '\\' || next == '`' || (next == '$' && c.front() == '('))) return false;
    }
    return false;
  }

  /// False when it is assigned and not known.
  bool value_of(const std::string& name, const std::map<std::string, SetupValue>& assigned,
                std::optional<std::string>& value) const {
    for (const auto* values :
         {&assigned, static_cast<const std::map<std::string, SetupValue>*>(&env_.values)}) {
      const auto found = values->find(name);
      if (found == values->end()) continue;
      value = found->second.text;
      return value.has_value();
    }
    value = (*environment_)(name);
    return true;
  }

  void unread(std::string_view row, int number) {
    env_.unread.push_back(number);
    follow(row);
    names_ += ' ';
    for (const char c : row) names_ += in_name(c) ? c : ' ';
    names_ += ' ';
    // What is assigned for the first time there is to be known as not known.
    Cursor c(row);
    while (!c.done()) {
      const std::string name = c.name();
      if (!name.empty() && (c.take("+=") || c.take("=")))
        env_.values.try_emplace(name, SetupValue{std::nullopt, number});
      if (!c.done()) c.take();
    }
  }

  /// Inside of if, for, case and functions, and after what may end the file or run over lines, nothing is
  /// sure.
  void follow(std::string_view row) {
    std::string first, last, word;
    for (const char c : std::string(row) + ' ') {
      if (!is_blank(c) && c != ';') {
        word += c;
        continue;
      }
      if (first.empty()) first = word;
      if (!word.empty()) last = word;
      word.clear();
    }
    const auto one_of = [](const std::string& w, std::initializer_list<std::string_view> words) {
      return std::find(words.begin(), words.end(), w) != words.end();
    };
    if (one_of(first, {"if", "for", "while", "until", "case", "select", "function", "{"}) ||
        row.find("()") != std::string_view::npos)
      ++open_;
    if (one_of(last, {"fi", "done", "esac", "}"}) && open_ > 0) --open_;
    const bool quotes =
        std::count(row.begin(), row.end(), '"') % 2 + std::count(row.begin(), row.end(), '\'') % 2 > 0;
    if (one_of(first, {"return", "exit", "exec"}) || quotes || row.ends_with('\\') ||
        row.find("<<") != std::string_view::npos)
      open_ = kForGood;
  }

  static constexpr int kForGood = 1 << 20;
  const Environment* environment_;
  SetupEnv env_;
  int open_ = 0;       ///< compound commands around the line
  std::string names_;  ///< words of lines that were not read, blanks between
};

}  // namespace

SetupEnv read_setup_env(const std::string& text, const Environment& environment) {
  return Reader(environment).read(text);
}

}  // namespace trnplan::launch
