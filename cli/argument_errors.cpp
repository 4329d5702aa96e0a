#include "cli/argument_errors.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "io/input/job_input.h"

namespace trnplan::cli {

namespace {

/// The chosen command, else the program.
const CLI::App& chosen_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

std::string see_help(const CLI::App& command) {
  const bool program = command.get_parent() == nullptr;
  return "see trnplan " + (program ? std::string("--help") : "help " + command.get_name());
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Diagnostic fault(std::string key, std::string problem, std::string fix) {
  return {{io::kCommandLine, 0, 0}, std::move(key), std::move(problem), std::move(fix)};
}

/// Words that no option or argument accepted.
std::vector<Diagnostic> extras_of(const CLI::App& app) {
  const CLI::App& command = chosen_of(app);
  const std::vector<std::string> names = option_names(command);
  std::vector<Diagnostic> faults;
  const std::vector<std::string> words = app.remaining(true);
  // The value of an unknown option was taken for an argument, and displaced one.
  auto values = std::count_if(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with('-') && word.find('=') == std::string::npos;
  });
  for (const std::string& word : words) {
    if (word.empty() || word[0] != '-') {
      if (values-- > 0) continue;
      faults.push_back(fault(in_quotes(word), "unexpected argument", see_help(command)));
      continue;
    }
    const std::string name = word.substr(0, word.find('='));
    const std::string near = nearest(name, names);
    faults.push_back(fault(printable(name, 60), "unknown option",
                           near.empty() ? see_help(command) : "did you mean " + near + "?"));
  }
  return faults;
}

/// "--format: xml not in {text,json}": adds the most similar value.
std::string nearest_value(const std::string& what) {
  const std::size_t open = what.find('{'), close = what.find('}', open);
  const std::size_t colon = what.find(": "), end = what.find(" not in ");
  if (close == std::string::npos || colon == std::string::npos || end == std::string::npos) return {};
  std::vector<std::string> values;
  const std::string list = what.substr(open + 1, close - open - 1);
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    values.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  const std::string near = nearest(what.substr(colon + 2, end - colon - 2), values);
  if (!near.empty()) return "did you mean " + near + "?";
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : ", ") + value;
  return "write one of: " + all;
}

/// One line of CLI11, split into option and problem: "--nodes: 1 required TEXT missing".
Diagnostic said(const CLI::App& app, const std::string& what) {
  const CLI::App& command = chosen_of(app);
  const std::size_t colon = what.find(": ");
  const bool named = colon != std::string::npos && what.find(' ') > colon;
  const std::string near = nearest_value(what);
  return fault(named ? printable(what.substr(0, colon), 60) : "",
               printable(named ? what.substr(colon + 2) : what, 400),
               near.empty() ? see_help(command) : near);
}

}  // namespace

InputError argument_error(const CLI::App& app, const CLI::ParseError& error) {
  // CLI11 reports missing options before words that it did not recognise.
  std::vector<Diagnostic> faults = extras_of(app);
  if (faults.empty()) faults.push_back(said(app, error.what()));
  return InputError(std::move(faults));
}

}  // namespace trnplan::cli
