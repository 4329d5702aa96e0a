#include "calibrate/fit/profile_width.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace trnplan::calibrate {

namespace {

constexpr double kFirstLook = 2;  ///< in sd
constexpr double kSteep = 1.5;    ///< rise at the first look
constexpr double kEndRise = 5;
constexpr int kSlices = 50;  ///< of the density between two points

/// Moments of a density over the distance from the optimum, on one side.
struct Moments {
  double mass = 0, second = 0;
};

/// A Gaussian side of unit height.
Moments gaussian_side(double sd) {
  const double mass = sd * std::sqrt(std::numbers::pi / 2);
  return {mass, mass * sd * sd};
}

struct Point {
  double distance, rise;
};

Moments moments_of(const std::vector<Point>& points) {
  Moments out;
  for (std::size_t k = 1; k < points.size(); ++k) {
    const double length = points[k].distance - points[k - 1].distance;
    const double from = std::sqrt(points[k - 1].rise), to = std::sqrt(points[k].rise);
    for (int slice = 0; slice < kSlices; ++slice) {
      const double t = (slice + 0.5) / kSlices;
      const double x = points[k - 1].distance + t * length;
      const double mass = std::exp(-std::pow(from + t * (to - from), 2)) * length / kSlices;
      out.mass += mass;
      out.second += mass * x * x;
    }
  }
  return out;
}

Moments side_of(const ProfileRise& rise_at, double sd, double end) {
  std::vector<Point> points{{0, 0}};
  // Looks at two standard deviations, four, then each time half as far again.
  for (double far = kFirstLook; far * sd < end; far *= far < 2 * kFirstLook ? 2 : 1.5) {
    const double rise = std::max(0.0, rise_at(far * sd));
    if (points.size() == 1 && rise > kSteep) return gaussian_side(sd);
    points.push_back({far * sd, rise});
    if (rise > kEndRise) break;
  }
  return points.size() > 1 ? moments_of(points) : gaussian_side(sd);
}

}  // namespace

double profile_width(const ProfileRise& below, const ProfileRise& above, double sd, double end) {
  const Moments left = side_of(below, sd, end), right = side_of(above, sd, end);
  return std::sqrt((left.second + right.second) / (left.mass + right.mass));
}

}  // namespace trnplan::calibrate
