// Published jobs of which it is known whether they fit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/uncertainty/measured_run.h"
#include "units/quantity.h"

namespace trnplan::logs {

enum class MemoryFact {
  fits,
  too_large,
  at_most,  ///< a limit that the mean over all cores kept
};
std::string_view to_string(MemoryFact f);

struct MemoryCase {
  std::string id, source, note;
  std::string kind;  ///< of measured-runs.csv, or "case"
  std::string model, instance;
  std::string left_out;  ///< reason why nothing can be predicted; "" = it can
  int nodes = 0, sequence = 0, global_batch = 0;
  int layers = 0, vocabulary = 0;  ///< 0 = the catalogue's
  models::Strategy strategy;       ///< without KV replication
  MemoryFact fact = MemoryFact::fits;
  bool shipped = false;  ///< a published configuration, presumed to run; nobody saw it
  Bytes at_most{};       ///< per core
  int rows = 1;          ///< number of equal published rows
};

/// Parses the text of a memory-cases CSV (RFC 4180, columns by header name, unknown columns ignored). `name`
/// is used in messages. Throws InputError listing every fault.
std::vector<MemoryCase> parse_memory_cases(std::string_view text, const std::string& name);

/// The rows that show whether something fits: oom, limit, recipe and memory, each a case; train, where equal
/// layouts are one case. Other kinds, and quality D, are skipped. A row's machine is the first of the names
/// `machines` that its hardware contains.
std::vector<MemoryCase> memory_cases_of(const std::vector<models::MeasuredRun>& runs,
                                        const std::vector<std::string>& machines);

}  // namespace trnplan::logs
