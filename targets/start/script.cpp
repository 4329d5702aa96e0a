#include "targets/start/script.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace trnplan::targets {

StatedByName settings_in(const std::string& file, std::span<const ShellWord> words, bool overrides) {
  StatedByName all;
  Stated* last = nullptr;
  for (const ShellWord& w : words) {
    const std::string& word = w.text;
    const std::size_t equals = word.find('=');
    const bool flag = word.starts_with("--") && word.size() > 2;
    if (flag || (overrides && equals != std::string::npos && equals > 0)) {
      last = &all[word.substr(0, equals)];
      *last = {{}, {file, w.line, w.column}};
      if (equals != std::string::npos) last->values.push_back(word.substr(equals + 1));
    } else if (last != nullptr) {
      last->values.push_back(word);
    }
  }
  return all;
}

namespace {

/// Most levels of "bash -c" inside "bash -c"; our own limit.
constexpr int kDeepestLine = 3;
/// Most lines within words that are followed; our own limit.
constexpr int kMostLines = 100;

/// Names that scripts use for the number of nodes: Slurm's two, PyTorchJob's, and those that examples export.
constexpr const char* kNodeNames[] = {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "PET_NNODES",
                                      "NNODES",       "NUM_NODES",           "NODES"};

/// Commands that only mention a file.
constexpr std::string_view kSpeaks[] = {"echo", "printf", "cp",    "mv",   "rm",  "ln",   "ls",  "chmod",
                                        "cat",  "grep",   "head",  "tail", "sed", "test", "[",   "stat",
                                        "du",   "diff",   "touch", "tar",  "aws", "wget", "curl"};

bool speaks(const ShellCommand& command) {
  return !command.empty() &&
         std::find(std::begin(kSpeaks), std::end(kSpeaks), command.front().text) != std::end(kSpeaks);
}

class Finder {
 public:
  Finder(const planner::ConfigFile& file, std::initializer_list<std::string_view> programs, bool overrides)
      : file_(file), programs_(programs), overrides_(overrides) {}

  void look(const ShellReading& shell, const ShellEnvironment& environment, int depth) {
    for (const ShellCommand& command : shell.commands) {
      if (speaks(command)) continue;
      for (auto word = command.begin(); word != command.end(); ++word) {
        const bool line = word->text.find_first_of(" \n") != std::string::npos;
        if (line)
          look_into(*word, shell, environment, depth);
        else
          take(command, word);
      }
    }
  }

  std::vector<Script> starts;

 private:
  void take(const ShellCommand& command, ShellCommand::const_iterator word) {
    for (const std::string_view program : programs_) {
      if (!word->text.ends_with(program)) continue;
      Script& start = starts.emplace_back();
      start.program = program;
      start.stated = settings_in(file_.name, {std::next(word), command.end()}, overrides_);
      // "env NAME=1 torchrun ...": considers those words before the command that set a variable.
      for (const auto& [name, stated] : settings_in(file_.name, {command.begin(), word}, true)) {
        if (!name.starts_with('-')) start.stated.insert({name, stated});
      }
    }
  }

  void look_into(const ShellWord& word, const ShellReading& shell, const ShellEnvironment& environment,
                 int depth) {
    const bool names = std::any_of(programs_.begin(), programs_.end(), [&](std::string_view program) {
      return word.text.find(program) != std::string::npos;
    });
    if (!names || depth == kDeepestLine || ++lines_ > kMostLines) return;
    ShellEnvironment inner = environment;
    for (const auto& [name, items] : shell.variables) {
      if (items.size() == 1 && items.front().known) inner[name] = items.front().text;
    }
    ShellReading line = follow_shell(word.text, file_.name, inner);
    for (ShellCommand& c : line.commands) {
      for (ShellWord& w : c) w.line = word.line, w.column = word.column;
    }
    look(line, inner, depth + 1);
  }

  const planner::ConfigFile& file_;
  std::vector<std::string_view> programs_;
  bool overrides_;
  int lines_ = 0;
};

}  // namespace

ShellEnvironment environment_of(const planner::ConfigFile& file) {
  ShellEnvironment all = file.environment;
  if (file.hosts <= 0) return all;
  for (const char* name : kNodeNames) all.try_emplace(name, fmt::to_string(file.hosts));
  return all;
}

std::vector<Script> starts_in(const planner::ConfigFile& file, const ShellReading& shell,
                              std::initializer_list<std::string_view> programs, bool overrides) {
  Finder finder(file, programs, overrides);
  finder.look(shell, environment_of(file), 0);
  return std::move(finder.starts);
}

Script script_of(const planner::ConfigFile& file, std::initializer_list<std::string_view> programs) {
  const ShellReading shell = follow_shell(file.text, file.name, environment_of(file));
  std::vector<Script> starts = starts_in(file, shell, programs, true);
  if (starts.empty()) {
    std::string all;
    for (const std::string_view program : programs)
      all += fmt::format("{}{}", all.empty() ? "" : " or ", program);
    throw InputError(
        {{file.name, 0, 0}, "", "the script does not start " + all, "give the script that does"});
  }
  Script script = std::move(starts.back());
  for (const auto& [name, items] : shell.variables) {
    if (items.size() != 1 || !items.front().known) continue;
    script.stated.insert(
        {name, {{items.front().text}, {file.name, items.front().line, items.front().column}}});
  }
  for (const auto& [name, value] : file.environment)
    script.stated.insert({name, {{value}, {file.name, 0, 0}}});
  return script;
}

}  // namespace trnplan::targets
