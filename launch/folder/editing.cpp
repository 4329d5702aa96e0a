#include "launch/folder/editing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "io/output/emit_kubernetes.h"
#include "launch/folder/again.h"
#include "launch/folder/folder_settings.h"
#include "text/lines.h"

namespace trnplan::launch {

namespace {

struct Editable {
  std::string_view name;
  Editing how;
};
/// Files that may be changed. All others may not.
constexpr Editable kEditable[] = {
    {"config.json", Editing::layout},
    {kSettingsFile, Editing::values},
    {"compile.sbatch", Editing::directives},
    {"train.sbatch", Editing::directives},
    {"README.md", Editing::all},
    // Files that create a cluster, its volume and its image, before anything is submitted.
    {"Dockerfile", Editing::all},
    {"install_neuron.sh", Editing::all},
    {"parallelcluster.yaml", Editing::all},
    {"hyperpod.json", Editing::all},
    {"provisioning_parameters.json", Editing::all},
    {"hyperpod-eks.json", Editing::all},
    {"fsx-claim.yaml", Editing::all},
    {"eks-prepare.yaml", Editing::all},
};

/// Options of sbatch for who pays, when and on which nodes. None of them changes what the job runs.
struct SlurmOption {
  char letter;  ///< 0 if it has none
  std::string_view name;
};
constexpr SlurmOption kQueueOptions[] = {
    {'A', "account"},
    {'q', "qos"},
    {'t', "time"},
    {'p', "partition"},
    {'w', "nodelist"},
    {'x', "exclude"},
    {'C', "constraint"},
    {'J', "job-name"},
    {'L', "licenses"},
    {'b', "begin"},
    {'c', "cpus-per-task"},
    {0, "reservation"},
    {0, "mail-type"},
    {0, "mail-user"},
    {0, "comment"},
    {0, "nice"},
    {0, "priority"},
    {0, "switches"},
    {0, "mem"},
    {0, "gres"},
    {0, "gpus-per-node"},
    {0, "wckey"},
};
constexpr SlurmOption kNodes = {'N', "nodes"};
constexpr SlurmOption kTasks = {0, "ntasks-per-node"};
constexpr std::string_view kDirective = "#SBATCH";

bool is_comment(std::string_view row) {
  const std::size_t first = row.find_first_not_of(" \t");
  return first == std::string_view::npos || row[first] == '#';
}

Diagnostic fault_at(const FileText& file, std::size_t line, std::string key, std::string problem,
                    std::string fix) {
  return {{file.path, static_cast<int>(line), line > 0 ? 1 : 0},
          std::move(key),
          std::move(problem),
          std::move(fix)};
}

constexpr std::size_t kShownOfLine = 120;

std::string shown(std::string_view row) {
  return in_quotes(row, kShownOfLine);
}

/// Adds a text unless it is there.
void add_once(std::vector<std::string>& all, const std::string& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

/// Most differing lines of a file that are shown.
constexpr std::size_t kMostShown = 5;

/// Lines as found and as written, from the first difference to the last.
struct Stretch {
  std::vector<std::string_view> found, written;
  std::size_t first = 0;   ///< number of its first line in the file
  bool ends_file = false;  ///< no line of the file follows
};

/// Stretch without the lines that both share at the beginning and at the end. `offset`: lines of the file before
/// `found`.
Stretch stretch_of(std::vector<std::string_view> found, std::vector<std::string_view> written,
                   std::size_t offset) {
  const auto begin = std::mismatch(found.begin(), found.end(), written.begin(), written.end());
  const auto same = begin.first - found.begin();
  found.erase(found.begin(), begin.first);
  written.erase(written.begin(), begin.second);
  const bool at_end = found.empty();
  const auto end = std::mismatch(found.rbegin(), found.rend(), written.rbegin(), written.rend());
  found.erase(end.first.base(), found.end());
  written.erase(end.second.base(), written.end());
  return {std::move(found), std::move(written), offset + static_cast<std::size_t>(same) + 1, at_end};
}

/// Faults of a stretch: its lines against the plan's, one by one if there are as many of both.
std::vector<Diagnostic> differences(const FileText& file, const Stretch& s) {
  const std::string fix = undo_or_plan_again();
  std::vector<Diagnostic> all;
  if (s.found.empty() && s.written.empty()) return all;
  const auto others = [](std::size_t lines) {
    return lines > 1 ? fmt::format(", and so on: {} lines", lines) : std::string();
  };
  if (s.found.empty()) {
    const std::string what = "the plan writes " + shown(s.written[0]);
    all.push_back(fault_at(
        file, s.ends_file ? 0 : s.first, "",
        (s.ends_file ? fmt::format("is cut off: {} in line {}", what, s.first) : what + " before this line") +
            others(s.written.size()),
        fix));
  } else if (s.written.empty()) {
    all.push_back(fault_at(
        file, s.first, "",
        "is " + shown(s.found[0]) + ", which the plan does not write" + others(s.found.size()), fix));
  } else if (s.found.size() != s.written.size()) {
    all.push_back(fault_at(file, s.first, "",
                           fmt::format("is {}; the plan writes {}, {} lines for {}", shown(s.found[0]),
                                       shown(s.written[0]), s.written.size(), s.found.size()),
                           fix));
  } else {
    for (std::size_t i = 0; i < s.found.size() && all.size() < kMostShown; ++i) {
      if (s.found[i] == s.written[i]) continue;
      all.push_back(fault_at(file, s.first + i, "",
                             "is " + shown(s.found[i]) + "; the plan writes " + shown(s.written[i]), fix));
    }
  }
  return all;
}

}  // namespace

Editing editing_of(std::string_view name, bool applied) {
  for (const Editable& e : kEditable) {
    if (e.name == name) return e.how;
  }
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    for (const char* mode : {"compile", "train"}) {
      if (manifest_name(flavour, mode) == name) return applied ? Editing::fields : Editing::all;
    }
  }
  return Editing::nothing;
}

FileFindings compare_bytes(const FileText& file) {
  if (file.found == file.written) return {};
  if (file.found.empty()) return {{fault_at(file, 0, "", "is empty", undo_or_plan_again())}, {}};
  std::vector<Diagnostic> all =
      differences(file, stretch_of(lines_of(file.found), lines_of(file.written), 0));
  if (!all.empty()) return {std::move(all), {}};
  return {{fault_at(file, lines_of(file.found).size(), "",
                    "the end of the last line is not what the plan writes", undo_or_plan_again())},
          {}};
}

// ---- settings.env

FileFindings compare_values(const FileText& file) {
  FileFindings result;
  const SettingsFile found = read_settings(file.found), written = read_settings(file.written);
  const auto fault = [&](int line, std::string key, std::string problem, std::string fix) {
    result.faults.push_back(
        fault_at(file, static_cast<std::size_t>(line), std::move(key), std::move(problem), std::move(fix)));
  };
  const std::vector<std::string_view> rows = lines_of(file.found);
  for (const SettingsFile::Fault& f : found.faults) {
    fault(f.line, "", shown(rows.at(static_cast<std::size_t>(f.line) - 1)) + " " + f.problem,
          "write NAME=VALUE, one per line: nothing is expanded, and no comment may follow a value");
  }
  for (const auto& [name, setting] : found.values) {
    if (!written.values.contains(name))
      fault(setting.line, name, "is not a value of this plan's settings.env",
            "remove the line; export anything else that a job needs in the shell that runs launch");
  }
  for (const auto& [name, setting] : written.values) {
    const auto now = found.values.find(name);
    const auto is_told = [&, &set = name](const SettingsFile::Fault& f) { return f.name == set; };
    if (now == found.values.end() && std::any_of(found.faults.begin(), found.faults.end(), is_told)) continue;
    if (now == found.values.end())
      fault(0, name, "is not set anywhere, and the scripts need it",
            "put its line back, or write the folder again");
    else if (now->second.value != setting.value)
      result.edited.push_back(name);
  }
  return result;
}

// ---- Slurm's directives

namespace {

/// Lines before the first command.
std::size_t header_rows(const std::vector<std::string_view>& rows) {
  return static_cast<std::size_t>(std::find_if_not(rows.begin(), rows.end(), is_comment) - rows.begin());
}

struct Directive {
  std::string name, value;
};

/// Directive of a line "#SBATCH --name=value", "--name value", "-N value" or "-Nvalue", perhaps with a comment
/// after it; nullopt for anything else, also for several options in one line.
std::optional<Directive> directive_of(std::string_view row) {
  constexpr std::string_view kBlanks = " \t";
  std::string_view rest = row.substr(kDirective.size());
  std::vector<std::string_view> words;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    if (rest.empty() || rest.front() == '#') break;
    words.push_back(rest.substr(0, rest.find_first_of(kBlanks)));
    rest.remove_prefix(words.back().size());
  }
  if (words.empty() || words.size() > 2 || row.find_first_of("\"'\\\r") != std::string_view::npos)
    return std::nullopt;
  std::string_view option = words[0], value = words.size() == 2 ? words[1] : "";
  if (value.starts_with('-')) return std::nullopt;
  if (option.starts_with("--")) {
    option.remove_prefix(2);
    const std::size_t equals = option.find('=');
    if (equals != std::string_view::npos && words.size() == 2) return std::nullopt;
    if (equals != std::string_view::npos) value = option.substr(equals + 1);
    return Directive{std::string(option.substr(0, equals)), std::string(value)};
  }
  if (!option.starts_with('-') || option.size() < 2) return std::nullopt;
  const auto meant = [&](const SlurmOption& o) { return o.letter != 0 && o.letter == option[1]; };
  const auto* found = std::find_if(std::begin(kQueueOptions), std::end(kQueueOptions), meant);
  const SlurmOption named = found != std::end(kQueueOptions) ? *found : kNodes;
  if (!meant(named) || (option.size() > 2) == (words.size() == 2)) return std::nullopt;
  return Directive{std::string(named.name), std::string(words.size() == 2 ? value : option.substr(2))};
}

bool is_of_the_queue(const std::string& name) {
  return std::any_of(std::begin(kQueueOptions), std::end(kQueueOptions),
                     [&](const SlurmOption& o) { return o.name == name; });
}

class Header {
 public:
  Header(const FileText& file, int hosts, const std::string& hosts_are, FileFindings& result)
      : file_(file), hosts_(fmt::to_string(hosts)), hosts_are_(hosts_are), result_(&result) {}

