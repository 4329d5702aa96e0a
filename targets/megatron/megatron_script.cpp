#include "targets/megatron/megatron_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "targets/flags/shell_follower.h"
#include "targets/flags/shell_values.h"
#include "targets/megatron/megatron_rules.h"
#include "targets/start/script.h"
#include "text/diagnostic.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

/// Most bytes of a script: a longer one does not start a run.
constexpr std::size_t kMostText = 1 << 20;
constexpr std::string_view kProgram = "pretrain_gpt.py";

/// Words of the text as written, with their places.
ShellCommand plain_words(const planner::ConfigFile& file) {
  ShellCommand all;
  int line = 1;
  std::size_t start = 0;
  const std::string& text = file.text;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      start = ++i;
    } else if (c == '#' && (i == start || blank(text[i - 1]))) {
      i = std::min(text.find('\n', i), text.size());
    } else if (blank(c) || c == '\r' || c == '\\' || c == '(' || c == ')') {
      ++i;
    } else {
      const std::size_t end = std::min(text.find_first_of(" \t\r\n\\()", i), text.size());
      std::string word = text.substr(i, end - i);
      std::erase_if(word, [](char q) { return q == '"' || q == '\''; });
      if (!word.empty()) all.push_back({std::move(word), line, static_cast<int>(i - start) + 1, true});
      i = end;
    }
  }
  return all;
}

bool complete(const StatedByName& flags) {
  return std::all_of(std::begin(kMegatronNeeds), std::end(kMegatronNeeds),
                     [&](const char* needed) { return flags.contains(needed); });
}

/// Arguments of the last command that runs the program with all flags that it needs.
std::optional<StatedByName> started_flags(const planner::ConfigFile& file, const ShellReading& shell) {
  std::vector<Script> starts = starts_in(file, shell, {kProgram}, false);
  const auto last =
      std::find_if(starts.rbegin(), starts.rend(), [](const Script& s) { return complete(s.stated); });
  if (last == starts.rend()) return std::nullopt;
  std::erase_if(last->stated, [](const auto& one) { return !one.first.starts_with("--"); });  // variables
  return std::move(last->stated);
}

/// CUDA_DEVICE_MAX_CONNECTIONS, set by the script, passed in a word ("env NAME=1") or stated in a manifest.
void read_connections(MegatronScript& script, const planner::ConfigFile& file, const ShellReading& shell,
                      const ShellCommand& plain) {
  const auto state = [&](const std::string& value, const ShellWord& at) {
    script.environment[kMaxConnections] = {{value}, {file.name, at.line, at.column}};
  };
  if (const auto given = file.environment.find(kMaxConnections); given != file.environment.end())
    script.environment[kMaxConnections] = {{given->second}, {file.name, 0, 0}};
  if (const auto own = shell.variables.find(kMaxConnections); own != shell.variables.end()) {
    if (!own->second.empty()) state(own->second.front().text, own->second.front());
    return;
  }
  const std::string variable = std::string(kMaxConnections) + "=";
  for (auto it = plain.begin(); it != plain.end(); ++it) {
    if (it->text.starts_with(variable)) {
      state(it->text.substr(variable.size()), *it);
    } else if (it->text == kMaxConnections && std::distance(it, plain.end()) > 2 &&
               std::next(it)->text == "value:") {
      state(std::next(it, 2)->text, *it);
    }
  }
}

}  // namespace

MegatronScript megatron_script(const planner::ConfigFile& file) {
  if (file.text.size() > kMostText)
    throw InputError({{file.name, 0, 0},
                      "",
                      fmt::format("the script is larger than {} bytes", kMostText),
                      "give the script that starts the run, not a log or a data file"});
  MegatronScript script;
  const ShellEnvironment environment = environment_of(file);
  ShellReading shell = follow_shell(file.text, file.name, environment);
  ShellCommand plain = plain_words(file);
  script.starts_program = file.text.find(kProgram) != std::string::npos;
  read_connections(script, file, shell, plain);
  if (auto flags = started_flags(file, shell)) {
    script.flags = *std::move(flags);
    script.notes = std::move(shell.notes);
    for (const std::string& name : shell.taken) {
      if (file.environment.contains(name) || name.starts_with("SLURM_")) continue;
      script.notes.push_back(fmt::format(
          "the script does not set {}: {} is used, the nodes of this check; state another with --env", name,
          file.hosts));
    }
    return script;
  }
  ShellEnvironment known = environment;
  for (const auto& [name, items] : shell.variables) {
    if (items.size() == 1 && items.front().known) known[name] = items.front().text;
  }
  ShellValues values(file.name, known);
  for (ShellWord& word : plain) {
    if (word.text.find('$') == std::string::npos) continue;
    word.text = values.joined(word.text, word, false).text;
  }
  const auto program =
      std::find_if(plain.begin(), plain.end(), [](const ShellWord& w) { return w.text.ends_with(kProgram); });
  // A script that keeps its arguments in arrays sets them before the command.
  const bool behind = program != plain.end() && std::any_of(program, plain.end(), [](const ShellWord& w) {
                        return w.text.starts_with("--num-layers");
                      });
  script.flags = settings_in(file.name, {behind ? std::next(program) : plain.begin(), plain.end()}, false);
  return script;
}

}  // namespace trnplan::targets
