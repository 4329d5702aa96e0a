// The parameters of the physics, with their uncertainty and source.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// Sizes at which the runtime switches from one collective algorithm to the next, in gathered bytes (or bytes
/// of an all-reduce). Sizes per chip count the chips that gather: inside a node those of the local part,
/// between nodes those of all nodes. None is published for trn1; the profile states the source of each.
struct AlgorithmLimits {
  Bytes one_step_below{};  ///< per rank: all-reduces too small to split into a piece per rank
  Bytes mesh_below{};      ///< total, however many ranks take part
  Bytes halving_below{};   ///< per chip: halving-doubling from mesh_below up to it; above: kangaring or ring
  /// Per chip. Between nodes, on trn1: one ring of all ranks. Its existence is published, its threshold is
  /// not.
  Bytes flat_ring_from{std::numeric_limits<double>::infinity()};
  bool operator==(const AlgorithmLimits&) const = default;
};

/// A factor on every time, log-normal, of the steps of a software stack, of a release of it, of a site, or of
/// one layout there. A step has all that apply to it. A site is the user's cluster: a stack on a machine.
struct StackFactor {
  std::string framework;  ///< named as in Software
  std::string release;    ///< "" = any
  double median = 1;
  double log_sd = 0;
  std::string instance = {};  ///< type of the site's nodes; "" = published runs, of any
  std::string layout = {};    ///< layout_name() of what ran there; "" = any
  /// Parameters of the layout's network, which has one name in a job and another in a config; 0 = not stated, the
  /// name counts.
  std::int64_t parameters = 0;

  bool is_site() const { return !instance.empty() && layout.empty(); }
};

/// A file that a profile was fitted to.
struct CalibrationFile {
  std::string name;         ///< without folders
  std::string sha256;       ///< of its bytes, in hexadecimal
  std::uint64_t bytes = 0;  ///< 0 = not stated
};

/// The range of a trait in the runs of a fit.
struct FittedRange {
  std::string of;  ///< the trait, named as in traits_of() of models/uncertainty/spread.h
  double low = 0, high = 0;
};

/// The results that a fit adds to a profile.
struct Calibration {
  std::string prior;  ///< the catalogue's profile at the start of the fit
  std::string tool;   ///< program and version that fitted it
  std::vector<CalibrationFile> files;
  std::vector<StackFactor> stacks;
  std::vector<FittedRange> ranges;  ///< empty in files that state none
  /// Covariance of the logarithms of all parameters by their places in the schema, then of all stacks;
  /// symmetric, positive semi-definite; zero for exact ones.
  std::vector<std::vector<double>> covariance;
};

/// Effect on a step of the network of a shared cluster, by an all-reduce that the run itself measured. A plan
/// has no such measurement.
struct NetworkState {
  BytesPerSecond usual{};  ///< of the all-reduce; 0: unknown
  double power = 0;        ///< the NICs' share is multiplied by (measured / usual)^power
  /// A run with a slower all-reduce is congested: on 2 nodes, 4, 8 ...; the last value holds for all larger
  /// numbers.
  std::vector<BytesPerSecond> congested_below;
  /// Time of the host, when congested, for each collective call and rank of its group in a node; between nodes the
  /// network's latency is added (LayerModel::call_time).
  Seconds call_per_rank{};
  double step_spread = 0;  ///< log-sd of a step around this law, for each doubling of nodes
};

/// The slow state in which the network of a cluster may be whose all-reduce was not measured.
struct SlowNetwork {
  double probability = 0;  ///< of the state; 0: the cluster has none
  BytesPerSecond usual{};  ///< of an all-reduce in the state that the profile's parameters describe
  /// All-reduces in the slow state on 2 nodes, 4, 8 ...; the last value holds for all larger numbers.
  std::vector<BytesPerSecond> all_reduce;
  double power = 0;  ///< the NICs' share is multiplied by (all_reduce / usual)^power, at most 1
};

/// The network of a job's cluster by an all-reduce that was measured there.
struct MeasuredNetwork {
  Parameter share;          ///< of the NICs
  Value value;              ///< of that parameter, on as many nodes as were measured
  int nodes = 0;            ///< that were measured
  double per_doubling = 0;  ///< as MeasuredAllReduce::per_doubling
  Seconds call_per_rank{};  ///< NetworkState::call_per_rank where the cluster is congested; else 0
  double step_spread = 0;   ///< NetworkState::step_spread
};

/// Parameters that differ for one framework's kernels and host, or for one cluster's network.
struct Factors {
  std::string framework;                            ///< named as in Software::framework; "": any
  std::string cluster;                              ///< the instance that represents the cluster; "": any
  std::vector<std::pair<Parameter, Value>> values;  ///< they replace the profile's
  NetworkState network;
  std::optional<SlowNetwork> slow;  ///< replaces that of factors before it
};

/// True if the matrix is square, symmetric and, up to a thousandth of its diagonal, positive semi-definite.
/// Rows of zeros are allowed. Cost: O(rows^3).
bool is_covariance(const std::vector<std::vector<double>>& matrix);

struct Job;
struct Strategy;

/// Name of a job and strategy by which a measured layout is found again: network, machine, nodes, sequence,
/// batch and describe(canonical(strategy)). applies() takes networks of one size for one, but for those with experts.
std::string layout_name(const Job& job, const Strategy& strategy);

/// The same with the size of the network in place of its name.
std::string layout_key(const Job& job, const Strategy& strategy);