  void compare(const std::vector<std::string_view>& found, std::size_t rows,
               const std::vector<std::string_view>& written, std::size_t written_rows) {
    if (rows == 0 || !found[0].starts_with("#!"))
      return fault(1, "", "the first line is not a #! line", undo_or_plan_again());
    if (found[0] != written[0]) check_shell(found[0]);
    left_.assign(written.begin() + 1, written.begin() + static_cast<std::ptrdiff_t>(written_rows));
    std::erase_if(left_, [](std::string_view row) { return !row.starts_with(kDirective); });
    for (std::size_t i = 1; i < rows; ++i) read(found[i], i + 1);
    for (const std::string_view row : left_) {
      const std::optional<Directive> missing = directive_of(row);
      if (missing && replaced_.contains(missing->name)) continue;
      fault(0, missing ? "--" + missing->name : "", "no #SBATCH line sets it", "add " + std::string(row));
    }
    if (found.size() >= rows && !same_comments(found, rows, written, written_rows))
      add_once(result_->edited, "comments");
  }

 private:
  void fault(std::size_t line, std::string key, std::string problem, std::string fix) {
    result_->faults.push_back(fault_at(file_, line, std::move(key), std::move(problem), std::move(fix)));
  }

  /// Checks the #! line, with which Slurm starts its copy of the script.
  void check_shell(std::string_view row) {
    if (row != "#!/bin/bash" && row != "#!/usr/bin/bash")
      fault(1, "", "is " + shown(row) + ", which does not start bash only", "write #!/usr/bin/env bash");
    else
      result_->edited.emplace_back("the #! line");
  }

