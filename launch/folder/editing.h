// Changes that a person may make in a plan's folder. Everything else has to equal the output of plan --out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::launch {

/// Rules for reading a file that differs from the output of plan --out, and for the differences that are
/// allowed.
enum class Editing {
  nothing,     ///< no difference: each byte is the plan's
  layout,      ///< read as JSON: the plan's keys and values, in any layout
  values,      ///< read by read_settings(): other values for the names of the plan's file, and comments
  directives,  ///< the lines before the first command: options for the place in the queue, and comments
  fields,      ///< read as YAML: the fields named in tree_check.h, layout and comments
  all,         ///< no file that launch submits depends on it
};

/// Allowed changes of the file of that name. `applied`: it is a manifest that Kubernetes will get; other
/// manifests are not read.
[[nodiscard]] Editing editing_of(std::string_view name, bool applied);

/// A file of the folder: its current text, and the plan's.
struct FileText {
  std::string path;  ///< for messages
  const std::string& found;
  const std::string& written;
};

/// Differences of a file from the plan's, and those among them that a person may make, by name.
struct FileFindings {
  std::vector<Diagnostic> faults;
  std::vector<std::string> edited;
};

/// The first few lines that differ: the current line, and the plan's.
[[nodiscard]] FileFindings compare_bytes(const FileText& file);
/// Compares as Editing::values.
[[nodiscard]] FileFindings compare_values(const FileText& file);
/// Compares as Editing::directives. `hosts`: the number that the job needs.
[[nodiscard]] FileFindings compare_directives(const FileText& file, int hosts, const std::string& hosts_are);

}  // namespace trnplan::launch
