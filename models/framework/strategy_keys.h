// Keys of a strategy, a row each: their names in --strategy, the job's `pin`, documents, folders, Python and
// the pages, and how each is read and printed. A new key is a member of Strategy and Pin, and a row.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/job/job.h"

namespace trnplan::models {

/// Value of a key, as documents state it. Words are those of to_string().
using StrategyValue = std::variant<int, bool, std::string, std::vector<int>>;

struct StrategyKey {
  enum class Kind {
    whole,  ///< from 1 to `most`
    flag,
    word,  ///< one of `words`
    loop,  ///< the name of a training loop
    cuts   ///< whole numbers
  };
  /// Places that may state the key.
  enum class Pinned {
    by_job,       ///< `pin` of a job, and --strategy
    by_strategy,  ///< only --strategy
  };
  /// Value of a key that the grammar does not state: that of a job that states only ...
  enum class Default {
    nothing,  ///< not even the degrees
    degrees,  ///< the degrees and flash attention
    own       ///< the key's own rule (planner/plan/strategy_grammar.cpp)
  };
  /// Presence of the key in files that this program wrote.
  enum class Stored {
    always,
    whole,  ///< unless only a strategy's layout is known (io::Known::layout)
    newer   ///< older files lack it
  };

  std::string_view name;   ///< in jobs and documents
  std::string_view brief;  ///< in the grammar
  Kind kind;
  /// Noun and words of a key of Kind::word, for faults: "recompute policy" and "none, full, ...".
  std::string_view noun;
  std::string words;
  int most;
  Pinned pinned;
  Default without;
  Stored stored;
  std::string says;  ///< Markdown, for docs/keys.md
  /// Effective value. Schedule, framework and degree of sharding are resolved if the strategy leaves them open.
  StrategyValue (*stated)(const Strategy&);
  /// Pins a value of the key's kind. False, with nothing changed, for a word that is not among `words`.
  bool (*pin)(Pin&, const StrategyValue&);
  /// Copies the pinned value, if there is one, to the strategy.
  void (*apply)(const Pin&, Strategy&);
};

/// All keys, in the order of documents and of the grammar.
[[nodiscard]] std::span<const StrategyKey> strategy_keys();

/// Key of that brief name; nullptr if there is none.
[[nodiscard]] const StrategyKey* brief_strategy_key(std::string_view brief);

/// Copies everything that `pin` fixes to the strategy.
void apply_pins(const Pin& pin, Strategy& s);

/// Text of a value in the grammar: "8", "true", "CoreAttention+LlamaMLP", "7/15/23".
[[nodiscard]] std::string text_of(const StrategyValue& value);
/// A part of "key=value,key=value" that cannot be read.
struct WrongPair {
  enum class Why { no_value, no_key, twice, unknown, value } why;
  std::string_view part, name, value;
  const StrategyKey* key;  ///< null for an unknown name
};

/// Reads "key=value,key=value" by the brief names into `pin`, adds the names to `seen` and reports each part that is
/// wrong, in order. Cuts are joined by "/".
void read_pairs(std::string_view text, Pin& pin, std::set<std::string, std::less<>>& seen,
                const std::function<void(const WrongPair&)>& wrong);

}  // namespace trnplan::models
