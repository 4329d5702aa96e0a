// Random capacities and flows, for tests of sharing. Boost.Random gives the same numbers on every machine.
#pragma once

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>

#include "sim/program.h"

namespace trnplan::sim::testing {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int whole(int least, int most) {
    return boost::random::uniform_int_distribution<int>(least, most)(engine_);
  }
  double real(double least, double most) {
    return boost::random::uniform_real_distribution<double>(least, most)(engine_);
  }
  std::vector<double> capacities(int count) {
    std::vector<double> all;
    for (int i = 0; i < count; ++i) all.push_back(real(0.1, 100));
    return all;
  }
  /// Between 1 and `most` weights on different resources. Sometimes round numbers, so that ties occur.
  Flow flow(int resources, int most) {
    std::vector<double> bytes(static_cast<std::size_t>(resources), 0);
    const bool round = whole(0, 1) == 0;
    for (int i = whole(1, most); i > 0; --i) {
      bytes[static_cast<std::size_t>(whole(0, resources - 1))] = round ? whole(1, 3) : real(0.1, 100);
    }
    Flow f;
    for (int r = 0; r < resources; ++r) {
      const double b = bytes[static_cast<std::size_t>(r)];
      if (b > 0) f.weights.push_back({static_cast<ResourceId>(r), b});
    }
    return f;
  }

 private:
  boost::random::mt19937 engine_;
};

}  // namespace trnplan::sim::testing
