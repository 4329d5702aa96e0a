// support: the functions that work for a model on a type of machine, by the traits that plan, its targets and
// the schedulers use.
#pragma once

#include <string>
#include <vector>

#include "api/inputs.h"

namespace trnplan::api {

struct SupportRequest {
  /// Model of the catalogue, or a config.json; "", or only a type = every model of the catalogue.
  std::string model;
  std::string instance;  ///< "" = every type of the catalogue
};

/// A target that trains on the machine, and the reason why it cannot train the model.
struct SupportedTarget {
  std::string name;
  std::string why_not;  ///< "" = it writes plans of the model
  std::string ending;   ///< end of its publication; "" = still published
};

struct Support {
  std::string model, instance, family;
  bool timed = false;    ///< a step can be timed: simulate, validate, whatif
  bool planned = false;  ///< plan searches, and finds a plan that is legal and fits
  std::string why_not;   ///< reason for the first of these two that is false; "" = both are true
  std::vector<SupportedTarget> targets;
  std::vector<std::string> launched;  ///< schedulers that submit a folder of a target above

  [[nodiscard]] std::vector<std::string> written() const;  ///< names of the targets that write plans
};

struct SupportResult {
  std::vector<Support> pairs;  ///< by model, then by type, both sorted
};
/// Throws InputError for an unknown model or type. Cost: up to a tenth of a second per pair.
[[nodiscard]] SupportResult support(const SupportRequest& request);

}  // namespace trnplan::api
