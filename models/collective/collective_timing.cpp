#include "models/collective/collective_timing.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "models/collective/collective_runtime.h"
#include "units/normal.h"

namespace trnplan::models {

namespace {

constexpr double kRaise = 1.01;

/// Shares of bandwidths that may bound a collective.
std::vector<Parameter> shares_of(const ParameterSchema& schema) {
  std::vector<Parameter> all;
  for (const Resource r : {Resource::link, Resource::dma, Resource::hbm, Resource::efa}) {
    for (const Parameter p : schema.parameters()) {
      if (resource_of(p) == r) all.push_back(p);
    }
  }
  return all;
}

Profile raised(Profile profile, Parameter p) {
  profile.value(p).median *= kRaise;
  return profile;
}

/// Elasticity of a time.
double slope(Seconds changed, Seconds time) {
  if (!(time.value > 0) || !std::isfinite(time.value)) return 0;
  return std::log(changed / time) / std::log(kRaise);
}

SecondsRange range(Seconds t, double variance) {
  const double factor = std::exp(kNinetyPercent * std::sqrt(variance));
  return {t / factor, t * factor};
}

}  // namespace

double bus_factor(CollectiveOp op, int ranks) {
  const double share = (ranks - 1.0) / ranks;
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2 * share;
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all:
      return share;
    case CollectiveOp::permute:
    case CollectiveOp::send_recv:
      break;
  }
  return 1;
}

std::optional<int> element_bytes(std::string_view type) {
  static constexpr std::pair<std::string_view, int> kTypes[] = {
      {"uint8", 1},   {"int8", 1},   {"fp8", 1},      {"uint16", 2}, {"int16", 2}, {"fp16", 2},
      {"float16", 2}, {"bf16", 2},   {"bfloat16", 2}, {"uint32", 4}, {"int32", 4}, {"fp32", 4},
      {"float32", 4}, {"uint64", 8}, {"int64", 8},    {"fp64", 8}};
  for (const auto& [name, bytes] : kTypes) {
    if (name == type) return bytes;
  }
  return std::nullopt;
}

std::vector<int> ranks_of(const topology::Cluster& cluster, int ranks) {
  const int cores = cluster.instance.cores(), local = ranks / cluster.nodes;
  if (ranks < 1 || ranks % cluster.nodes != 0 || local > cores) {
    throw std::invalid_argument(std::to_string(ranks) + " ranks do not sit equally on " +
                                std::to_string(cluster.nodes) + " nodes of " + std::to_string(cores) +
                                " cores");
  }
  std::vector<int> all;
  for (int node = 0; node < cluster.nodes; ++node) {
    for (int core = 0; core < local; ++core) all.push_back(node * cores + core);
  }
  return all;
}

CollectiveTimer::Raised::Raised(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                                const topology::Placement& placement, const Profile& base, Parameter p)
    : profile(raised(base, p)), log_sd(base.value(p).log_sd), fabric(cluster, graph, placement, profile) {}

CollectiveTimer::CollectiveTimer(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                                 const Profile& profile, bool intervals)
    : placement_(topology::Placement::uniform(cluster)),
      fabric_(cluster, graph, placement_, profile),
      intervals_(intervals) {
  for (const Parameter p : shares_of(*profile.schema)) {
    if (intervals && profile.value(p).log_sd > 0)
      raised_.emplace_back(cluster, graph, placement_, profile, p);
  }
}

CollectiveTiming CollectiveTimer::time(const CollectiveRun& run) const {
  const topology::Cluster& cluster = fabric_.cluster();
  const std::vector<int> ranks = ranks_of(cluster, run.ranks);
  const Collective c = collective(fabric_, run.op, {ranks}, run.bytes, run.algorithm);
  CollectiveTiming t;
  t.algorithm = c.algorithm.empty() ? "none" : c.algorithm;
  t.seconds = c.seconds(fabric_);
  const bool between_nodes = cluster.nodes > 1 && run.ranks > 1;
  t.nccom_seconds = nccom_seconds(fabric_, c, between_nodes);
  t.host_launch = Seconds(fabric_.profile()[common::host_launch]);
  t.barrier = barrier_of(fabric_, between_nodes);
  t.algbw = t.nccom_seconds.value > 0 && run.ranks > 1 ? run.bytes.value / t.nccom_seconds.value : 0;
  t.busbw = t.algbw * bus_factor(run.op, run.ranks);
  t.alpha = c.alpha;
  for (const Phase& phase : c.phases) {
    CollectiveTiming::Part part{phase.steps, phase.latency(), phase.transfer(fabric_), ""};
    for (const auto& [id, bytes] : phase.load) {
      if (part.limit.empty() && bytes > 0 && Bytes(bytes) / fabric_.capacity(id) >= part.transfer) {
        part.limit = fabric_.name(id);
      }
    }
    t.parts.push_back(std::move(part));
  }
  t.verdict = topology::judge(cluster, fabric_.graph(), topology::GroupKind::tensor, ranks);
  if (intervals_) add_intervals(c, t);
  return t;
}

void CollectiveTimer::add_intervals(const Collective& c, CollectiveTiming& t) const {
  const double missed = std::pow(fabric_.profile()[common::collective_spread], 2);
  double inside = missed, outside = missed;
  const auto add = [&](Seconds more, double log_sd, bool in_graph) {
    if (in_graph) inside += std::pow(slope(t.seconds + more, t.seconds) * log_sd, 2);
    outside += std::pow(slope(t.nccom_seconds + more, t.nccom_seconds) * log_sd, 2);
  };
  for (const Raised& r : raised_) add(c.transfer(r.fabric) - c.transfer(fabric_), r.log_sd, true);
  // Times that scale with no parameter.
  Seconds hops{}, network{};
  for (const Phase& phase : c.phases) {
    hops = hops + phase.hops;
    network = network + phase.network;
  }
  const auto add_time = [&](Seconds part, Parameter p, bool in_graph) {
    if (!p) return;
    add(part * (kRaise - 1), fabric_.profile().value(p).log_sd, in_graph);
  };
  const RuntimeParameters& by = fabric_.runtime().parameters();
  add_time(c.alpha, by.start, true);
  add_time(hops, by.step, true);
  add_time(network, by.between, true);
  add_time(t.host_launch, common::host_launch, false);
  add_time(t.barrier, by.barrier, false);
  t.seconds_90 = range(t.seconds, inside);
  t.nccom_seconds_90 = range(t.nccom_seconds, outside);
}

}  // namespace trnplan::models
