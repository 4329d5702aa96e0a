// The keys of a job, a row each: what its readers may read, what docs/job.md and Python say of them. To add one: a row, and its use.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/document.h"

namespace trnplan::io {

struct JobKey {
  std::string_view section;  ///< "" at the top
  std::string_view name;
  std::string_view value;    ///< Markdown, for docs/job.md; of a section what its keys are about
  std::string_view without;  ///< what holds where it is left out, likewise
  bool is_section = false;
};

/// In the order of docs/job.md; a section before its keys.
[[nodiscard]] std::span<const JobKey> job_keys();

/// The same as JSON: a list of {"key": "training.sequence", "value", "without", "section": whether it is one}.
[[nodiscard]] std::string job_keys_json();

/// Reads a section with the keys that it has by job_keys(): to read another is a std::logic_error.
[[nodiscard]] MapReader job_section(const Node& node, std::string_view section,
                                    std::vector<Diagnostic>& faults);

/// Records a fault at each key of `map` that asks for alignment or adapters, which would be another job than
/// the one that is planned.
void refuse_not_modelled(MapReader& map);

}  // namespace trnplan::io
