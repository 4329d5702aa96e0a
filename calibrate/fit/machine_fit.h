// The user's machine, learnt from kernels and collectives that were timed on it.
//
//   log time of a row = log f(theta) + alone + shape + repeat
//   theta    the profile's parameters, with its covariance; those that rows depend on differ from machine to
//            machine by `machine` as well. The share of a library's attention is its own, where the profile has
//            one. Multipliers of a training loop's work (ParameterInfo::of_work) are no trait of a kernel alone.
//            The host's launch of a benchmark is no training's: it is an unknown, and its value is not kept.
//   alone    what all rows of one kind share: the benchmark instead of a training step
//            (The share of the network keeps a doubt for a plan's number of nodes, which moves nothing.)
//   shape    the error of the model for one shape or size, `kernel` or `collective`
//   repeat   of one measurement; equal rows are one observation, the mean of their logarithms, so that rows
//            weigh by distinct shapes and not by their number
// f is the program's own time of the kernel (calibrate/fit/kernel_bench.h) or collective
// (calibrate/fit/collective_fit.h). The posterior is a Gaussian's, linearised at the result, as in
// calibrate/fit/site_fit.h; a row that misses by more than two standard deviations of its noise counts less,
// as in P. J. Huber, Robust Estimation of a Location Parameter, 1964: its variance grows by the ratio.
// A time follows the narrowest of several rates (a node's links, its NICs), so there may be several optima: the
// iteration also starts where a rate that no row follows at the prior is the narrowest, and the lowest cost wins.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/fit/collective_fit.h"
#include "logs/table/kernel_points.h"
#include "models/parameters/profile.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

/// Log-sd each.
struct MachineSpreads {
  double machine = 0;        ///< of a parameter between machines of one type
  double kernel = 0;         ///< error of the model by shape
  double collective = 0;     ///< and by size of a collective
  double repeat = 0;         ///< one measurement against another
  double table = 0;          ///< of a collective's table against another's
  double between_nodes = 0;  ///< of the network's share at a plan's number of nodes against that of a table
  /// Time of a kernel alone over that in a step, by the schema of the profile.
  std::map<std::string, models::Value, std::less<>> alone;
};

/// Standard deviations of its noise by which a row contradicts.
inline constexpr double kContradicts = 2;

/// Rows of one shape.
struct MachineRow {
  std::string kernel;            ///< "matmul,m=...", or "all_reduce of 1073741824 bytes, 16 ranks on 2 nodes"
  std::string_view kind;         ///< "product", "attention", "collective in a node" or "... between nodes"
  SourcePos at;                  ///< of the first
  std::size_t count = 1;         ///< rows of this shape
  double measured = 0;           ///< s, geometric mean
  double before = 0, after = 0;  ///< predicted, s, as the benchmark would print it
  double misses = 0;             ///< log(measured / after) in standard deviations of the noise
  bool contradicts() const { return misses > kContradicts || misses < -kContradicts; }
};

struct MachineEstimate {
  models::Parameter parameter;
  std::string library;             ///< of attention; "": the profile's own value
  models::Value prior, posterior;  ///< of this machine
  double prior_share = 1;          ///< spread left
  std::string_view verdict;        ///< as of verdict()
  std::size_t rows = 0;            ///< distinct shapes whose time at the result follows it by a tenth or more
  std::size_t teacher = 0;         ///< of these that with the most information: index of MachineFit::rows

  /// log(posterior / prior) in standard deviations of the prior.
  [[nodiscard]] double deviations() const;
};

struct MachineFit {
  models::Profile profile;  ///< its calibration has no new files
  std::vector<MachineEstimate> estimates;
  std::vector<MachineRow> rows;
  int iterations = 0;
  bool converged = false;

  /// True if at most half of the rows contradict.
  [[nodiscard]] bool explains() const;
  /// The parameters that moved farther than kFarOff.
  [[nodiscard]] std::vector<MachineEstimate> far_off() const;
};

/// Learns the rows. Requires: points that select_points() returned for the instance; a row at all; an entry of
/// `alone` for the profile's schema if there are kernels. Cost: some hundred predictions a row.
[[nodiscard]] MachineFit fit_machine(const std::vector<logs::MeasuredKernel>& kernels,
                                     const std::vector<logs::MeasuredCollective>& points,
                                     const topology::Instance& instance, const models::Profile& prior,
                                     const MachineSpreads& spreads);

}  // namespace trnplan::calibrate
