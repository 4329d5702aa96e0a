// Settings of a run by name: the values that a file states, with their places, and the framework's defaults
// for the others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::targets {

/// Values that a file states for a name; none for a switch.
struct Stated {
  std::vector<std::string> values;
  SourcePos at;
  bool list = false;  ///< written as a list, of whatever length
  /// A text in quotes, or a list of such, in a file that distinguishes texts from numbers.
  bool quoted = false;
};
using StatedByName = std::map<std::string, Stated, std::less<>>;

enum class KeyKind {
  any,  ///< not checked
  text,
  list,    ///< of texts
  whole,   ///< a whole number
  number,  ///< possibly with a fraction
  toggle,  ///< on if named
  truth    ///< true or false
};

/// Largest whole number that is accepted for a setting of a run. Our own limit.
inline constexpr std::int64_t kLargestSetting = 1'000'000'000'000;

/// Key that the framework knows. The check, the prediction and the faults of both use the same row.
struct StartKey {
  const char* name;
  KeyKind kind = KeyKind::text;
  const char* usual = "";               ///< its value if not stated; "" = none
  const char* choices = "";             ///< its allowed words, separated by blanks; "" = any
  std::int64_t least = 0;               ///< for a whole number
  std::int64_t most = kLargestSetting;  ///< largest value for which a run is predicted
};

/// Words of a text, separated by blanks.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

/// Next multiple of `of` above n.
[[nodiscard]] constexpr std::int64_t next_multiple(std::int64_t n, std::int64_t of) {
  return (n / of + 1) * of;
}

class Settings {
 public:
  /// Requires: `keys` outlives it. A value that only a shell knows ("$N") counts as not readable, and is no
  /// fault.
  Settings(StatedByName stated, const std::vector<StartKey>& keys);

  [[nodiscard]] bool given(std::string_view name) const { return stated_.contains(name); }
  /// True for a switch that is named, and for a truth that is true.
  [[nodiscard]] bool on(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& list(std::string_view name) const;
  [[nodiscard]] bool is_list(std::string_view name) const;
  /// Whole number of a key; 0 if it is absent or not readable.
  [[nodiscard]] std::int64_t whole(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  /// Place of a key; only the file if the key is not stated.
  [[nodiscard]] SourcePos at(std::string_view name, const std::string& file) const;
  /// Row of a key; nullptr if there is none.
  [[nodiscard]] const StartKey* key(std::string_view name) const;
  /// True if the stated value, or the framework's default, can be read.
  [[nodiscard]] bool readable(std::string_view name) const { return !unreadable_.contains(name); }

  /// Faults of single values: wrong kind, not among the choices, too small.
  [[nodiscard]] const std::vector<Diagnostic>& faults() const { return faults_; }

 private:
  void read(const StartKey& key, const Stated& stated);

  StatedByName stated_;
  const std::vector<StartKey>& keys_;
  std::set<std::string, std::less<>> unreadable_;
  std::vector<Diagnostic> faults_;
};

}  // namespace trnplan::targets