/// True if the factor is one of the steps of that job. Without a strategy, factors of a layout are not. Cost:
/// that of layout_name() for a factor of a layout on the job's machine and stack.
bool applies(const StackFactor& factor, const Job& job, const Strategy* strategy = nullptr);

/// True if the factor is one of the job's framework and release, on any machine.
bool is_of_stack(const StackFactor& factor, const Job& job);

/// Name of a stack: "nxdt 2.23", or "nxdt" without a release.
std::string stack_name(std::string_view framework, std::string_view release);

struct Profile;
/// True if the profile has learnt the site of the job.
bool at_known_site(const Profile& profile, const Job& job);

/// Release of the job's stack that the profile has learnt on its machine, else on others; "" where it has learnt none
/// there, or several. A job that states no release is one of it.
std::string site_release(const Profile& profile, const Job& job);

/// The part that each factor of a profile has in a step. Factors that apply have their whole part; of two sites of the
/// stack on the machine the one of the job's release.
///
/// A job whose own site is unknown borrows from the sites of other stacks on its machine, and from those of its stack
/// on other machines. A slow network, hot nodes or a slow file system slow every stack of a machine, a wrong flag or an
/// old release slows one stack everywhere; which it was is unknown. The share u of the logarithm of what was seen that
/// the job has in common with such sites is assumed uniform between none and all for one site; each further one counts
/// as one more that shows it: Beta(n, 1). What machine and stack have in common adds up:
///   log step += sum over both of mean of u * mean of log f = sum of log f / (n + 1)
///   variance  = sum over both of mean of (log f)^2 * variance of u = sum of (log f)^2 / ((n + 1)^2 (n + 2))
struct FactorShares {
  std::vector<double> weights;        ///< of the logarithm of each factor: 1, 1 / (n + 1) if borrowed, else 0
  std::vector<std::size_t> borrowed;  ///< the places of these sites
  double variance = 0;                ///< as above; the same for all steps of the stack
};
FactorShares factor_shares(const Profile& profile, const Job& job, const Strategy* strategy = nullptr);

/// The parameters theta: one value per parameter of the schema that it fills. Without a calibration its
/// covariance is diagonal.
struct Profile {
  std::string name;
  std::string base;      ///< the catalogue's profile that it extends, or is; empty when it states everything
  std::string instance;  ///< its instance type or family; empty: not stated
  /// True if the spreads of its parameters include the differences between the machine of the runs and this
  /// one, so that the distance between the machines adds nothing to the uncertainty of a step.
  bool transferred = false;
  bool of_collectives =
      false;  ///< fitted to collectives alone, by one build of a benchmark: not for planning
  const ParameterSchema* schema = &kNoSchema;  ///< the parameters that it states; outlives the profile
  std::array<Value, kMostParameters> values;   ///< by place
  AlgorithmLimits algorithms;
  std::shared_ptr<const Calibration> calibration;       ///< null: not fitted to steps
  std::shared_ptr<const std::vector<Factors>> factors;  ///< null: none
  std::optional<MeasuredNetwork> network;               ///< in_measured_network(); absent: not measured

  double operator[](Parameter p) const { return values[p.place()].median; }
  const Value& value(Parameter p) const { return values[p.place()]; }
  Value& value(Parameter p) { return values[p.place()]; }
};

/// The value of a parameter in a profile from before the parameter existed; nullopt for parameters that every
/// profile must state.
std::optional<Value> value_when_absent(Parameter p);

/// The slowest of N log-normal paces of one spread, in standard deviations above the median: Phi^-1((N - 3/8)
/// / (N + 1/4)), 0 for one (G. Blom, Statistical Estimates and Transformed Beta-Variables, 1958; exact to 2 %
/// from N = 4 on).
double slowest_of(int count);

/// The profile with the values of the job's framework and cluster, each independent of all others: no fit
/// keeps what they have in common with these. It no longer has factors.
Profile with_factors(Profile profile, const Job& job);

/// True if factors are those of the job's framework and cluster.
bool applies(const Factors& factors, const Job& job);

/// The profile with another value of one parameter, which is then independent of all others.
Profile with_value(Profile profile, Parameter p, const Value& value);

/// Seconds of the host for a collective call and rank of its group (NetworkState::call_per_rank). `profile`: as
/// on_job() returns it.
Seconds call_per_rank(const Profile& profile);

/// The factor by which on_job() multiplies every time: exp(node_spread * slowest_of(nodes)) * the stack's
/// factors, each to the power of its factor_shares().
double pace_of(const Profile& profile, const Job& job, const Strategy* strategy = nullptr);

/// True if layouts of the job's stack and instance were measured: else layout_factor() is 1.
bool knows_layouts(const Profile& profile, const Job& job);
/// The factor of layouts that were measured, in pace_of() with a strategy; 1 for others.
double layout_factor(const Profile& profile, const Job& job, const Strategy& strategy);

/// The profile on the job's cluster and software stack, with_factors() and the value of its measured network,
/// which is less certain for each doubling of nodes: every rate divided and every length
/// multiplied by
///   exp(node_spread * slowest_of(nodes)) * the stack's factors,
/// which multiplies every time by that number. A synchronous step runs at the pace of its slowest node.
/// Without a calibration, or for a stack and machine that the calibration lacks, the factors are 1.
Profile on_job(Profile profile, const Job& job, const Strategy* strategy = nullptr);

}  // namespace trnplan::models
