// Requirements on a plan, for scripts and continuous integration: plan --require 'fits>=99%'.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/plan.h"

namespace trnplan::api {

/// A requirement as it was stated, in parts.
struct Requirement {
  std::string text;  ///< "fits>=99%"
  std::size_t quantity = 0;
  enum class Sense { less, at_most, more, at_least } sense = Sense::at_least;
  double bound = 0;
};

/// A requirement and the recommended plan's value; no value where there is no plan, or nothing is known.
struct Required {
  Requirement of;
  std::optional<double> value;
  [[nodiscard]] bool met() const;
};

/// Words for the help: "fits, compiles, works, ...".
[[nodiscard]] std::string requirable();

/// Reads requirements, each NAME<=VALUE with <, <=, > or >=. A value may end in % (of 1), or in the words of
/// text/parse.h for counts. Throws InputError with every fault.
[[nodiscard]] std::vector<Requirement> read_requirements(const std::vector<std::string>& texts);

/// The recommended plan's value for each.
[[nodiscard]] std::vector<Required> judge(const std::vector<Requirement>& requirements,
                                          const PlanResult& result);

/// "days<=60: 68.7, not met".
[[nodiscard]] std::string to_string(const Required& r);

}  // namespace trnplan::api
