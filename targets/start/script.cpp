#include "targets/start/script.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

/// A script that is longer is none that starts a run.
constexpr std::size_t kMostText = 1 << 20;

struct ScriptWord {
  std::string text;
  SourcePos at;
};

std::vector<ScriptWord> words_in(const planner::ConfigFile& file) {
  if (file.text.size() > kMostText) {
    throw InputError({{file.name, 0, 0},
                      "",
                      fmt::format("the script is larger than {} bytes", kMostText),
                      "give the script that starts the run, not a log or a data file"});
  }
  std::vector<ScriptWord> all;
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
      if (!word.empty()) all.push_back({std::move(word), {file.name, line, static_cast<int>(i - start) + 1}});
      i = end;
    }
  }
  return all;
}

/// "${NAME:-1}" is 1 where the variable is not set already.
std::string usual_value(std::string value) {
  const std::size_t usual = value.find(":-");
  if (value.starts_with("${") && usual != std::string::npos && value.ends_with('}'))
    return value.substr(usual + 2, value.size() - usual - 3);
  return value;
}

}  // namespace

Script script_of(const planner::ConfigFile& file, std::initializer_list<std::string_view> programs) {
  const std::vector<ScriptWord> words = words_in(file);
  Script script;
  auto first = words.begin();
  for (; first != words.end() && script.program.empty(); ++first) {
    for (const std::string_view program : programs) {
      if (first->text.ends_with(program)) script.program = program;
    }
  }
  if (script.program.empty()) {
    std::string all;
    for (const std::string_view program : programs)
      all += fmt::format("{}{}", all.empty() ? "" : " or ", program);
    throw InputError({{file.name, 0, 0}, "", "the script does not start " + all, "give the one that does"});
  }
  Stated* last = nullptr;
  for (auto it = words.begin(); it != words.end(); ++it) {
    const std::string& word = it->text;
    const std::size_t equals = word.find('=');
    const bool flag = word.starts_with("--") && word.size() > 2;
    if (it < first && flag) continue;
    if (flag || (equals != std::string::npos && equals > 0)) {
      last = &script.stated[word.substr(0, equals)];
      *last = {{}, it->at};
      if (equals != std::string::npos) last->values.push_back(usual_value(word.substr(equals + 1)));
    } else if (last != nullptr) {
      last->values.push_back(word);
    }
  }
  return script;
}

}  // namespace trnplan::targets
