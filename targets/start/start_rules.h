// What a framework asserts of its settings before the first step: a table of rules for each target, which `check` applies
// to a file of a person and the tests to what is emitted.
#pragma once

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

/// What the rules ask beside the settings.
struct StartFacts {
  std::int64_t ranks = 0;
  topology::Core core;         ///< of the machine
  models::Architecture model;  ///< where a name stands for its shape
  bool starts_program =
      true;  ///< the file starts the program, so that nothing of its environment is elsewhere
};

/// How a rule is broken.
struct Breach {
  std::string problem, fix;
  bool doubtful =
      false;             ///< it runs, but not as the settings say, or what the file lacks may stand elsewhere
  std::string key = {};  ///< what it is about; "" = the first that is stated
  bool understood = false;  ///< refused, but there is one thing that it can mean, as which it is read
};

struct StartRule {
  const char* word;  ///< the id of its row in api/rules
  const char* name;  ///< of this rule alone
  /// Every key that it reads, with blanks between. It is judged where all can be read; a breach points to the first that is
  /// stated.
  std::string keys;
  std::optional<Breach> (*broken)(const Settings&, const StartFacts&);
  const char* source;
  /// Where it is broken, degrees, batch, sequence and layers describe no run, so readers ask it too. It asks nothing of the machine but
  /// the number of ranks, and of the model what a reader knows.
  bool of_layout = false;
};

/// A target's own.
struct StartTable {
  const std::vector<StartKey>& keys;
  const std::vector<StartRule>& rules;
  const char* keys_source;  ///< of kinds, choices and usual values
};

/// Every value and every rule that is wrong, by their places in `file`.
[[nodiscard]] std::vector<planner::StartFault> start_faults(const StartTable& table, const Settings& settings,
                                                            const StartFacts& facts, const std::string& file);

/// What the rules of a layout refuse. Nothing of single values, nor what is doubtful or understood.
[[nodiscard]] std::vector<Diagnostic> layout_faults(const StartTable& table, const Settings& settings,
                                                    const StartFacts& facts, const std::string& file);

/// The key that a rule of strategies is about; "" = every other rule.
struct RuleKey {
  std::string_view rule, key;
};
/// Requires: the last of `keys` is for every other rule.
[[nodiscard]] planner::KeyPlace place_of_rule(std::span<const RuleKey> keys, std::string_view rule,
                                              const Settings& settings, const std::string& file);

}  // namespace trnplan::targets
