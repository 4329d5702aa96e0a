// What a person may change in a plan's folder. All else has to be what plan --out writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::launch {

/// How a file is read when it is not what plan --out writes, and what may differ in it.
enum class Editing {
  nothing,  ///< each byte is the plan's
  layout,   ///< read as JSON: the keys and values are the plan's, however they are laid out
  values,   ///< read by read_settings(): values of the names that the plan's file has, and comments
  directives,  ///< the lines before the first command: Slurm's options of a job's place in the queue, and comments
  fields,  ///< read as YAML: what is named in tree_check.h, and layout and comments
  all,     ///< nothing that launch submits reads it
};

/// Of a file of that name. `applied`: it is a manifest that Kubernetes is to get; others of its kind are not read.
[[nodiscard]] Editing editing_of(std::string_view name, bool applied);

/// A file of the folder, as it is and as the plan writes it.
struct FileText {
  std::string path;  ///< for messages
  const std::string& found;
  const std::string& written;
};

/// What a file holds that the plan does not write, and what a person may have changed of it, by its name.
struct FileFindings {
  std::vector<Diagnostic> faults;
  std::vector<std::string> edited;
};

/// The lines that differ, the first few of them: what stands there, and what the plan writes there.
[[nodiscard]] FileFindings compare_bytes(const FileText& file);
/// Editing::values.
[[nodiscard]] FileFindings compare_values(const FileText& file);
/// Editing::directives. `hosts`: that the job is for.
[[nodiscard]] FileFindings compare_directives(const FileText& file, int hosts, const std::string& hosts_are);

}  // namespace trnplan::launch
