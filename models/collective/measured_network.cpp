#include "models/collective/measured_network.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "models/collective/collective_runtime.h"
#include "models/collective/collective_timing.h"
#include "topology/chip_graph.h"

namespace trnplan::models {

namespace {

/// Shares of the NICs between which the solution is sought. Above 1 because the model of the algorithms errs:
/// collective_spread is up to 0.3.
constexpr double kLeastShare = 1e-4, kMostShare = 1.5;
/// Factor over what links in the nodes let through up to which a measurement counts as that: the model of all-reduces
/// on two nodes is off by a third for one in ten (docs/accuracy.md, "NCCL"), and those of p5 are published 8 % above
/// it (catalog/measured-nccl.csv, G228 and G229).
constexpr double kModelErrs = 1.35;
/// Least part of the time that the network must take: below it the error of the share is several times that
/// of the measurement.
constexpr double kLeastElasticity = 0.25;
/// The same for small messages, whose other part is latency: the model has it to a factor of two only.
constexpr double kLeastElasticityOfSmall = 0.5;
/// Messages below it are small: on 2 to 64 nodes of p5 latency takes half of the time of 64 MiB at the highest share,
/// and over two thirds of that of 16 MiB.
constexpr Bytes kSmall(0x1p26);
constexpr const char* kLargerMessages = "add sizes of 256 MiB and more to the table (-b 256M -e 4G)";

/// The measured all-reduce by the model, as a function of the share.
class Model {
 public:
  Model(const Job& job, const Profile& profile)
      : measured_(*job.all_reduce),
        cluster_(job.cluster),
        graph_(job.cluster.instance),
        profile_(profile),
        share_(runtime_of(job.cluster.instance).parameters().network) {
    cluster_.nodes = measured_.nodes;
  }

  Parameter share() const { return share_; }
  double bus(double share) const { return bus(share, measured_.bytes); }
  double bus(double share, Bytes bytes) const {
    Profile at = profile_;
    at.value(share_).median = share;
    return CollectiveTimer(cluster_, graph_, at)
        .time({CollectiveOp::all_reduce, measured_.ranks, bytes})
        .busbw;
  }

