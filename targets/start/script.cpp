#include "targets/start/script.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "targets/flags/shell_follower.h"

namespace trnplan::targets {

namespace {

/// Flags ("--lr 1", "--lr=1", "--fast") and overrides ("model.layers=1").
StatedByName settings_of(const planner::ConfigFile& file, ShellCommand::const_iterator from,
                         ShellCommand::const_iterator to) {
  StatedByName all;
  Stated* last = nullptr;
  for (auto it = from; it != to; ++it) {
    const std::string& word = it->text;
    const std::size_t equals = word.find('=');
    if ((word.starts_with("--") && word.size() > 2) || (equals != std::string::npos && equals > 0)) {
      last = &all[word.substr(0, equals)];
      *last = {{}, {file.name, it->line, it->column}};
      if (equals != std::string::npos) last->values.push_back(word.substr(equals + 1));
    } else if (last != nullptr) {
      last->values.push_back(word);
    }
  }
  return all;
}

}  // namespace

Script script_of(const planner::ConfigFile& file, std::initializer_list<std::string_view> programs) {
  const ShellReading shell = follow_shell(file.text, file.name, file.environment);
  Script script;
  for (const ShellCommand& command : shell.commands) {
    for (const std::string_view program : programs) {
      const auto started = std::find_if(command.begin(), command.end(),
                                        [&](const ShellWord& w) { return w.text.ends_with(program); });
      if (started == command.end()) continue;
      script.program = program;
      script.stated = settings_of(file, std::next(started), command.end());
    }
  }
  if (script.program.empty()) {
    std::string all;
    for (const std::string_view program : programs)
      all += fmt::format("{}{}", all.empty() ? "" : " or ", program);
    throw InputError({{file.name, 0, 0}, "", "the script does not start " + all, "give the one that does"});
  }
  for (const auto& [name, items] : shell.variables) {
    if (items.size() != 1 || !items.front().known) continue;
    script.stated.insert(
        {name, {{items.front().text}, {file.name, items.front().line, items.front().column}}});
  }
  return script;
}

}  // namespace trnplan::targets