  /// Reads a line before the first command. Directives of other systems are comments with a word right after the #.
  void read(std::string_view row, std::size_t line) {
    const std::size_t first = row.find_first_not_of(" \t");
    if (first == std::string_view::npos) return;
    if (!row.starts_with(kDirective)) {
      const bool plain = first + 1 == row.size() || row[first + 1] == ' ' || row[first + 1] == '#';
      if (!plain) fault(line, "", shown(row) + " may be an option of a scheduler", "put a space after the #");
      return;
    }
    const auto ours = std::find(left_.begin(), left_.end(), row);
    if (ours != left_.end()) {
      left_.erase(ours);
      return;
    }
    set(row, line);
  }

  void set(std::string_view row, std::size_t line) {
    const std::optional<Directive> d = directive_of(row);
    if (!d) {
      return fault(line, "", shown(row) + " is not read",
                   "write one option per line, --name=value, without quotes");
    }
    const std::string key = "--" + d->name;
    replaced_.insert(d->name);
    if (d->name == kNodes.name && d->value != hosts_) {
      fault(line, key, in_quotes(d->value, 20) + ", but the plan is for " + hosts_ + hosts_are_,
            "write --nodes=" + hosts_ + ", or plan for as many as you want");
    } else if (d->name == kTasks.name && d->value != "1") {
      fault(line, key, in_quotes(d->value, 20) + ", but node_run.sh is one task a node",
            "write --ntasks-per-node=1");
    } else if (d->name == kNodes.name || d->name == kTasks.name || is_of_the_queue(d->name)) {
      add_once(result_->edited, key);
    } else {
      fault(line, key, "changes more than where and when the job runs", undo_or_plan_again());
    }
  }

