// The keys of a job, a row each, for its readers, docs/job.md and Python. To add one: a row, and its use.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/document.h"

namespace trnplan::io {

struct JobKey {
  std::string_view section;  ///< "" at the top
  std::string_view name;
  std::string_view value;    ///< Markdown, for docs/job.md; for a section the subject of its keys
  std::string_view without;  ///< default if it is left out, likewise
  bool is_section = false;
};

/// All keys in the order of docs/job.md; a section before its keys.
[[nodiscard]] std::span<const JobKey> job_keys();

/// The same as JSON: a list of {"key": "training.sequence", "value", "without", "section": whether it is
/// one}.
[[nodiscard]] std::string job_keys_json();

/// Reads a section with its keys of job_keys(): reading another key is a std::logic_error.
[[nodiscard]] MapReader job_section(const Node& node, std::string_view section,
                                    std::vector<Diagnostic>& faults);

/// Records a fault at each key of `map` that asks for alignment or adapters, which would be a job other than
/// the planned one.
void refuse_not_modelled(MapReader& map);

}  // namespace trnplan::io
