// support: what can be done with a model on a type of machine, by the traits that plan, its targets and the schedulers ask.
#pragma once

#include <string>
#include <vector>

#include "api/inputs.h"

namespace trnplan::api {

struct SupportRequest {
  std::string
      model;  ///< of the catalogue, or a config.json; "", or a type alone: every model of the catalogue
  std::string instance;  ///< "": every type of the catalogue
};

/// A target that trains on the machine, and why it cannot be given the model.
struct SupportedTarget {
  std::string name;
  std::string why_not;  ///< "": it writes plans of the model
  std::string ending;   ///< that it is published no longer; "" while it is
};

struct Support {
  std::string model, instance, family;
  bool timed = false;    ///< a step has a time: simulate, validate, whatif
  bool planned = false;  ///< plan searches, and finds what is legal and fits
  std::string why_not;   ///< the first of these two that is not; "" where both are
  std::vector<SupportedTarget> targets;
  std::vector<std::string> launched;  ///< by which schedulers a folder of a target above is submitted

  [[nodiscard]] std::vector<std::string> written() const;  ///< names of the targets that write plans
};

struct SupportResult {
  std::vector<Support> pairs;  ///< by model, then by type, both sorted
};
/// Throws InputError for a model or type that is not known. Cost: up to a tenth of a second a pair.
[[nodiscard]] SupportResult support(const SupportRequest& request);

}  // namespace trnplan::api
