// Faults in a user's input: the place, the key, the problem and the fix.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan {

/// A place in a file. Lines and columns count from 1; 0 means "no such place" (a whole file, a command line).
struct SourcePos {
  std::string file;
  int line = 0;
  int column = 0;
};

/// One fault in the input. `key` is empty where the fault concerns no key.
struct Diagnostic {
  SourcePos at;
  std::string key;
  std::string problem;
  std::string fix;
};

/// "file:line:col: key: problem" and, on a second line, "  fix: ...". Replaces control characters by '?', so
/// that a hostile file cannot drive the terminal.
std::string to_string(const Diagnostic& d);

/// An error in the user's input (exit code 2). Carries every fault that was found; there is at least one.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> faults);
  explicit InputError(Diagnostic fault);
  const std::vector<Diagnostic>& faults() const { return faults_; }

 private:
  std::vector<Diagnostic> faults_;
};

/// The candidate with the smallest edit distance to `word`, or "" when more letters differ in each than a third, or
/// two, or than half of the longer word. Among equals the first one wins. Cost: O(|word| * sum of candidate lengths).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// `text` with '?' in place of control characters, characters that reorder or hide text, and bad UTF-8; cut
/// at `limit` bytes with "...".
std::string printable(std::string_view text, std::size_t limit = 200);

/// `text`, as the user wrote it, in double quotes: printable, and cut at `limit` bytes.
std::string in_quotes(std::string_view text, std::size_t limit = 60);

}  // namespace trnplan
