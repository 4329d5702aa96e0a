// A user's own runs (logs/table/own_runs.h) as jobs. What a row does not state follows from options, from a
// job that all rows have, and last from the rules for words of published tables.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "calibrate/data/layout_jobs.h"
#include "models/job/job.h"

namespace trnplan::calibrate {

/// Statements besides the table. Columns come before options, options before the job.
struct StatedForAll {
  std::string framework, instance, release;  ///< options; "" = none
  std::optional<models::Job> job;
};

/// Entries of a catalogue by name. Both throw InputError for an unknown one.
struct NamedThings {
  std::function<topology::Instance(const std::string&)> instance;
  std::function<models::Architecture(const std::string&)> model;
};

struct OwnJob {
  models::Job job;
  std::string strategy;   ///< in the grammar; it states no framework unless the table's `strategy` does
  std::string framework;  ///< a stack or a training loop by its name; "" = not stated, the job's
  RowMemory memory;
  std::string refused;  ///< a reason that equal cases share word for word; "" if there is none
};

/// True if the row states its software or machine itself, if options do, or if no rule knows its source: then
/// it is read by own_job(), else by layout_job().
[[nodiscard]] bool is_own(const logs::LayoutRun& run, const LayoutRules& rules, const StatedForAll& stated);

/// Converts a row. Fewer GPUs than a node's become a part of one node. Throws InputError for names that the
/// catalogue does not know.
[[nodiscard]] OwnJob own_job(const logs::LayoutRun& run, const LayoutRules& rules, const StatedForAll& stated,
                             const NamedThings& named);

}  // namespace trnplan::calibrate
