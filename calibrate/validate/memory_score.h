// How well probabilities of fitting foretell what is published, and what published cases teach of them.
//
// Score: mean over layouts of ln P(what is known), natural logarithm: 0 is certainty, always rightly; ln 1/2 is
// no knowledge (I. J. Good, Rational Decisions, J. R. Stat. Soc. B 14, 1952).
// Learned is one parameter: fused_activations, whose bounds the cases cut from both sides. Its posterior is an
// integral on a grid over the prior; the other factors stay at their priors, drawn anew for each case. Rows of
// one source that say the same of one layout count once.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/memory_validation.h"
#include "models/parameters/profile.h"

namespace trnplan::calibrate {

/// ln P(what is known of the case) by the profile.
[[nodiscard]] double log_score(const MemoryValidation::Row& row, const models::Profile& profile);

/// fused_activations after `rows`, from `prior`, whose value it is without rows. Cost: 81 predictions a row.
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
  double left_out = 0;                 ///< each source by what the others teach the prior
  std::vector<Source> sources;         ///< worst left out first
  models::Value learned;               ///< fused_activations by all of them
  double mean_fit = 0, least_fit = 1;  ///< P(fit) of what ran
};

/// `prior`: what the profile was fitted from, or itself. Cost: milliseconds.
[[nodiscard]] MemoryScore memory_score(const MemoryValidation& validation, const models::Profile& profile,
                                       const models::Profile& prior);

}  // namespace trnplan::calibrate
