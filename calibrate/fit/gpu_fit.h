// One set of parameters of a GPU, fitted to published training runs of several sources at once.
//
// Maximum a posteriori of the logarithms of step times, by Gauss-Newton, with weights as of Student's t with 3
// degrees of freedom and scale 0.05 (K. L. Lange et al., J. Am. Stat. Assoc. 84, 1989). Rows of a source weigh
// together at most as much as 100, because they share what its page does not say. A parameter holds for every
// row, or for those of one framework or instance type, and then starts from the prior profile's factors for
// it. Its prior is that of the profile, with a log-sd of at least 0.02. Rows that state the all-reduce of
// their own run also decide the law of their network (NetworkState): seconds a call and rank, and its power.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "models/parameters/profile.h"

namespace trnplan::calibrate {

/// A published run. Its job names software and precision as its strategy does.
struct GpuRun {
  std::string id, source;
  models::Job job;
  models::Strategy strategy;
  double seconds = 0;                        ///< a step
  std::optional<BytesPerSecond> all_reduce;  ///< that the run itself measured
};

/// A parameter and the rows that it holds for.
struct GpuParameter {
  models::Parameter parameter;
  std::string scope;  ///< "": all; else a framework or an instance type

  [[nodiscard]] bool holds(const GpuRun& run) const;
};

/// A fit of the catalogue (catalog/gpu-fits.json).
struct GpuFitPlan {
  struct Source {
    std::string name;       ///< a part of the column `source`
    std::string qualities;  ///< letters
  };
  std::string profile;   ///< that it fits
  std::string prior;     ///< of the catalogue
  std::string family;    ///< of the machines
  std::size_t most = 0;  ///< rows of a source, evenly over the table; 0: all
  std::vector<Source> sources;
  std::vector<GpuParameter> parameters;
  std::vector<std::pair<models::Parameter, models::Value>> priors;  ///< in place of the prior's
  /// Law of the network where rows state their all-reduce: medians of the priors of call_per_rank and power,
  /// log-sd 0.5; the rest is known.
  models::NetworkState network;
};

struct FittedGpuParameter {
  std::string name, scope;
  models::Value prior, value;  ///< log_sd of `value`: posterior
  double shipped = 0;          ///< of the fitted profile in the catalogue
  /// The last iteration's change of the logarithm, in posterior standard deviations.
  double moved = 0;
};

/// Errors of a source: of |predicted / measured - 1|, and the same by fits without its rows, and without the rows of
/// each row's network (layers and hidden size), whatever their source.
struct GpuFitErrors {
  struct Errors {
    double median = 0, mean = 0;
  };
  std::string source;
  std::size_t rows = 0;
  Errors fitted, without_source, without_network;
};

struct GpuFit {
  std::string profile, prior;
  std::size_t rows = 0;
  int iterations = 0;
  std::vector<FittedGpuParameter> parameters;
  std::vector<GpuFitErrors> errors;  ///< in the order of the plan's sources
};

/// Fits to `runs`, of which each has one of the plan's sources, from the prior in at most `iterations`
/// iterations, or, if `from_shipped`, in one from the values of `shipped`. Runs that cannot be simulated are left
/// out. Throws std::invalid_argument if a parameter holds for no run. Cost: runs x (parameters + 1) simulations
/// an iteration, and as many for what is left out, on `threads` threads. Deterministic.
[[nodiscard]] GpuFit fit_gpu(std::vector<GpuRun> runs, const GpuFitPlan& plan, models::Profile prior,
                             const models::Profile& shipped, bool from_shipped, int iterations, int threads);

}  // namespace trnplan::calibrate
