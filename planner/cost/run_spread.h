// Spread of the length of a run that fails often.
//
// A run is a sequence of checkpoint intervals, each done when nothing failed for the time s of its work and
// its save. Failures have no memory, so the times of intervals are independent and of one distribution, and
// the sum of many is normal. With times in units of M, the mean time between failures:
//
//   interval   X = s + sum of G losses A + Y          G failures before the first success, p = exp(-s)
//   recovery   Y = the attempt that succeeds + sum of H that fail, q = E[exp(-R)]
//
// A is the time until a failure, given that it comes before s; G and H are geometric, with mean (1-p)/p and
// variance (1-p)/p^2. The mean and the variance of X follow from those of a sum of a random number of terms.
// The mean is that of goodput.h. What is lost while an asynchronous checkpoint is written adds its length to
// each loss. tests/planner/cost/goodput_test.cpp compares it with simulated runs.
#pragma once

#include "planner/cost/goodput.h"

namespace trnplan::planner {

/// Standard deviation of the time of one interval as a share of its mean; that of a run of n intervals is
/// 1 / sqrt(n) of it. Cost: constant.
double interval_spread(const FailureModel& m, Seconds interval);

}  // namespace trnplan::planner