 private:
  const MeasuredAllReduce& measured_;
  topology::Cluster cluster_;
  topology::ChipGraph graph_;
  const Profile& profile_;
  Parameter share_;
};

std::string rate(double bytes_per_second) {
  return fmt::format("{:.4g} GB/s", bytes_per_second / 1e9);
}

UnusableMeasurement too_small(const MeasuredAllReduce& m) {
  return {fmt::format(
              "rows of {:.4g} MiB are too small to measure the bandwidth between {} nodes of {}: most of the "
              "time behind their {} is latency",
              m.bytes.value / 0x1p20, m.nodes, m.instance, rate(m.bus.value)),
          kLargerMessages};
}

/// -d log time / d log share, towards a slower network: a faster one may meet another limit.
double elasticity(const Model& model, double share) {
  constexpr double kStep = 1.01;
  return std::log(model.bus(share) / model.bus(share / kStep)) / std::log(kStep);
}

/// Share with which the model has the measured bandwidth; of one a little above what it can have, where links in the
/// nodes limit it, the least share that reaches all of that.
double share_of(const Model& model, const MeasuredAllReduce& m) {
  constexpr double kJustBelow = 1 - 1e-4;
  double low = kLeastShare, high = kMostShare;
  const double wanted = std::min(m.bus.value, kJustBelow * model.bus(high));
  const std::string where = fmt::format("{} nodes of {}", m.nodes, m.instance);
  if (m.bus.value > model.bus(high)) {
    const double most = model.bus(high, std::max(m.bytes, kLargeMessage));
    if (m.bytes < kSmall && m.bus.value <= most) throw too_small(m);
    const bool by_links = elasticity(model, high) < kLeastElasticity;
    if (m.bus.value > (by_links ? kModelErrs : 1) * most)
      throw UnusableMeasurement(
          fmt::format("{} is more than {} can reach, about {}", rate(m.bus.value), where, rate(most)),
          "give the bus bandwidth of all ranks in GB/s (10^9 bytes), not Gbit/s, and the machine it was "
          "measured on",
          true);
  }
  if (const double least = model.bus(low); m.bus.value < least) {
    throw UnusableMeasurement(fmt::format("{} is less than {}, a ten-thousandth of what the NICs of {} carry",
                                          rate(m.bus.value), rate(least), where),
                              "give the bus bandwidth of a large all-reduce in GB/s (10^9 bytes)");
  }
  constexpr int kHalvings = 50;  // of a logarithm of 10: to the last digits of a double
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = std::sqrt(low * high);
    (model.bus(middle) < wanted ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

/// The value for a number of nodes of a list for 2, 4, 8 ...; the last one holds for all larger numbers.
BytesPerSecond on_nodes(const std::vector<BytesPerSecond>& list, int nodes) {
  const auto doublings = static_cast<std::size_t>(std::ceil(std::log2(nodes)));
  return list[std::min(list.size(), doublings) - 1];
}

/// The network by a law of its states; `with`: a profile with the factors of the job.
MeasuredNetwork by_law(const NetworkState& law, const Profile& with, const Job& job,
                       const MeasuredAllReduce& m) {
  MeasuredNetwork out{runtime_of(job.cluster.instance).parameters().network, {}, m.nodes, m.per_doubling};
  out.value = with.value(out.share);
  out.value.median *= std::pow(m.bus / law.usual, law.power);
  out.step_spread = law.step_spread;
  if (law.congested_below.empty() || m.bus >= on_nodes(law.congested_below, m.nodes)) return out;
  out.call_per_rank = law.call_per_rank;
  return out;
}

/// The network by the law of the profile for the job, if it has one.
std::optional<MeasuredNetwork> by_state(const Profile& profile, const Profile& with, const Job& job,
                                        const MeasuredAllReduce& m) {
  if (!profile.factors) return std::nullopt;
  for (const Factors& f : *profile.factors) {
    if (applies(f, job) && f.network.usual.value > 0) return by_law(f.network, with, job, m);
  }
  return std::nullopt;
}

MeasuredNetwork by_physics(const Profile& with, const Job& job) {
  const MeasuredAllReduce& m = *job.all_reduce;
  const Model model(job, with);
  const double share = share_of(model, m), e = elasticity(model, share);
  if (m.bytes < kSmall && !(e >= kLeastElasticityOfSmall)) throw too_small(m);
  if (!(e >= kLeastElasticity)) {
    throw UnusableMeasurement(
        fmt::format(
            "{} of {:.0f} MiB on {} nodes of {} is {:.0f} % network; links and latency limit the rest, so "
            "it does not tell how fast the network is",
            rate(m.bus.value), m.bytes.value / 0x1p20, m.nodes, m.instance, 100 * std::max(0.0, e)),
        "measure larger messages, 1 GiB or more, or more nodes");
  }
  // on_job() divides shares by the pace of the stack; the measurement knows no stack.
  Job there = job;
  there.cluster.nodes = m.nodes;
  return {model.share(),
          {share * pace_of(with, there), m.log_sd / e, "an all-reduce measured on the cluster"},
          m.nodes,
          m.per_doubling};
}

Profile in_network(Profile profile, const MeasuredNetwork& network) {
  profile = with_value(std::move(profile), network.share, network.value);
  profile.network = network;
  return profile;
}

/// The last one that applies to the job; nullptr: none.
const SlowNetwork* slow_network(const Profile& profile, const Job& job) {
  const SlowNetwork* found = nullptr;
  if (!profile.factors) return found;
  for (const Factors& f : *profile.factors) {
    if (f.slow && applies(f, job)) found = &*f.slow;
  }
  return found;
}

}  // namespace

Profile in_measured_network(Profile profile, const Job& job) {
  if (!job.all_reduce || job.all_reduce->instance != job.cluster.instance.name) return profile;
  const Profile with = with_factors(profile, job);
  const std::optional<MeasuredNetwork> state = by_state(profile, with, job, *job.all_reduce);
  return in_network(std::move(profile), state ? *state : by_physics(with, job));
}

Profile in_network_state(Profile profile, const NetworkState& law, const Job& job,
                         const MeasuredAllReduce& measured) {
  const MeasuredNetwork network = by_law(law, profile, job, measured);
  return in_network(std::move(profile), network);
}

std::optional<SlowState> in_slow_network(const Profile& profile, const Job& job) {
  const int nodes = job.cluster.nodes;
  if (nodes < 2 || profile.network || at_known_site(profile, job)) return std::nullopt;
  const SlowNetwork* slow = slow_network(profile, job);
  if (slow == nullptr || !(slow->probability > 0)) return std::nullopt;
  MeasuredAllReduce m;
  m.nodes = nodes;
  m.bus = on_nodes(slow->all_reduce, nodes);
  const Profile with = with_factors(profile, job);
  std::optional<MeasuredNetwork> state = by_state(profile, with, job, m);
  if (!state) {
    const Parameter share = runtime_of(job.cluster.instance).parameters().network;
    state = MeasuredNetwork{share, with.value(share), nodes, 0};
    state->value.median *= std::pow(std::min(1.0, m.bus / slow->usual), slow->power);
  }
  return SlowState{slow->probability, in_network(profile, *state)};
}

}  // namespace trnplan::models
