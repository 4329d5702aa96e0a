#include "targets/flags/launch_line.h"

#include <algorithm>
#include <string_view>

#include "text/log_lines.h"
#include "topology/instance.h"

namespace trnplan::targets {

namespace {

bool ends_word(char c) {
  return blank(c) || c == '\r' || c == '\n' || c == '\\' || c == ')' || c == ';';
}

/// The word at `at`, without quotes.
std::string word_at(std::string_view text, std::size_t at) {
  std::string word;
  int braces = 0;
  for (; at < text.size() && (braces > 0 || !ends_word(text[at])); ++at) {
    braces += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (text[at] == '\n') break;
    if (text[at] != '"' && text[at] != '\'') word += text[at];
  }
  return word;
}

/// What follows an option, as "--nnodes 16" or "--nnodes=16"; "" where it is not there.
std::string value_of(std::string_view text, std::string_view option) {
  for (std::size_t at = text.find(option); at != std::string_view::npos; at = text.find(option, at + 1)) {
    std::size_t next = at + option.size();
    const bool starts = at == 0 || blank(text[at - 1]) || text[at - 1] == '\n' || text[at - 1] == '(';
    if (!starts || next >= text.size() || (text[next] != '=' && !blank(text[next]))) continue;
    ++next;
    while (next < text.size() && blank(text[next])) ++next;
    return word_at(text, next);
  }
  return {};
}

/// Of the first assignment of a variable; "" without one.
std::string assigned(std::string_view text, std::string_view name) {
  const std::string start = std::string(name) + "=";
  for (std::size_t at = text.find(start); at != std::string_view::npos; at = text.find(start, at + 1)) {
    if (at == 0 || blank(text[at - 1]) || text[at - 1] == '\n' || text[at - 1] == ';')
      return word_at(text, at + start.size());
  }
  return {};
}

std::optional<int> number_in(std::string_view text, const std::string& word, int depth = 0) {
  constexpr int kDeepest = 4;
  if (const auto number = whole_number_of(word)) {
    if (*number >= 1 && *number <= topology::kMostNodes) return static_cast<int>(*number);
    return std::nullopt;
  }
  if (depth == kDeepest || word.size() < 2 || word.front() != '$') return std::nullopt;
  const bool braced = word[1] == '{' && word.back() == '}';
  const std::string name = braced ? word.substr(2, word.size() - 3) : word.substr(1);
  const std::size_t usual = name.find(":-");
  const std::string own = assigned(text, name.substr(0, usual));
  // A variable that is set from itself has what stands behind ":-".
  if (!own.empty() && own != word) {
    if (const auto found = number_in(text, own, depth + 1)) return found;
  }
  if (usual == std::string::npos) return std::nullopt;
  return number_in(text, name.substr(usual + 2), depth + 1);
}

/// The lines that Slurm reads, or all others without their comments.
std::string lines_of(const std::string& script, bool slurm) {
  constexpr std::string_view kSlurm = "#SBATCH";
  std::string some;
  for (std::size_t at = 0; at < script.size();) {
    const std::size_t end = std::min(script.find('\n', at), script.size());
    const std::string_view line = std::string_view(script).substr(at, end - at);
    const std::size_t first = line.find_first_not_of(" \t");
    const bool comment = first != std::string_view::npos && line[first] == '#';
    if (slurm ? line.starts_with(kSlurm) : !comment) some += std::string(line) + "\n";
    at = end + 1;
  }
  return some;
}

}  // namespace

std::optional<int> launched_nodes(const std::string& script) {
  const std::string code = lines_of(script, false);
  if (const auto nodes = number_in(code, value_of(code, "--nnodes"))) return nodes;
  const std::string slurm = lines_of(script, true);
  for (const char* option : {"--nodes", "-N"}) {
    if (const auto nodes = number_in(slurm, value_of(slurm, option))) return nodes;
  }
  return std::nullopt;
}

}  // namespace trnplan::targets
