// Assertions of a framework about its settings before the first step: a table of rules for each target. `check`
// applies them to a person's file, the tests to emitted files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/architecture.h"
#include "planner/plan/target.h"
#include "targets/start/settings.h"
#include "topology/instance.h"

namespace trnplan::targets {

/// Facts that the rules need in addition to the settings.
struct StartFacts {
  std::int64_t ranks = 0;
  topology::Core core;
  models::Architecture model;  ///< for settings that name a model instead of its shape
  /// The file starts the program, so it sets the whole environment.
  bool starts_program = true;
};

/// Breach of a rule.
struct Breach {
  std::string problem, fix;
  /// The program runs, but not as the settings say; or another file may state the missing setting.
  bool doubtful = false;
  std::string key = {};  ///< key that is at fault; "" = the first one stated
  /// The program refuses it, but it can have only one meaning, and is read so.
  bool understood = false;
};

/// Breach of a product of degrees that does not divide the ranks.
[[nodiscard]] Breach undivided_ranks(std::int64_t degrees, std::int64_t ranks);
/// Breach of a global batch that is no multiple of the sequences that all replicas take at once.
[[nodiscard]] Breach undivided_batch(std::int64_t batch, std::int64_t slice);

struct StartRule {
  const char* word;  ///< the id of its row in api/rules
  const char* name;  ///< of this rule alone
  /// All keys that it reads, separated by blanks. It is judged if all of them can be read; a breach points to the
  /// first one that is stated.
  std::string keys;
  std::optional<Breach> (*broken)(const Settings&, const StartFacts&);
  const char* source;
  /// True for a rule without which degrees, batch, length of the run, sequence, layers or recomputation
  /// describe no run, so readers ask it too. It
  /// needs only the number of ranks of the machine, and only facts of the model that a reader has.
  bool of_layout = false;
};

/// Keys and rules of a target.
struct StartTable {
  const std::vector<StartKey>& keys;
  const std::vector<StartRule>& rules;
  const char* keys_source;  ///< of kinds, choices and defaults
};

/// Faults of single values and of all rules, with their places in `file`.
[[nodiscard]] std::vector<planner::StartFault> start_faults(const StartTable& table, const Settings& settings,
                                                            const StartFacts& facts, const std::string& file);

/// Faults of the rules of a layout, without those of single values and without doubtful or understood breaches.
[[nodiscard]] std::vector<Diagnostic> layout_faults(const StartTable& table, const Settings& settings,
                                                    const StartFacts& facts, const std::string& file);

/// Key that a rule of strategies is about; rule "" = every other rule.
struct RuleKey {
  std::string_view rule, key;
};
/// Place of the key of a rule. Requires: the last of `keys` is for every other rule.
[[nodiscard]] planner::KeyPlace place_of_rule(std::span<const RuleKey> keys, std::string_view rule,
                                              const Settings& settings, const std::string& file);

}  // namespace trnplan::targets
