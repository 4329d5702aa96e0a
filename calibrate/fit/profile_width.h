// Width of a parameter from the profile of a cost that is not a parabola.
#pragma once

#include <functional>

namespace trnplan::calibrate {

/// Rise of the cost at a distance from its optimum, all other parameters at their best. Called with growing
/// distances.
using ProfileRise = std::function<double(double distance)>;

/// sqrt of the second moment, around the optimum, of exp(-rise). Each side is examined from two `sd` on (the
/// standard deviation by the curvature), where a parabola rises by 2. A side that rises by 1.5 or more there
/// counts as that parabola. Otherwise it is followed outwards until e^-5 of the density is left, or to `end`.
/// sqrt(rise) is linear between the points, which is exact for a parabola. A rise below 0 counts as 0. Cost:
/// one to some six calls a side.
double profile_width(const ProfileRise& below, const ProfileRise& above, double sd, double end);

}  // namespace trnplan::calibrate
