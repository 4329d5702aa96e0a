#include "targets/start/script.h"

#include <algorithm>
#include <iterator>

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

Script script_of(const planner::ConfigFile& file, std::initializer_list<std::string_view> programs) {
  const ShellReading shell = follow_shell(file.text, file.name, file.environment);
  Script script;
  for (const ShellCommand& command : shell.commands) {
    for (const std::string_view program : programs) {
      const auto started = std::find_if(command.begin(), command.end(),
                                        [&](const ShellWord& w) { return w.text.ends_with(program); });
      if (started == command.end()) continue;
      script.program = program;
      script.stated = settings_in(file.name, {std::next(started), command.end()}, true);
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
