// Settings of a run by name: what a file states, with its place, and the framework's own value where nothing is said.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::targets {

/// What stands behind a name; a switch has nothing behind it.
struct Stated {
  std::vector<std::string> values;
  SourcePos at;
  bool list = false;  ///< written as a list, of whatever length
  bool quoted =
      false;  ///< it, or all of the list, as a text in quotes, by a file that tells texts from numbers
};
using StatedByName = std::map<std::string, Stated, std::less<>>;

enum class KeyKind {
  any,  ///< not looked at
  text,
  list,    ///< of texts
  whole,   ///< a whole number
  number,  ///< a number that may have a fraction
  toggle,  ///< on where it is named
  truth    ///< true or false
};

/// The largest whole number that is taken for a setting of a run. Ours.
inline constexpr std::int64_t kLargestSetting = 1'000'000'000'000;

/// A key that the framework knows: what check, prediction and the faults of both take from one row.
struct StartKey {
  const char* name;
  KeyKind kind = KeyKind::text;
  const char* usual = "";               ///< its value where nothing is stated; "" = none
  const char* choices = "";             ///< the words that it takes, with blanks between; "" = any
  std::int64_t least = 0;               ///< of a whole number
  std::int64_t most = kLargestSetting;  ///< of which a run is predicted
};

/// The words of a text, which blanks part.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

/// The next multiple of `of` above n.
[[nodiscard]] constexpr std::int64_t next_multiple(std::int64_t n, std::int64_t of) {
  return (n / of + 1) * of;
}

/// What is wrong, and what to do.
struct Complaint {
  std::string problem, fix;
};
/// Degrees whose product does not divide the ranks.
[[nodiscard]] Complaint undivided_ranks(std::int64_t degrees, std::int64_t ranks);
/// A global batch that is no multiple of what all replicas take at once.
[[nodiscard]] Complaint undivided_batch(std::int64_t batch, std::int64_t slice);

class Settings {
 public:
  /// `keys` must outlive it. A value that only a shell knows ("$N") counts as not readable, and is no fault.
  Settings(StatedByName stated, const std::vector<StartKey>& keys);

  [[nodiscard]] bool given(std::string_view name) const { return stated_.contains(name); }
  /// A switch that is named, or a truth that is true.
  [[nodiscard]] bool on(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& list(std::string_view name) const;
  [[nodiscard]] bool is_list(std::string_view name) const;
  /// 0 where there is none or it cannot be read.
  [[nodiscard]] std::int64_t whole(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  /// The file alone where it is not stated.
  [[nodiscard]] SourcePos at(std::string_view name, const std::string& file) const;
  /// Its row; nullptr where there is none.
  [[nodiscard]] const StartKey* key(std::string_view name) const;
  /// Its value, or the framework's own, can be read.
  [[nodiscard]] bool readable(std::string_view name) const { return !unreadable_.contains(name); }

  /// What is wrong with single values: of another kind, outside the choices, too small.
  [[nodiscard]] const std::vector<Diagnostic>& faults() const { return faults_; }

 private:
  void read(const StartKey& key, const Stated& stated);

  StatedByName stated_;
  const std::vector<StartKey>& keys_;
  std::set<std::string, std::less<>> unreadable_;
  std::vector<Diagnostic> faults_;
};

}  // namespace trnplan::targets
