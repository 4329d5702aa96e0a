// Values of a script's settings, checked and converted for a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/target.h"
#include "targets/start/settings.h"
#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// End of a fix for a value that a script states by a variable that nothing sets.
inline constexpr const char* kOrVariable = ", or give its variable: --env NAME=VALUE";

/// Settings with bounds. Each fault is kept with the place of its setting, and the smallest allowed value is used
/// instead, so that all faults are found.
class RunValues {
 public:
  /// Requires: `settings` and `file` outlive it. `before`: faults that were found already, including those of
  /// settings.faults() that nobody else reports.
  RunValues(const Settings& settings, const std::string& file, std::vector<Diagnostic> before);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Whole number within the bounds of its row. Requires: the setting has a row. A value that only the shell
  /// knows is a fault too.
  int whole(std::string_view name) {
    return within(name, settings_.key(name)->least, settings_.key(name)->most);
  }
  int within(std::string_view name, std::int64_t least, std::int64_t most);
  /// Whole number if it is stated; else `fallback`, unchecked.
  int whole(std::string_view name, int fallback) { return settings_.given(name) ? whole(name) : fallback; }
  /// Number within the bounds of its row, or its default. Requires: the setting has a row.
  double number(std::string_view name) { return number(name, settings_.number(name)); }
  double number(std::string_view name, double fallback);
  /// Stated text, even if it is not among the choices, or the default. One that only the shell knows is a fault.
  std::string text(std::string_view name);
  /// True for a switch that is named, a truth that is true, a number other than 0. Requires: it has a row.
  bool on(std::string_view name);
  void fault(std::string_view name, std::string problem, std::string fix);
  /// Adds a fault unless another one has its key.
  void add_unless_told(Diagnostic fault);
  /// Adds faults of the rules of a layout for keys that have none yet.
  void ask(const StartTable& table, const StartFacts& facts);
  /// Throws InputError if there is a fault.
  void finish();

 private:
  void outside(std::string_view name, const char* kind, std::int64_t least, std::int64_t most);
  void need_known(std::string_view name);

  const Settings& settings_;
  const std::string& file_;
  std::vector<Diagnostic> faults_;
};

/// Ranks that the degrees leave for data parallelism; 1 if they do not divide the ranks, which a rule reports.
int data_parallel_of(const models::Strategy& strategy, int ranks);

/// Model that a script takes from a config.json; nullptr is a fault at the setting that names its folder.
const models::Architecture& model_beside(RunValues& values, const models::Architecture* model,
                                         std::string_view setting);

}  // namespace trnplan::targets
