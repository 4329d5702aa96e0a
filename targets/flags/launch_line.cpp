#include "targets/flags/launch_line.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "targets/flags/shell_follower.h"
#include "text/log_lines.h"
#include "topology/instance.h"

namespace trnplan::targets {

namespace {

/// Most options of a line; our own limit.
constexpr std::size_t kMostSlurmWords = 64;

std::optional<int> nodes_in(std::string_view word) {
  const auto number = whole_number_of(word);
  return number && *number >= 1 && *number <= topology::kMostNodes ? std::optional<int>(*number)
                                                                   : std::nullopt;
}

/// Value of an option among words, as "--nnodes 16" or "--nnodes=16"; nullopt if none states a number.
std::optional<int> stated_by(const std::vector<ShellWord>& words, std::string_view option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i].text;
    if (!word.starts_with(option)) continue;
    const std::string_view rest = word.substr(option.size());
    std::optional<int> found;
    if (rest.empty() && i + 1 < words.size())
      found = nodes_in(words[i + 1].text);
    else if (rest.starts_with('='))
      found = nodes_in(rest.substr(1));
    if (found) return found;
  }
  return std::nullopt;
}

/// Options that Slurm reads.
std::vector<ShellWord> slurm_words(std::string_view script) {
  constexpr std::string_view kSlurm = "#SBATCH";
  std::vector<ShellWord> all;
  for (std::size_t at = 0; at < script.size();) {
    const std::size_t end = std::min(script.find('\n', at), script.size());
    std::string_view line = script.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(kSlurm)) continue;
    line = line.substr(kSlurm.size(), line.find('#', kSlurm.size()) - kSlurm.size());
    for (const Word& word : words_of(line, kMostSlurmWords))
      all.push_back({std::string(word.text), 0, 0, true});
  }
  return all;
}

}  // namespace

std::optional<int> launched_nodes(const planner::ConfigFile& file) {
  const ShellReading shell = follow_shell(file.text, file.name, file.environment);
  for (const ShellCommand& command : shell.commands) {
    if (const auto nodes = stated_by(command, "--nnodes")) return nodes;
  }
  for (const auto& [name, items] : shell.variables) {
    if (const auto nodes = stated_by(items, "--nnodes")) return nodes;
  }
  const std::vector<ShellWord> slurm = slurm_words(file.text);
  for (const char* option : {"--nodes", "-N"}) {
    if (const auto nodes = stated_by(slurm, option)) return nodes;
  }
  return std::nullopt;
}

}  // namespace trnplan::targets
