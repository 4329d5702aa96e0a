#include "targets/flags/shell_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "targets/flags/shell_conditions.h"
#include "targets/flags/shell_scan.h"
#include "targets/flags/shell_values.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

/// Compound commands inside each other; ours.
constexpr std::size_t kDeepestCompound = 64;
/// Notes that are kept; ours.
constexpr std::size_t kMostNotes = 20;

struct ShellSlice {
  std::size_t from = 0, to = 0;
};
/// A word as it is written: NAME=(items) is one.
struct RawWord {
  ShellSlice all;
  bool array = false;
  std::vector<ShellSlice> items;
};

class Follower {
 public:
  Follower(std::string_view text, const std::string& name, const ShellEnvironment& environment)
      : text_(text), name_(name), values_(name, environment) {
    lines_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(i + 1);
    }
  }

  ShellReading reading() {
    while (separate()) command();
    for (const auto& [name, variable] : values_.all()) out_.variables[name] = variable.items;
    out_.variables.merge(std::move(prefixes_));
    out_.taken = values_.taken();
    return std::move(out_);
  }

 private:
  enum class Kind { when, loop, choice, group };
  struct Frame {
    Kind kind = Kind::group;
    bool before = true;        ///< what was run outside
    bool enters = true;        ///< it is run itself
    bool taken = false;        ///< of its branches one was
    bool until = false;        ///< of a loop
    bool patterns = false;     ///< of a choice: what comes next are patterns
    std::optional<bool> runs;  ///< of a loop over words
    ShellWord word;            ///< of a choice
    char closes = '\0';        ///< of a group
  };

  // Places and notes.
  ShellWord place(std::size_t at) const {
    const auto next = std::upper_bound(lines_.begin(), lines_.end(), at);
    return {"", static_cast<int>(next - lines_.begin()), static_cast<int>(at - *std::prev(next)) + 1, true};
  }
  void note(std::size_t at, std::string text) {
    if (out_.notes.size() < kMostNotes)
      out_.notes.push_back(fmt::format("line {}: {}", place(at).line, text));
  }
  std::string_view slice(ShellSlice s) const { return text_.substr(s.from, s.to - s.from); }

  // What parts commands.
  void skip_blanks() {
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
  bool comment() {
    if (at_ >= text_.size() || text_[at_] != '#') return false;
    at_ = std::min(text_.find('\n', at_), text_.size());
    return true;
  }

  /// A command that follows "&&" or "||" is run by what came before.
  void chain(bool conjunction) {
    const bool known = last_ != ShellTruth::unknown;
    chained_ = conjunction ? last_ == ShellTruth::yes || (!known && !tested_) : last_ == ShellTruth::no;
    if (active_ && !known && tested_) {
      note(at_, "whether the condition holds is decided by the run: what depends on it is left out");
    }
  }

  /// To the next command; false at the end.
  bool separate() {
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size() || ended_) return false;
      const char c = text_[at_];
      const std::string_view two = text_.substr(at_, 2);
      if (comment()) continue;
      if (c == '\n') {
        ++at_;
        pass_documents();
        end_list();
      } else if (two == "&&" || two == "||") {
        at_ += 2;
        chain(two == "&&");
        skip_space();  // a line may end in one
      } else if (c == ';' && !frames_.empty() && frames_.back().kind == Kind::choice &&
                 (two == ";;" || two == ";&")) {
        at_ += 2;
        end_list();
        frames_.back().patterns = true;
        active_ = false;
      } else if (c == ';' || c == '&') {
        ++at_;
        end_list();
      } else if (c == '|') {
        ++at_;
      } else if (c == ')') {
        ++at_;
        close_group(')');
      } else {
        return true;
      }
    }
  }
  void end_list() {
    chained_ = true;
    inverts_ = false;
  }
  /// The lines of here-documents, which begin after the line that names them.
  void pass_documents() {
    for (const std::string& end : documents_) {
      while (at_ < text_.size()) {
        const std::size_t line = std::min(text_.find('\n', at_), text_.size());
        const std::string_view whole = trimmed(text_.substr(at_, line - at_));
        at_ = std::min(line + 1, text_.size());
        if (whole == end) break;
      }
    }
    documents_.clear();
  }

  // Compound commands.
  Frame& push(Kind kind) {
    if (frames_.size() == kDeepestCompound) {
      const ShellWord where = place(at_);
      throw InputError({{name_, where.line, where.column},
                        "",
                        fmt::format("commands are nested deeper than {}", kDeepestCompound),
                        "give the script that starts the run, or the line that it ends in"});
    }
    Frame frame;
    frame.kind = kind;
    frame.before = active_;
    frame.enters = active_ && chained_;
    active_ = frame.enters;
    chained_ = true;
    frames_.push_back(std::move(frame));
    return frames_.back();
  }
  void pop() {
    active_ = frames_.back().before;
    frames_.pop_back();
    end_list();
    last_ = ShellTruth::yes;
    tested_ = false;
  }
  void close_group(char with) {
    if (!frames_.empty() && frames_.back().kind == Kind::group && frames_.back().closes == with) pop();
  }
  Frame* top(Kind kind) {
    return !frames_.empty() && frames_.back().kind == kind ? &frames_.back() : nullptr;
  }

  void begin_condition() {
    last_ = ShellTruth::yes;
    tested_ = false;
  }
  void then(std::size_t at) {
    Frame* f = top(Kind::when);
    if (f == nullptr) return;
    const bool open = f->enters && !f->taken;
    active_ = open && last_ == ShellTruth::yes;
    if (open && last_ == ShellTruth::unknown)
      note(at, "whether the condition holds is decided by the run: taken as not");
    f->taken = f->taken || active_;
  }
  void otherwise(bool last) {
    Frame* f = top(Kind::when);
    if (f == nullptr) return;
    active_ = f->enters && !f->taken;
    if (last) f->taken = true;
    begin_condition();
  }
  void loop_body(std::size_t at) {
    Frame* f = top(Kind::loop);
    if (f == nullptr) return;
    const bool holds = f->runs ? *f->runs : last_ != (f->until ? ShellTruth::yes : ShellTruth::no);
    active_ = f->enters && holds;
    if (active_) note(at, "the loop is taken once");
  }

  /// for NAME in WORDS; do
  void begin_for() {
    Frame& f = push(Kind::loop);
    f.runs = true;
    skip_blanks();
    if (text_.substr(at_, 2) == "((") {
      at_ = shell_closed(text_, at_);
      return;
    }
    const std::string variable(slice(next_word()));
    skip_blanks();
    if (text_.substr(at_, 2) != "in" || (at_ + 2 < text_.size() && !blank(text_[at_ + 2]))) {
      f.runs = false;  // over the arguments, of which there are none
      return;
    }
    at_ += 2;
    std::vector<ShellWord> words;
    for (skip_blanks(); at_ < text_.size() && !shell_word_ends(text_[at_]); skip_blanks()) {
      const ShellSlice w = next_word();
      if (!active_) continue;
      for (ShellWord& one : values_.expanded(slice(w), place(w.from), {})) words.push_back(std::move(one));
    }
    if (!active_) return;
    f.runs = !words.empty();
    if (!words.empty() && !variable.empty()) values_.set(variable, {{words.front()}, false});
  }

  void begin_case() {
    skip_blanks();
    const ShellSlice w = next_word();
    Frame& f = push(Kind::choice);
    if (active_) f.word = values_.joined(slice(w), place(w.from), true);
    f.patterns = true;
    active_ = false;
    skip_space();
    if (text_.substr(at_, 2) == "in") at_ += 2;
  }
  void skip_space() {
    for (;;) {
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == '\n')
        ++at_;
      else if (!comment())
        return;
    }
  }
  void pattern() {
    Frame& f = frames_.back();
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') ++at_;
    ShellTruth any = ShellTruth::no;
    for (;;) {
      skip_blanks();
      const ShellSlice w = next_word();
      if (slice(w) == "esac") return pop();
      if (f.enters && !f.taken && w.to > w.from) {
        const ShellWord p = values_.joined(slice(w), place(w.from), true);
        const ShellTruth one = p.known ? shell_matches(f.word, p.text) : ShellTruth::unknown;
        if (one != ShellTruth::no && any != ShellTruth::yes) any = one;
      }
      skip_blanks();
      if (at_ >= text_.size()) return;
      const char c = text_[at_++];
      if (c == '|') continue;
      if (c != ')') {
        if (w.to == w.from || c == '\n') continue;
      }
      break;
    }
    f.patterns = false;
    if (f.enters && !f.taken && any == ShellTruth::unknown)
      note(at_, "which of the cases is met is decided by the run: taken as not this one");
    active_ = f.enters && !f.taken && any == ShellTruth::yes;
    f.taken = f.taken || active_;
    end_list();
  }

  // Words.
  ShellSlice next_word() {
    const std::size_t from = at_;
    at_ = shell_word_end(text_, at_);
    return {from, at_};
  }

  /// Length of NAME= or NAME+= at the start; 0: it is no assignment.
  static std::size_t assigns(std::string_view word) {
    std::size_t end = 0;
    while (end < word.size() && shell_name_char(word[end])) ++end;
    if (end == 0 || std::isdigit(static_cast<unsigned char>(word[0])) != 0) return 0;
    if (word.substr(end).starts_with("+=")) return end + 2;
    return word.substr(end).starts_with('=') ? end + 1 : 0;
  }

  RawWord raw_word() {
    RawWord w{next_word(), false, {}};
    const std::string_view text = slice(w.all);
    if (at_ >= text_.size() || text_[at_] != '(' || assigns(text) != text.size() || text.empty()) return w;
    w.array = true;
    for (++at_; at_ < text_.size();) {
      skip_space();
      if (at_ >= text_.size()) break;
      if (text_[at_] == ')') {
        ++at_;
        break;
      }
      const ShellSlice item = next_word();
      if (item.to == item.from)
        ++at_;
      else
        w.items.push_back(item);
    }
    return w;
  }

  /// Passes > FILE, 2>&1, < FILE, <<END; true where one stood there.
  bool redirection() {
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
    const ShellSlice w = next_word();
    if (document) {
      std::string end(slice(w));
      std::erase_if(end, [](char c) { return c == '"' || c == '\'' || c == '\\'; });
      documents_.push_back(std::move(end));
    }
    return true;
  }
  /// A process in place of a file, <(...).
  bool process(std::size_t at) {
    const std::string_view two = text_.substr(at, 2);
    if (two != "<(" && two != ">(") return false;
    at_ = shell_closed(text_, at + 1);
    return true;
  }

  void assign(const RawWord& w) {
    const std::string_view text = slice(w.all);
    const std::size_t length = assigns(text);
    const bool more = text.substr(0, length).ends_with("+=");
    const std::string_view variable = text.substr(0, length - (more ? 2 : 1));
    ShellVariable value;
    value.array = w.array;
    for (const ShellSlice& item : w.items) {
      for (ShellWord& one : values_.expanded(slice(item), place(item.from), {}))
        value.items.push_back(std::move(one));
    }
    if (!w.array) value.items.push_back(values_.joined(text.substr(length), place(w.all.from), false));
    more ? values_.append(variable, std::move(value)) : values_.set(variable, std::move(value));
  }

  /// NAME=value in front of a command is that command's alone.
  void prefix(const RawWord& w) {
    const std::string_view text = slice(w.all);
    const std::size_t length = assigns(text);
    if (w.array || text.substr(0, length).ends_with("+=")) return;
    prefixes_[std::string(text.substr(0, length - 1))] = {
        values_.joined(text.substr(length), place(w.all.from), false)};
  }

  // Commands.
  void command() {
    if (Frame* f = top(Kind::choice); f != nullptr && f->patterns) return pattern();
    const std::size_t from = at_;
    if (text_[at_] == '(') {
      if (text_.substr(at_, 2) == "((") return arithmetic();
      ++at_;
      push(Kind::group).closes = ')';
      return;
    }
    const std::size_t end = shell_word_end(text_, at_);
    if (reserved(text_.substr(from, end - from), from)) return;
    simple();
  }

  void arithmetic() {
    const std::size_t from = at_, end = shell_closed(text_, at_);
    at_ = end;
    if (!active_ || !chained_) return;
    std::optional<std::int64_t> value;
    if (end - from > 4) {
      const std::string_view inside = text_.substr(from + 2, end - from - 4);
      value = values_.arithmetic(inside, place(from));
      forget_changed(inside, from);
    }
    settle(value ? (*value != 0 ? ShellTruth::yes : ShellTruth::no) : ShellTruth::unknown, true);
  }

  /// What something that is not followed sets is known to the run alone.
  void forget(std::string_view variable, std::size_t at) {
    ShellWord unknown = place(at);
    unknown.text = "$" + std::string(variable);
    unknown.known = false;
    values_.set(variable, {{std::move(unknown)}, false});
  }
  void forget_changed(std::string_view expression, std::size_t at) {
    for (const std::string_view variable : shell_changed_names(expression)) forget(variable, at);
  }
  /// Commands that set variables by what they read or work out.
  void forget_set_by(std::string_view name, const std::vector<RawWord>& raw, std::size_t first) {
    const auto plain = [](std::string_view word) {
      return !word.empty() && std::all_of(word.begin(), word.end(), shell_name_char);
    };
    for (std::size_t i = first + 1; i < raw.size(); ++i) {
      const std::string_view word = slice(raw[i].all);
      if (name == "let") forget_changed(word, raw[i].all.from);
      const bool reads = name == "read" || name == "mapfile" || name == "readarray";
      if ((reads || (name == "printf" && i == first + 2 && slice(raw[first + 1].all) == "-v")) && plain(word))
        forget(word, raw[i].all.from);
    }
    if ((name == "source" || name == ".") && first + 1 < raw.size())
      note(raw[first].all.from, fmt::format("{} is not followed: what it sets is not known",
                                            printable(slice(raw[first + 1].all), 60)));
  }
  /// It ends the script. Within a condition or a loop one with a status other than 0 is taken for a check of usage, which
  /// the run passes.
  bool ends_script(std::string_view name, const ShellCommand& words) const {
    if (name != "exit" && name != "exec") return false;
    if (name == "exec") return words.size() > 1 && frames_.empty();
    return frames_.empty() || words.size() < 2 || words[1].text == "0";
  }

  void settle(ShellTruth holds, bool tested) {
    last_ = inverts_ ? shell_not(holds) : holds;
    tested_ = tested;
    inverts_ = false;
  }

  bool reserved(std::string_view word, std::size_t from) {
    const auto pass = [&] { at_ = from + word.size(); };
    if (word == "if") {
      pass();
      push(Kind::when);
      begin_condition();
    } else if (word == "then") {
      pass();
      then(from);
    } else if (word == "elif" || word == "else") {
      pass();
      otherwise(word == "else");
    } else if (word == "fi" || word == "done" || word == "esac") {
      pass();
      if (top(word == "fi" ? Kind::when : word == "done" ? Kind::loop : Kind::choice) != nullptr) pop();
    } else if (word == "while" || word == "until") {
      pass();
      push(Kind::loop).until = word == "until";
      begin_condition();
    } else if (word == "do") {
      pass();
      loop_body(from);
    } else if (word == "for" || word == "select") {
      pass();
      begin_for();
    } else if (word == "case") {
      pass();
      begin_case();
    } else if (word == "{") {
      pass();
      push(Kind::group).closes = '}';
    } else if (word == "}") {
      pass();
      close_group('}');
    } else if (word == "!") {
      pass();
      inverts_ = true;
    } else if (word == "[[") {
      pass();
      brackets();
    } else if (word == "function") {
      pass();
      skip_blanks();
      next_word();
      pass_parentheses();
    } else if (word == "time") {
      pass();
    } else {
      return false;
    }
    return true;
  }

  /// The "()" of a function, whose body comes next.
  bool pass_parentheses() {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != '(') return false;
    std::size_t at = at_ + 1;
    while (at < text_.size() && blank(text_[at])) ++at;
    if (at >= text_.size() || text_[at] != ')') return false;
    at_ = at + 1;
    skip_space();
    return true;
  }

  void brackets() {
    const std::size_t from = at_;
    std::size_t end = from;
    while (at_ < text_.size()) {
      end = at_;
      const ShellSlice w = next_word();
      if (slice(w) == "]]") break;
      if (w.to == w.from) ++at_;
      end = at_;
    }
    if (active_ && chained_) settle(shell_test(text_.substr(from, end - from), values_, place(from)), true);
  }

  std::vector<RawWord> raw_words() {
    std::vector<RawWord> all;
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size() || comment()) break;
      if (redirection()) continue;
      const std::size_t from = at_;
      RawWord w = raw_word();
      if (at_ == from) break;
      all.push_back(std::move(w));
      if (all.size() == 1 && pass_parentheses()) return {};  // a function's name
    }
    return all;
  }

  void simple() {
    const std::size_t from = at_;
    const std::vector<RawWord> raw = raw_words();
    if (at_ == from) ++at_;  // what begins no command
    if (raw.empty() || !active_ || !chained_) return;
    std::size_t first = 0;
    const auto sets = [&](const RawWord& w) {
      return assigns(slice(w.all)) > 0 || !shell_indexed(slice(w.all)).empty();
    };
    while (first < raw.size() && sets(raw[first])) ++first;
    const bool alone = first == raw.size();
    for (std::size_t i = 0; i < first; ++i) {
      if (const std::string_view array = shell_indexed(slice(raw[i].all)); !array.empty())
        forget(array, raw[i].all.from);
      else if (alone)
        assign(raw[i]);
      else
        prefix(raw[i]);
    }
    if (alone) return settle(ShellTruth::yes, false);
    const std::string_view name = slice(raw[first].all);
    static constexpr std::string_view kDeclares[] = {"export", "declare", "local", "typeset", "readonly"};
    if (std::find(std::begin(kDeclares), std::end(kDeclares), name) != std::end(kDeclares)) {
      for (std::size_t i = first + 1; i < raw.size(); ++i) {
        if (assigns(slice(raw[i].all)) > 0) assign(raw[i]);
      }
      return settle(ShellTruth::yes, false);
    }
    if (name == "unset") {
      for (std::size_t i = first + 1; i < raw.size(); ++i) values_.unset(slice(raw[i].all));
      return settle(ShellTruth::yes, false);
    }
    const bool tests = name == "[" || name == "test";
    ShellCommand words;
    for (std::size_t i = first; i < raw.size(); ++i) {
      for (ShellWord& w : values_.expanded(slice(raw[i].all), place(raw[i].all.from), {true, tests}))
        words.push_back(std::move(w));
    }
    if (words.empty()) return settle(ShellTruth::yes, false);
    if (tests) {
      words.erase(words.begin());
      if (name == "[" && !words.empty() && words.back().text == "]") words.pop_back();
      return settle(shell_test(words), true);
    }
    if (name == ":" || name == "true") return settle(ShellTruth::yes, false);
    if (name == "false") return settle(ShellTruth::no, false);
    settle(ShellTruth::unknown, false);
    forget_set_by(name, raw, first);
    ended_ = ends_script(name, words);
    if (name != "exit") out_.commands.push_back(std::move(words));
  }

  std::string_view text_;
  const std::string& name_;
  ShellValues values_;
  std::vector<std::size_t> lines_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_;
  std::vector<std::string> documents_;  ///< ends of here-documents that begin with the next line
  bool active_ = true, chained_ = true, inverts_ = false;
  ShellTruth last_ = ShellTruth::yes;
  bool tested_ = false, ended_ = false;
  std::map<std::string, std::vector<ShellWord>, std::less<>> prefixes_;
  ShellReading out_;
};

}  // namespace

ShellReading follow_shell(std::string_view text, const std::string& name,
                          const ShellEnvironment& environment) {
  return Follower(text, name, environment).reading();
}

}  // namespace trnplan::targets
