// Predictions of single kernels by profiles, for a fit (calibrate/fit/step_fit.h).
//
// The time of a kernel is that of the operator in a layer (models/device/device.h): on a NeuronCore whole
// tiles, the slower of tensor engine and HBM, passes of the vector engine. No launch, no layer_overhead.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "logs/table/kernel_points.h"
#include "models/device/device.h"
#include "models/parameters/profile.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

/// The kernel's work, with the parameters that set its time.
[[nodiscard]] models::Work work_of(const logs::Kernel& kernel, const topology::Core& core,
                                   const models::Profile& profile);

/// Lower bound of the time on any core of that kind: the operations at the published peak, or the vector
/// engine's lanes and clock. 0 for a stream: a core that runs alone may take more than its share of the
/// chip's HBM.
Seconds least_time(const logs::Kernel& kernel, const topology::Core& core);

/// Kernels that count in a fit: equal ones are one observation, the mean of their logarithms.
class KernelBench {
 public:
  struct Observation {
    logs::Kernel kernel;
    double log_seconds = 0;
  };
  /// Orders kernels by their texts, whatever the order of `points`.
  KernelBench(const std::vector<logs::MeasuredKernel>& points, const topology::Core& core);
  const std::vector<Observation>& observations() const { return observations_; }

  /// log seconds, and their derivatives by the logarithms of the parameters that set them, at most two:
  /// exact.
  struct Answer {
    double log_seconds = 0;
    std::vector<std::pair<models::Parameter, double>> gradient;
  };
  Answer at(const Observation& observation, const models::Profile& profile) const;

 private:
  topology::Core core_;
  std::vector<Observation> observations_;
};

/// A kernel and its prediction.
struct KernelRow {
  logs::MeasuredKernel point;
  double predicted = 0;  ///< s
  double error = 0;      ///< predicted / measured - 1
};

/// Compares kernels with their predictions, ordered by texts and times.
std::vector<KernelRow> compare_kernels(const std::vector<logs::MeasuredKernel>& kernels,
                                       const topology::Core& core, const models::Profile& profile);

}  // namespace trnplan::calibrate
