// The width of a parameter from the profile of a cost, where that is no parabola.
#pragma once

#include <functional>

namespace trnplan::calibrate {

/// By how much the cost rises at a distance from its optimum, all other parameters at their best. Called with
/// growing distances.
using ProfileRise = std::function<double(double distance)>;

/// sqrt of the second moment, around the optimum, of exp(-rise). Each side is looked at from two `sd` on, the
/// standard deviation that the curvature gives, where a parabola rises by 2: a side that rises by 1.5 or more
/// there is taken for that parabola; else it is followed outwards until e^-5 of the density is left, or
/// `end`. sqrt(rise) is linear between the points, which is exact for a parabola. A rise below 0 counts as 0.
/// Cost: one to some six calls a side.
double profile_width(const ProfileRise& below, const ProfileRise& above, double sd, double end);

}  // namespace trnplan::calibrate