  static bool same_comments(const std::vector<std::string_view>& found, std::size_t rows,
                            const std::vector<std::string_view>& written, std::size_t written_rows) {
    const auto comments = [](const std::vector<std::string_view>& all, std::size_t count) {
      std::vector<std::string_view> rest(all.begin() + 1, all.begin() + static_cast<std::ptrdiff_t>(count));
      std::erase_if(rest, [](std::string_view row) { return row.starts_with(kDirective); });
      return rest;
    };
    return comments(found, rows) == comments(written, written_rows);
  }

  const FileText& file_;
  std::string hosts_;
  const std::string& hosts_are_;
  FileFindings* result_;
  std::vector<std::string_view> left_;  ///< directives of the plan that were not found yet
  std::set<std::string> replaced_;      ///< names of directives that differ from the plan's
};

}  // namespace

FileFindings compare_directives(const FileText& file, int hosts, const std::string& hosts_are) {
  if (file.found == file.written) return {};
  if (file.found.empty()) return compare_bytes(file);
  FileFindings result;
  const std::vector<std::string_view> found = lines_of(file.found), written = lines_of(file.written);
  const std::size_t rows = header_rows(found), written_rows = header_rows(written);
  Header(file, hosts, hosts_are, result).compare(found, rows, written, written_rows);
  const auto body = [](const std::vector<std::string_view>& all, std::size_t from) {
    return std::vector<std::string_view>(all.begin() + static_cast<std::ptrdiff_t>(from), all.end());
  };
  const std::vector<Diagnostic> commands =
      differences(file, stretch_of(body(found, rows), body(written, written_rows), rows));
  result.faults.insert(result.faults.end(), commands.begin(), commands.end());
  if (commands.empty() && !file.found.ends_with('\n')) result.edited.emplace_back("the end of the last line");
  return result;
}

}  // namespace trnplan::launch
