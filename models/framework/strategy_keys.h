// The keys of a strategy, a row each: what --strategy, the job's `pin`, documents, folders, Python and the pages call them, and how each is
// read and told. A new key is a member of Strategy and Pin, and a row.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/job/job.h"

namespace trnplan::models {

/// As documents state it; words are those of to_string().
using StrategyValue = std::variant<int, bool, std::string, std::vector<int>>;

struct StrategyKey {
  enum class Kind {
    whole,  ///< from 1 to `most`
    flag,
    word,  ///< one of `words`
    loop,  ///< the name of a training loop
    cuts   ///< whole numbers
  };
  /// Who may state it.
  enum class Pinned {
    by_job,       ///< `pin` of a job, --strategy too
    by_strategy,  ///< --strategy alone
  };
  /// Without it in the grammar the key is as a job would have it that states nothing but ...
  enum class Default {
    nothing,  ///< not even the degrees
    degrees,  ///< the degrees and flash attention
    own       ///< the key's own rule (planner/plan/strategy_grammar.cpp)
  };
  /// In files that this program wrote.
  enum class Stored {
    always,
    whole,  ///< not where a strategy's layout alone is known (io::Known::layout)
    newer   ///< files that are older lack it
  };

  std::string_view name;   ///< in jobs and documents
  std::string_view brief;  ///< in the grammar
  Kind kind;
  /// Of Kind::word, with a noun before it for faults: "recompute policy" and "none, full, ...".
  std::string_view noun;
  std::string words;
  int most;
  Pinned pinned;
  Default without;
  Stored stored;
  std::string says;  ///< Markdown, for docs/keys.md
  /// What holds, also where the strategy leaves it to others: schedule, framework and degree of sharding are resolved.
  StrategyValue (*stated)(const Strategy&);
  /// Pins a value of the key's kind; false, with nothing changed, for a word that is none of `words`.
  bool (*pin)(Pin&, const StrategyValue&);
  /// What `pin` fixes of it.
  void (*apply)(const Pin&, Strategy&);
};

/// In the order of documents and of the grammar.
[[nodiscard]] std::span<const StrategyKey> strategy_keys();

/// nullptr: there is none of this brief name.
[[nodiscard]] const StrategyKey* brief_strategy_key(std::string_view brief);

/// Everything that `pin` fixes.
void apply_pins(const Pin& pin, Strategy& s);

/// As the grammar writes it: "8", "true", "CoreAttention+LlamaMLP", "7/15/23".
[[nodiscard]] std::string text_of(const StrategyValue& value);
/// What the grammar writes so; nullopt where it is no value of the key's kind. Of a word only `pin` knows whether it is one.
[[nodiscard]] std::optional<StrategyValue> value_of(const StrategyKey& key, std::string_view text);

}  // namespace trnplan::models
