// Score of fit probabilities against published cases, and the parameter that these cases determine.
//
// Score: mean over layouts of ln P(outcome), natural logarithm: 0 is always sure and right; ln 1/2 is no
// knowledge (I. J. Good, Rational Decisions, J. R. Stat. Soc. B 14, 1952). One parameter is learned:
// fused_activations, which the cases bound from both sides. Its posterior is an integral on a grid over the
// prior; the other factors stay at their priors, drawn anew for each case. Rows of one source with the same
// outcome of one layout count once.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/memory_validation.h"
#include "models/parameters/profile.h"

namespace trnplan::calibrate {

/// ln P(outcome of the case) by the profile.
[[nodiscard]] double log_score(const MemoryValidation::Row& row, const models::Profile& profile);

/// Posterior of fused_activations after `rows`, from `prior`, which is returned without rows. Cost: 81
/// predictions a row.
[[nodiscard]] models::Value learned_activations(const std::vector<const MemoryValidation::Row*>& rows,
                                                const models::Profile& prior);

struct MemoryScore {
  struct Source {
    std::string name;
    int layouts = 0;
    double mean = 0, left_out = 0;
  };
  int layouts = 0;
  double mean = 0;                     ///< by the profile
  double left_out = 0;                 ///< each source with the posterior of the others
  std::vector<Source> sources;         ///< worst left out first
  models::Value learned;               ///< fused_activations from all sources
  double mean_fit = 0, least_fit = 1;  ///< P(fit) of cases that ran
};

/// Score of a profile. `prior`: the profile that it was fitted from, or itself. Cost: milliseconds.
[[nodiscard]] MemoryScore memory_score(const MemoryValidation& validation, const models::Profile& profile,
                                       const models::Profile& prior);

}  // namespace trnplan::calibrate
