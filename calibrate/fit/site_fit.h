// The user's cluster, learnt from the user's own runs: a site is a software stack on a machine.
//
// log step = log f(theta) + stack + release + site + layout + run
//   theta, stack, release   the profile's, with its covariance
//   site      a factor on every step of the stack there, around 1 with site_spread; without a factor of the
//             framework or release in a fitted profile it stands for them, too
//   layout    the model's error for one layout there, around 1 with configuration_spread
//   run       repeat_spread, and what the steps of the log leave open of their median
// The posterior is that of a Gaussian, linearised at the result (iterated extended Kalman update; Y.
// Bar-Shalom et al., Estimation with Applications to Tracking and Navigation, 2001, section 10.3.3). A second
// log refines what the first one taught: nothing has to be given again. Other stacks on the machine,
// and the stack on other machines, borrow from the site (models::factor_shares); the prior of a site is around 1,
// whatever it borrowed before its first run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/fit/step_fit.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"

namespace trnplan::calibrate {

/// Log-sd of the median of so many steps with that log-sd each: sqrt(pi / 2 / n) of it where they are normal.
double spread_of_median(double log_sd, std::size_t steps);

/// One run of the user.
struct SiteRun {
  std::string name;
  models::Job job;
  models::Strategy strategy;
  double log_seconds = 0;  ///< logarithm of its step
  double log_sd = 0;       ///< of that, besides repeat_spread
};

/// A run before and after the fit: predictions and their 90 % intervals, in s.
struct SiteRow {
  double before = 0, before_low = 0, before_high = 0;
  double after = 0, after_low = 0, after_high = 0;
  /// Standard deviations of the model's error for a configuration by which it misses this layout alone.
  double misses = 0;
};

struct SiteFit {
  models::Profile profile;                   ///< its calibration has the new factors, and no new files
  std::vector<StepFit::Estimate> estimates;  ///< of parameters that set times
  std::vector<SiteRow> rows;                 ///< as the runs
  int iterations = 0;
  bool converged = false;
};

/// Fits the runs. Requires: their frameworks are stated. Cost: some four simulations a run.
SiteFit fit_site(const std::vector<SiteRun>& runs, const models::Profile& prior);

}  // namespace trnplan::calibrate
