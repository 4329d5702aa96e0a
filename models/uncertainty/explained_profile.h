// A profile as a document: each parameter with its prior, its value and what taught it, the machines, stacks
// and runs for which it holds, and what of a plan depends on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "models/report/step_report.h"

namespace trnplan::models {

struct ExplainedParameter {
  Parameter parameter;
  std::optional<Value> prior;  ///< absent where the profile extends none, or the prior lacks it
  Value value;                 ///< its source says what taught it
  std::optional<Value> other;  ///< in the profile compared with
  /// Change of the plan's step in per cent where the value rises by 1 %, and share of the variance of log
  /// step. The share is negative where the parameter's doubt cancels that of others.
  std::optional<double> step_share, doubt_share;

  /// Spread over the prior's; nullopt without one, or where the prior is exact.
  [[nodiscard]] std::optional<double> spread_left() const;
  /// Difference of the logarithms of the other value and this one, in standard deviations of the difference
  /// of independent values; nullopt without another, or where both are exact.
  [[nodiscard]] std::optional<double> apart() const;
};

struct ExplainedStep {
  std::string of;  ///< the plan, in words
  Seconds step{}, low{}, high{};
  std::optional<Seconds> other;  ///< by the profile compared with
  double other_doubt = 0;        ///< share of the variance that no parameter has
};

struct ExplainedProfile {
  std::string name, schema;
  std::string instance;  ///< type or family of its machines; "" = not stated
  std::string prior;     ///< the profile that it starts from; "" = none
  std::string tool;      ///< that fitted it to whole steps; "" = it was not
  std::string compared;  ///< the other profile; "" = none
  std::vector<CalibrationFile> files;
  std::vector<StackFactor> stacks;
  std::vector<FittedRange> ranges;
  std::vector<std::string> own_values;         ///< frameworks and clusters whose parameters differ
  std::vector<ExplainedParameter> parameters;  ///< in the order of the schema
  std::optional<ExplainedStep> plan;
};

/// `prior`, `other`: may be null; parameters of another schema are left out of them.
[[nodiscard]] ExplainedProfile explained(const Profile& profile, const Profile* prior, const Profile* other);

/// Adds what of a step depends on each parameter. `profile`: explained, with the values of the job.
void add_step(ExplainedProfile& out, const Profile& profile, const Job& job, const Strategy& strategy,
              const StepReport& report);

}  // namespace trnplan::models
