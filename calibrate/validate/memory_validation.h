// Validation of the memory model against published jobs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "logs/table/memory_cases.h"
#include "models/job/job.h"
#include "models/memory/memory.h"
#include "models/parameters/profile.h"

namespace trnplan::calibrate {

/// Sources of networks and machines; both throw InputError for an unknown name.
struct Lookup {
  std::function<models::Architecture(const std::string&)> architecture;
  std::function<topology::Instance(const std::string&)> instance;
};

/// Job and strategy of a case, from job_of(), which throws InputError for an unknown network or machine.
struct CaseJob {
  models::Job job;
  models::Strategy strategy;
};
[[nodiscard]] CaseJob job_of(const logs::MemoryCase& c, const Lookup& lookup);

struct MemoryValidation {
  struct Row {
    logs::MemoryCase published;
    models::Job job;
    models::Memory memory;       ///< its limit is the row's
    double fit_probability = 0;  ///< P(peak <= limit)
    Bytes limit{};               ///< a core's memory, or `published.at_most`
    /// True if fit or refusal is as published; for a limit that was kept, if at least half of it is needed
    /// too.
    bool right = false;

    Bytes peak() const { return memory.worst().peak(); }
    Bytes margin() const { return limit - peak(); }
  };
  std::vector<Row> rows;
  std::vector<logs::MemoryCase> left_out;

  /// Number of published rows behind `rows` of a kind ("" = all), and of those predicted wrong.
  struct Count {
    int layouts = 0, rows = 0, wrong = 0;
  };
  Count count(const std::string& kind) const;
};

MemoryValidation validate_memory(const std::vector<logs::MemoryCase>& cases, const Lookup& lookup,
                                 const models::Profile& profile);

}  // namespace trnplan::calibrate
