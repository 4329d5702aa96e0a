#include "targets/flags/shell_follower.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "targets/flags/shell_conditions.h"
#include "targets/flags/shell_flow.h"
#include "targets/flags/shell_scan.h"
#include "targets/flags/shell_source.h"
#include "targets/flags/shell_values.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

/// Follows the commands that run, in order, with the variables that they set.
class Follower {
 public:
  Follower(std::string_view text, const std::string& name, const ShellEnvironment& environment)
      : source_(text), flow_(source_, name), values_(name, environment) {}

  ShellReading reading() {
    while (separate()) command();
    for (const auto& [name, variable] : values_.all()) out_.variables[name] = variable.items;
    out_.variables.merge(std::move(prefixes_));
    out_.taken = values_.taken();
    out_.notes = flow_.take_notes();
    return std::move(out_);
  }

 private:
  using Kind = ShellFlow::Kind;
  using Frame = ShellFlow::Frame;

  /// Advances to the next command; false at the end.
  bool separate() {
    for (;;) {
      source_.skip_blanks();
      if (source_.at_end() || ended_) return false;
      const char c = source_.next();
      if (source_.comment()) continue;
      if (c == '\n') {
        source_.pass(1);
        source_.documents();
        flow_.end_list();
      } else if (source_.next_is("&&") || source_.next_is("||")) {
        const bool conjunction = c == '&';
        source_.pass(2);
        flow_.chain(conjunction);
        source_.skip_space();  // a line may end in one
      } else if (flow_.top(Kind::choice) != nullptr && (source_.next_is(";;") || source_.next_is(";&"))) {
        source_.pass(2);
        flow_.end_list();
        flow_.begin_patterns();
      } else if (c == ';' || c == '&') {
        source_.pass(1);
        flow_.end_list();
      } else if (c == '|') {
        source_.pass(1);
      } else if (c == ')') {
        source_.pass(1);
        flow_.close_group(')');
      } else {
        return true;
      }
    }
  }

  void command() {
    if (Frame* f = flow_.top(Kind::choice); f != nullptr && f->patterns) return pattern(*f);
    const std::size_t from = source_.at();
    if (source_.next() == '(') {
      if (source_.next_is("((")) return arithmetic();
      source_.pass(1);
      flow_.push(Kind::group).closes = ')';
      return;
    }
    if (reserved(source_.slice({from, shell_word_end(source_.text(), from)}), from)) return;
    simple();
  }

  bool reserved(std::string_view word, std::size_t from) {
    const auto pass = [&] { source_.go(from + word.size()); };
    if (word == "if") {
      pass();
      flow_.push(Kind::when);
      flow_.begin_condition();
    } else if (word == "then") {
      pass();
      flow_.then(from);
    } else if (word == "elif" || word == "else") {
      pass();
      flow_.otherwise(word == "else");
    } else if (word == "fi" || word == "done" || word == "esac") {
      pass();
      const Kind ends = word == "fi" ? Kind::when : word == "done" ? Kind::loop : Kind::choice;
      if (flow_.top(ends) != nullptr) flow_.pop();
    } else if (word == "while" || word == "until") {
      pass();
      flow_.push(Kind::loop).until = word == "until";
      flow_.begin_condition();
    } else if (word == "do") {
      pass();
      flow_.loop_body(from);
    } else if (word == "for" || word == "select") {
      pass();
      begin_for();
    } else if (word == "case") {
      pass();
      begin_case();
    } else if (word == "{") {
      pass();
      flow_.push(Kind::group).closes = '}';
    } else if (word == "}") {
      pass();
      flow_.close_group('}');
    } else if (word == "!") {
      pass();
      flow_.invert();
    } else if (word == "[[") {
      pass();
      brackets();
    } else if (word == "function") {
      pass();
      source_.skip_blanks();
      source_.word();
      source_.parentheses();
    } else if (word == "time") {
      pass();
    } else {
      return false;
    }
    return true;
  }

  // Compound commands whose words are expanded.

  /// Handles "for NAME in WORDS; do".
  void begin_for() {
    Frame& f = flow_.push(Kind::loop);
    f.runs = true;
    source_.skip_blanks();
    if (source_.next_is("((")) return source_.go(shell_closed(source_.text(), source_.at()));
    const std::string variable(source_.slice(source_.word()));
    source_.skip_blanks();
    const std::string_view rest = source_.text().substr(std::min(source_.at(), source_.text().size()));
    if (!rest.starts_with("in") || (rest.size() > 2 && !blank(rest[2]))) {
      f.runs = false;  // loops over arguments, and there are none
      return;
    }
    source_.pass(2);
    std::vector<ShellWord> words;
    for (source_.skip_blanks(); !source_.at_end() && !shell_word_ends(source_.next());
         source_.skip_blanks()) {
      const ShellSlice w = source_.word();
      if (!flow_.active()) continue;
      for (ShellWord& one : values_.expanded(source_.slice(w), source_.place(w.from), {}))
        words.push_back(std::move(one));
    }
    if (!flow_.active()) return;
    f.runs = !words.empty();
    if (!words.empty() && !variable.empty()) values_.set(variable, {{words.front()}, false});
  }

