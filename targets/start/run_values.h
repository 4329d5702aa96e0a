// Values of a script's settings as a run needs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/target.h"
#include "targets/start/settings.h"

namespace trnplan::targets {

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
  double number(std::string_view name, double fallback);
  void fault(std::string_view name, std::string problem, std::string fix);
  void fault(std::string_view name, const Complaint& what) { fault(name, what.problem, what.fix); }
  /// Unless another fault has its key.
  void add_unless_told(Diagnostic fault);
  /// Throws InputError where there is a fault.
  void finish();

 private:
  void outside(std::string_view name, const char* kind, std::int64_t least, std::int64_t most);

  const Settings& settings_;
  const std::string& file_;
  std::vector<Diagnostic> faults_;
};

/// Ranks that the degrees leave for data parallel, with a fault at the setting `tensor` where they do not divide the ranks.
int data_parallel_of(RunValues& values, const models::Strategy& strategy, int ranks, std::string_view tensor);

/// The model that a script takes from a config.json: nullptr is a fault at the setting that names its folder.
const models::Architecture& model_beside(RunValues& values, const models::Architecture* model,
                                         std::string_view setting);

}  // namespace trnplan::targets
