// `help`: the help of a command, the manual page of all, and shell completions.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/explain.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "io/catalog/catalog.h"
#include "io/input/job_input.h"
#include "io/input/job_keys.h"
#include "io/output/descriptions.h"
#include "text/diagnostic.h"
#include "text/version.h"

namespace trnplan::cli {

namespace {

struct HelpOptions {
  std::string command;
  std::string line;
  bool completes = false;
  bool man = false;
  bool keys = false;
};

/// Text for troff: no line is a request, and backslashes and dashes are literal.
std::string roff(const std::string& text) {
  std::string out;
  bool start = true;
  for (const char c : text) {
    if (start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    start = c == '\n';
  }
  return out;
}

std::string man_options(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    std::string name = option->get_name(option->get_positional(), true);
    std::replace(name.begin(), name.end(), ',', ' ');
    const std::string given = option->get_default_str();
    text += ".TP\n.B " + roff(name) + "\n" + roff(option->get_description()) +
            (given.empty() ? "" : roff(" (default: " + given + ")")) + "\n";
  }
  return text;
}

/// Without a date, so that the same program writes the same page.
std::string manual(const CLI::App& program) {
  std::string text = fmt::format(".TH TRNPLAN 1 \"\" \"trnplan {}\" \"User Commands\"\n", program_version());
  text += ".SH NAME\ntrnplan \\- performance simulator and parallelism planner for LLM training\n";
  text += ".SH SYNOPSIS\n.B trnplan\n.I COMMAND\n[ARGUMENTS] [OPTIONS]\n";
  text += ".SH DESCRIPTION\n" + roff(program.get_description()) + "\n.SH COMMANDS\n";
  for (const CLI::App* command : program.get_subcommands({})) {
    text += ".SS " + roff("trnplan " + command->get_name()) + "\n" + roff(command->get_description()) + "\n" +
            man_options(*command);
    if (!command->get_footer().empty()) text += ".PP\n.nf\n" + roff(command->get_footer()) + "\n.fi\n";
  }
  return text + ".SH EXIT STATUS AND EXAMPLES\n.nf\n" + roff(program.get_footer()) + "\n.fi\n";
}

const CLI::App* command_of(const CLI::App& program, const std::string& name) {
  for (const CLI::App* command : program.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

std::string help_of(const CLI::App& program, const std::string& name) {
  if (name.empty()) return program.help();
  if (const CLI::App* command = command_of(program, name)) return command->help("trnplan");
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  const std::string near = nearest(name, names);
  throw InputError({{io::kCommandLine, 0, 0},
                    in_quotes(name),
                    "unknown command",
                    near.empty() ? "see trnplan --help" : "did you mean " + near + "?"});
}

/// One completion: the word, and after a tab its meaning.
std::string candidate(const std::string& word, std::string meaning = "") {
  std::replace(meaning.begin(), meaning.end(), '\n', ' ');
  return word + (meaning.empty() ? "" : "\t" + meaning) + "\n";
}

std::string command_candidates(const CLI::App& program) {
  std::string text;
  for (const CLI::App* command : program.get_subcommands({}))
    text += candidate(command->get_name(), command->get_description());
  return text;
}

std::string option_candidates(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames())
      text += candidate("--" + name, option->get_description());
  }
  return text;
}

std::string name_candidates(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += candidate(name);
  return text;
}

/// Ids, each once even if several sets contain it.
std::string rule_candidates() {
  std::string text;
  for (const api::RuleSet& set : api::rule_sets())
    for (const api::RuleRow& row : set.rules) text += candidate(row.id, row.what);
  return text;
}

/// Completions of the last word of `line`, which follows the program's name; none for a file.
std::string candidates(const CLI::App& program, std::string_view line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == ' ')
      words.emplace_back();
    else
      words.back().push_back(c);
  }
  if (words.size() == 1) return command_candidates(program);
  const CLI::App* command = command_of(program, words.front());
  if (command == nullptr) return "";
  if (words.back().starts_with('-')) return option_candidates(*command);
  if (command->get_name() == "help") return command_candidates(program);
  if (words[words.size() - 2].starts_with("--instance"))
    return name_candidates(io::Catalog::standard().instances());
  const auto takes = [&](std::size_t word, const char* name) {
    return words.size() == word + 1 && command->get_option_no_throw(name) != nullptr;
  };
  if (takes(1, "job") || takes(1, "model")) return name_candidates(io::Catalog::standard().models());
  if (takes(2, "type")) return name_candidates(io::Catalog::standard().instances());
  return takes(1, "id") ? rule_candidates() : "";
}

}  // namespace

void add_help(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<HelpOptions>();
  CLI::App* command = app.add_subcommand("help", "Explain a command, like its --help");
  command->add_option("command", o->command, "the command; default: an overview");
  command->add_flag("--man", o->man, "print all commands as a manual page, for man(1)");
  command
      ->add_option("--complete", o->line,
                   "list what can replace the last word of this line, and what it means; for shells")
      ->each([o](const std::string&) { o->completes = true; });
  command->add_flag("--keys", o->keys,
                    "print the keys of jobs, strategies and documents, with their meanings, as JSON");
  command->footer("Examples:\n  trnplan help plan\n  trnplan help --man | man -l -");
  const CLI::App* program = &app;
  command->callback([o, program, &chosen] {
    chosen = [o, program] {
      if (o->completes) {
        print(candidates(*program, o->line));
      } else if (o->man) {
        print(manual(*program));
      } else if (o->keys) {
        print("{\"job\": " + io::job_keys_json() + ", \"strategy\": " + io::strategy_keys_json() +
              ", \"records\": " + io::records_json() + "}\n");
      } else {
        print_text(help_of(*program, o->command));
      }
      return kDone;
    };
  });
}

}  // namespace trnplan::cli