  void begin_case() {
    source_.skip_blanks();
    const ShellSlice w = source_.word();
    Frame& f = flow_.push(Kind::choice);
    if (flow_.active()) f.word = values_.joined(source_.slice(w), source_.place(w.from), true);
    flow_.begin_patterns();
    source_.skip_space();
    if (source_.next_is("in")) source_.pass(2);
  }

  void pattern(const Frame& f) {
    source_.skip_space();
    if (source_.next_is("(")) source_.pass(1);
    ShellTruth any = ShellTruth::no;
    for (;;) {
      source_.skip_blanks();
      const ShellSlice w = source_.word();
      if (source_.slice(w) == "esac") return flow_.pop();
      if (f.enters && !f.taken && w.to > w.from) {
        const ShellWord p = values_.joined(source_.slice(w), source_.place(w.from), true);
        const ShellTruth one = p.known ? shell_matches(f.word, p.text) : ShellTruth::unknown;
        if (one != ShellTruth::no && any != ShellTruth::yes) any = one;
      }
      source_.skip_blanks();
      if (source_.at_end()) return;
      const char c = source_.next();
      source_.pass(1);
      if (c == '|') continue;
      if (c != ')') {
        if (w.to == w.from || c == '\n') continue;
      }
      break;
    }
    flow_.choose(any);
  }

  void brackets() {
    const std::size_t from = source_.at();
    std::size_t end = from;
    while (!source_.at_end()) {
      end = source_.at();
      const ShellSlice w = source_.word();
      if (source_.slice(w) == "]]") break;
      if (w.to == w.from) source_.pass(1);
      end = source_.at();
    }
    if (flow_.runs())
      flow_.settle(shell_test(source_.slice({from, end}), values_, source_.place(from)), true);
  }

  void arithmetic() {
    const std::size_t from = source_.at(), end = shell_closed(source_.text(), from);
    source_.go(end);
    if (!flow_.runs()) return;
    std::optional<std::int64_t> value;
    if (end - from > 4) {
      const std::string_view inside = source_.slice({from + 2, end - 2});
      value = values_.arithmetic(inside, source_.place(from));
      forget_changed(inside, from);
    }
    flow_.settle(value ? (*value != 0 ? ShellTruth::yes : ShellTruth::no) : ShellTruth::unknown, true);
  }

  // Variables.
  void assign(const ShellRawWord& w) {
    const std::string_view text = source_.slice(w.all);
    const std::size_t length = shell_assigns(text);
    const bool more = text.substr(0, length).ends_with("+=");
    const std::string_view variable = text.substr(0, length - (more ? 2 : 1));
    ShellVariable value;
    value.array = w.array;
    for (const ShellSlice& item : w.items) {
      for (ShellWord& one : values_.expanded(source_.slice(item), source_.place(item.from), {}))
        value.items.push_back(std::move(one));
    }
    if (!w.array)
      value.items.push_back(values_.joined(text.substr(length), source_.place(w.all.from), false));
    more ? values_.append(variable, std::move(value)) : values_.set(variable, std::move(value));
  }

  /// Handles NAME=value in front of a command, which only that command sees.
  void prefix(const ShellRawWord& w) {
    const std::string_view text = source_.slice(w.all);
    const std::size_t length = shell_assigns(text);
    if (w.array || text.substr(0, length).ends_with("+=")) return;
    prefixes_[std::string(text.substr(0, length - 1))] = {
        values_.joined(text.substr(length), source_.place(w.all.from), false)};
  }

