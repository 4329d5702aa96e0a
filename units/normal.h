// The normal distribution.
#pragma once

namespace trnplan {

/// Two-sided 90 % of a normal distribution, in standard deviations.
inline constexpr double kNinetyPercent = 1.6448536269514722;

}  // namespace trnplan
