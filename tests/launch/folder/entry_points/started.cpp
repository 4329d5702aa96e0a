#include "tests/launch/folder/entry_points/started.h"

#include <regex>
#include <sstream>
#include <stdexcept>

namespace trnplan {

namespace {

using Values = std::map<std::string, std::string>;

/// $NAME and ${NAME} of a text within double quotes.
std::string expanded(const std::string& text, const Values& values) {
  static const std::regex kName(R"(\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?)");
  std::string out;
  auto at = text.cbegin();
  for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it) {
    out.append(at, text.cbegin() + it->position());
    const auto value = values.find((*it)[1]);
    if (value == values.end()) throw std::runtime_error("nothing sets $" + (*it)[1].str());
    out += value->second;
    at = text.cbegin() + it->position() + it->length();
  }
  return out.append(at, text.cend());
}

/// A value as bash would have it: quotes gone, NAME="${NAME:-VALUE}" is VALUE when nothing is set outside.
std::string value_of(std::string text, const Values& values) {
  static const std::regex kDefault(R"("\$\{[A-Z_0-9a-z]+:-(.*)\}")");
  std::smatch found;
  if (std::regex_match(text, found, kDefault)) {
    text = found[1];
  } else if (text.size() >= 2 && text.front() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return expanded(text, values);
}

/// The assignments of an export line.
void read_export(const std::string& line, const Values& values, Values& environment) {
  static const std::regex kOne(R"re(([A-Za-z_][A-Za-z0-9_]*)=("[^"]*"|[^ #]*))re");
  const std::string rest = line.substr(line.find("export ") + 7);
  for (std::sregex_iterator it(rest.begin(), rest.end(), kOne), end; it != end; ++it) {
    const std::string name = (*it)[1];
    if (name == "PATH" || name == "PYTHONPATH" || name == "VIRTUAL_ENV") continue;
    environment[name] = value_of((*it)[2], values);
  }
}

/// What stands behind `mark`, up to one of `ends`.
std::string behind(const std::string& text, const std::string& mark, const char* ends) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) throw std::runtime_error("no " + mark);
  const std::size_t from = at + mark.size();
  return text.substr(from, text.find_first_of(ends, from) - from);
}

/// A setting of a mode's function: NAME=VALUE, or NAME=${TRAIN_ITERS:-VALUE}.
void read_setting(const std::string& line, Values& values) {
  static const std::regex kSetting(R"re( +([a-z_]+)=(?:\$\{TRAIN_ITERS:-([^}]*)\}|([-A-Za-z0-9.]+)))re");
  std::smatch found;
  if (std::regex_match(line, found, kSetting)) values[found[1]] = found[2].matched ? found[2] : found[3];
}

/// Line by line: the settings of the mode, what is exported outside of functions and in it, the script and the
/// lines of its words.
void read_lines(const std::string& node_run, const std::string& mode, Values& values, Started& s,
                std::vector<std::string>& command) {
  static const std::regex kFunction(R"(([a-z]+)\(\) \{)");
  std::istringstream lines(node_run);
  std::string function;
  bool within = false;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.ends_with("() {") && std::regex_match(line, found, kFunction)) function = found[1];
    if (line == "}") function.clear();
    if (function == mode) read_setting(line, values);
    const bool ours = function.empty() || function == mode;
    if (ours && !line.starts_with('#') && line.find("export ") != std::string::npos)
      read_export(line, values, s.environment);
    if (within && s.script.empty()) {
      std::size_t first = line.find_first_not_of(' ');
      if (line.compare(first, 3, "-m ") == 0) first += 3;  // a module
      s.script = line.substr(first, line.find(' ', first) - first);
    } else if (within) {
      command.push_back(line);
    }
    const bool starts = line.find("\"$@\" torchrun ") != std::string::npos ||
                        line.find("\"$@\" python3 -m torch.distributed.run ") != std::string::npos;
    within = line.ends_with("\\") && (within || starts);
  }
}

}  // namespace

Started started(const std::string& node_run, const std::string& mode, bool again,
                const std::string& phase1_step) {
  Started s;
  Values values = {{"plan", "/plan"},
                   {"TRNPLAN_CODE", "/code"},
                   {"TRNPLAN_DATA", "/data"},
                   {"cache", "/cache"},
                   {"TRNPLAN_CACHE", "/cache"},
                   {"TRNPLAN_TOKENIZER", "/tokenizer"},
                   {"results", "/plan/run"},
                   {"TRNPLAN_PHASE1", "/phase1"},
                   {"TRNPLAN_WEIGHTS", "/weights"},
                   {"TRNPLAN_PHASE1_STEP", phase1_step}};
  if (mode == "compile") values["results"] = "/plan/compile";
  if (node_run.find("\nstart=") != std::string::npos) values["start"] = "20260101-000000";
  s.nodes = std::stoi(behind(node_run, "\nnodes=", "\n"));
  s.processes = std::stoi(behind(node_run, "--nproc_per_node=", " "));
  s.port = std::stoi(behind(node_run, "--master_port=", ")\n"));
  s.folder = behind(node_run, "\ncd -- \"$TRNPLAN_CODE/", "\"");
  s.results = values["results"];
  if (node_run.find("\nexport PYTHONPATH=") != std::string::npos)
    s.python_path = behind(node_run, "\nexport PYTHONPATH=\"$TRNPLAN_CODE/", "$");

  std::vector<std::string> command;
  read_lines(node_run, mode, values, s, command);
  if (!command.empty() && command.back() == "    \"${again[@]}\"")
    command.back() = behind(node_run, again ? "then again=(" : "local again=(", ")");
  static const std::regex kWord(R"re("([^"]*)")re");
  for (const std::string& row : command) {
    for (std::sregex_iterator it(row.begin(), row.end(), kWord), end; it != end; ++it)
      s.words.push_back(expanded((*it)[1], values));
  }
  return s;
}

}  // namespace trnplan
