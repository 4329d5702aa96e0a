// The parameters of the physics, with their uncertainty and source.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/parameters/common_parameters.h"
#include "models/parameters/parameter.h"
#include "units/quantity.h"

namespace trnplan::models {

/// A log-normal parameter: median and standard deviation of its logarithm.
struct Value {
  double median = 0;
  double log_sd = 0;
  std::string source;
};

/// Sizes at which the runtime goes from one collective algorithm to the next, of the gathered size (or that
/// of an all-reduce). Per chip: over the chips that gather, inside a node those of the local part, between
/// nodes those of all nodes. None is published for trn1; the profile says where each comes from.
struct AlgorithmLimits {
  Bytes one_step_below{};  ///< per rank: all-reduces too small to be cut into a piece for each
  Bytes mesh_below{};      ///< in all, however many take part
  Bytes
      halving_below{};  ///< per chip: recursive halving-doubling from mesh_below on; above: kangaring or ring
  /// Per chip. Between nodes, on trn1: one ring of all ranks. That it exists is published, from where on is
  /// not.
  Bytes flat_ring_from{std::numeric_limits<double>::infinity()};
  bool operator==(const AlgorithmLimits&) const = default;
};

/// What a software stack multiplies every time by: log-normal.
struct StackFactor {
  std::string framework;  ///< as in Software
  std::string release;    ///< beyond the framework's own factor; "" = of the framework
  double median = 1;
  double log_sd = 0;
};

/// A file that a profile was fitted to.
struct CalibrationFile {
  std::string name;    ///< without folders
  std::string sha256;  ///< of its bytes, hexadecimal
};

/// From where to where something lay in the runs of a fit.
struct FittedRange {
  std::string of;  ///< as traits_of() of models/uncertainty/spread.h names it
  double low = 0, high = 0;
};

/// What a fit adds to a profile.
struct Calibration {
  std::string prior;  ///< profile of the catalogue that it started from
  std::string tool;   ///< program and version that fitted it
  std::vector<CalibrationFile> files;
  std::vector<StackFactor> stacks;
  std::vector<FittedRange> ranges;  ///< empty in files that do not state them
  /// Of the logarithms of all parameters by their places in the schema, then of all stacks; symmetric,
  /// positive semi-definite; zero where something is known exactly.
  std::vector<std::vector<double>> covariance;
};

/// What the network of a cluster that other jobs use too does to a step, by an all-reduce that the run measured
/// itself. No plan has such a measurement.
struct NetworkState {
  BytesPerSecond usual{};  ///< of the all-reduce; 0: nothing is known
  double power = 0;        ///< the NICs' share goes as this power of the measured over the usual one
  /// Below it a run is congested: on 2 nodes, 4, 8 ...; beyond the last as the last.
  std::vector<BytesPerSecond> congested_below;
  Seconds layer_per_rank{};  ///< a layer's launches then take longer for each rank of tensor parallel
  double many_ranks = 1;     ///< times as much where the tensor ranks are more than a node's
};

/// Parameters that are peculiar to one framework's kernels and host, or to one cluster's network.
struct Factors {
  std::string framework;                            ///< as Software::framework; "": any
  std::string cluster;                              ///< the instance that stands for the cluster; "": any
  std::vector<std::pair<Parameter, Value>> values;  ///< in place of the profile's
  NetworkState network;
};

/// A square matrix that is symmetric and, up to a thousandth of its diagonal, positive semi-definite. Rows of
/// zeros are allowed. Cost: O(rows^3).
bool is_covariance(const std::vector<std::vector<double>>& matrix);

struct Job;

/// theta: one value per parameter of the schema it fills. Without a calibration its covariance is diagonal.
struct Profile {
  std::string name;
  std::string base;  ///< the profile of the catalogue it builds on, or is; empty when it states everything
  std::string instance;  ///< instance type or family it is for; empty: not stated
  /// The spreads of its parameters hold what changes from the machine of the runs to this one, so that the distance
  /// between the machines adds nothing to what is uncertain of a step.
  bool transferred = false;
  const ParameterSchema* schema = &kNoSchema;  ///< what it states; outlives the profile
  std::array<Value, kMostParameters> values;   ///< by place
  AlgorithmLimits algorithms;
  std::shared_ptr<const Calibration> calibration;       ///< null: not fitted to steps
  std::shared_ptr<const std::vector<Factors>> factors;  ///< null: none

  double operator[](Parameter p) const { return values[p.place()].median; }
  const Value& value(Parameter p) const { return values[p.place()]; }
  Value& value(Parameter p) { return values[p.place()]; }
};

/// What a profile means that was written before the parameter existed and does not state it; nullopt for
/// those that every profile must state.
std::optional<Value> value_when_absent(Parameter p);

/// Of N log-normal paces of one spread, that of the slowest, as the number of standard deviations above the
/// median: Phi^-1((N - 3/8) / (N + 1/4)), 0 for one (G. Blom, Statistical Estimates and Transformed
/// Beta-Variables, 1958; exact to 2 % from N = 4 on).
double slowest_of(int count);

/// The profile with the values of the job's framework and cluster; it knows no other factors any more.
Profile with_factors(Profile profile, const Job& job);

/// The profile of a run that measured `all_reduce` at its start, with the factors of its job. Unchanged on one node
/// and where nothing is known of the cluster's states.
Profile in_network_state(Profile profile, const Job& job, int tensor_parallel, BytesPerSecond all_reduce);

/// The profile on the job's cluster and software stack, with_factors(): every rate divided and every length multiplied by
///   exp(node_spread * slowest_of(nodes)) * the stack's factors,
/// so that every time is multiplied by that. A synchronous step runs at the pace of its slowest node. Without
/// a calibration, or where it does not know the stack, the factors are 1.
Profile on_job(Profile profile, const Job& job);

}  // namespace trnplan::models
