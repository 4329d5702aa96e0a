// Values of a script's settings as a run needs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/target.h"
#include "targets/start/settings.h"
#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// Behind a fix of what a script states by a variable that nothing sets.
inline constexpr const char* kOrVariable = ", or give its variable: --env NAME=VALUE";

/// Settings with bounds. Each fault is kept, with the place of its setting; the run goes on with the least value that is
/// taken, so that all faults are found.
class RunValues {
 public:
  /// Both must outlive it. `before`: faults that were found already, those of settings.faults() that nobody else tells among them.
  RunValues(const Settings& settings, const std::string& file, std::vector<Diagnostic> before);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Within the bounds of its row. Requires: it has one. A value that only the shell knows is a fault too.
  int whole(std::string_view name) {
    return within(name, settings_.key(name)->least, settings_.key(name)->most);
  }
  int within(std::string_view name, std::int64_t least, std::int64_t most);
  /// Where it is stated; else `fallback`, whatever that is.
  int whole(std::string_view name, int fallback) { return settings_.given(name) ? whole(name) : fallback; }
  /// Within the bounds of its row, or its usual value. Requires: it has a row.
  double number(std::string_view name) { return number(name, settings_.number(name)); }
  double number(std::string_view name, double fallback);
  /// As it is stated, whether or not it is one of the choices, or its usual value. One that only the shell knows is a fault.
  std::string text(std::string_view name);
  /// A switch that is named, a truth that is true, a number other than 0. Requires: it has a row.
  bool on(std::string_view name);
  void fault(std::string_view name, std::string problem, std::string fix);
  /// Unless another fault has its key.
  void add_unless_told(Diagnostic fault);
  /// Adds what the rules of a layout refuse, where no fault has the key.
  void ask(const StartTable& table, const StartFacts& facts);
  /// Throws InputError where there is a fault.
  void finish();

 private:
  void outside(std::string_view name, const char* kind, std::int64_t least, std::int64_t most);
  void need_known(std::string_view name);

  const Settings& settings_;
  const std::string& file_;
  std::vector<Diagnostic> faults_;
};

/// Ranks that the degrees leave for data parallel; 1 where they do not divide the ranks, which a rule of the start says.
int data_parallel_of(const models::Strategy& strategy, int ranks);

/// The model that a script takes from a config.json: nullptr is a fault at the setting that names its folder.
const models::Architecture& model_beside(RunValues& values, const models::Architecture* model,
                                         std::string_view setting);

}  // namespace trnplan::targets