  /// Marks a variable as unknown, since a command that is not followed sets it.
  void forget(std::string_view variable, std::size_t at) {
    ShellWord unknown = source_.place(at);
    unknown.text = "$" + std::string(variable);
    unknown.known = false;
    values_.set(variable, {{std::move(unknown)}, false});
  }
  void forget_changed(std::string_view expression, std::size_t at) {
    for (const std::string_view variable : shell_changed_names(expression)) forget(variable, at);
  }
  /// Forgets variables that a command sets from input or arithmetic.
  void forget_set_by(std::string_view name, const std::vector<ShellRawWord>& raw, std::size_t first) {
    const auto plain = [](std::string_view word) {
      return !word.empty() && std::all_of(word.begin(), word.end(), shell_name_char);
    };
    for (std::size_t i = first + 1; i < raw.size(); ++i) {
      const std::string_view word = source_.slice(raw[i].all);
      if (name == "let") forget_changed(word, raw[i].all.from);
      const bool reads = name == "read" || name == "mapfile" || name == "readarray";
      const bool prints = name == "printf" && i == first + 2 && source_.slice(raw[first + 1].all) == "-v";
      if ((reads || prints) && plain(word)) forget(word, raw[i].all.from);
    }
    if ((name == "source" || name == ".") && first + 1 < raw.size())
      flow_.note(raw[first].all.from, fmt::format("{} is not followed: what it sets is not known",
                                                  printable(source_.slice(raw[first + 1].all), 60)));
  }

  // Commands.

  /// True if the command ends the script. In a condition or a loop, "exit" with a status other than 0 counts as a
  /// check of usage, which the run passes.
  bool ends_script(std::string_view name, const ShellCommand& words) const {
    if (name != "exit" && name != "exec") return false;
    if (name == "exec") return words.size() > 1 && flow_.outside();
    return flow_.outside() || words.size() < 2 || words[1].text == "0";
  }

  void simple() {
    const std::size_t from = source_.at();
    const std::vector<ShellRawWord> raw = source_.command_words();
    if (source_.at() == from) source_.pass(1);  // a character that begins no command
    if (raw.empty() || !flow_.runs()) return;
    std::size_t first = 0;
    const auto sets = [&](const ShellRawWord& w) {
      return shell_assigns(source_.slice(w.all)) > 0 || !shell_indexed(source_.slice(w.all)).empty();
    };
    while (first < raw.size() && sets(raw[first])) ++first;
    const bool alone = first == raw.size();
    for (std::size_t i = 0; i < first; ++i) {
      if (const std::string_view array = shell_indexed(source_.slice(raw[i].all)); !array.empty())
        forget(array, raw[i].all.from);
      else if (alone)
        assign(raw[i]);
      else
        prefix(raw[i]);
    }
    if (alone) return flow_.settle(ShellTruth::yes, false);
    const std::string_view name = source_.slice(raw[first].all);
    static constexpr std::string_view kDeclares[] = {"export", "declare", "local", "typeset", "readonly"};
    if (std::find(std::begin(kDeclares), std::end(kDeclares), name) != std::end(kDeclares)) {
      for (std::size_t i = first + 1; i < raw.size(); ++i) {
        if (shell_assigns(source_.slice(raw[i].all)) > 0) assign(raw[i]);
      }
      return flow_.settle(ShellTruth::yes, false);
    }
    if (name == "unset") {
      for (std::size_t i = first + 1; i < raw.size(); ++i) values_.unset(source_.slice(raw[i].all));
      return flow_.settle(ShellTruth::yes, false);
    }
    run(name, raw, first);
  }

  /// Expansion of the words from `first` on.
  void run(std::string_view name, const std::vector<ShellRawWord>& raw, std::size_t first) {
    const bool tests = name == "[" || name == "test";
    ShellCommand words;
    for (std::size_t i = first; i < raw.size(); ++i) {
      for (ShellWord& w :
           values_.expanded(source_.slice(raw[i].all), source_.place(raw[i].all.from), {true, tests}))
        words.push_back(std::move(w));
    }
    if (words.empty()) return flow_.settle(ShellTruth::yes, false);
    if (tests) {
      words.erase(words.begin());
      if (name == "[" && !words.empty() && words.back().text == "]") words.pop_back();
      return flow_.settle(shell_test(words), true);
    }
    if (name == ":" || name == "true") return flow_.settle(ShellTruth::yes, false);
    if (name == "false") return flow_.settle(ShellTruth::no, false);
    flow_.settle(ShellTruth::unknown, false);
    forget_set_by(name, raw, first);
    ended_ = ends_script(name, words);
    if (name != "exit") out_.commands.push_back(std::move(words));
  }

  ShellSource source_;
  ShellFlow flow_;
  ShellValues values_;
  bool ended_ = false;
  std::map<std::string, std::vector<ShellWord>, std::less<>> prefixes_;
  ShellReading out_;
};

}  // namespace

ShellReading follow_shell(std::string_view text, const std::string& name,
                          const ShellEnvironment& environment) {
  return Follower(text, name, environment).reading();
}

}  // namespace trnplan::targets
