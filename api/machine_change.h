// Change of a job's plan by the values that its machine taught.
#pragma once

#include <optional>
#include <string>

#include "calibrate/session/samples.h"
#include "models/parameters/profile.h"
#include "units/quantity.h"

namespace trnplan::api {

/// A plan of the job before and after.
struct MachineChange {
  struct Side {
    std::string strategy;  ///< as --strategy takes it
    Seconds step{}, low{}, high{};
  };
  std::string job;                    ///< "llama3-8b, 2 x p5.48xlarge"
  bool searched = false;              ///< the recommended plans; else the stated strategy
  std::optional<Side> before, after;  ///< absent: no plan
  std::optional<Side> held;           ///< the plan before, by the second profile
};

/// The job's stated strategy, or its recommended ones, by both profiles. Cost: two simulations, or two searches and a
/// simulation.
[[nodiscard]] MachineChange machine_change(const calibrate::WhatRan& ran, const models::Profile& before,
                                           const models::Profile& after);

}  // namespace trnplan::api
