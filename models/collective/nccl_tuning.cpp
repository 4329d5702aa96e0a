#include "models/collective/nccl_tuning.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "units/index.h"

namespace trnplan::models::nccl {

namespace {

/// Microseconds by protocol: LL, LL128 and Simple.
using ByProtocol = double[3];
constexpr ByProtocol kTreeStart = {6.8, 14, 8.4}, kRingStart = {6.6, 14, 8.4};
constexpr ByProtocol kTreeStep = {0.6, 1.25, 4.0}, kRingStep = {0.6, 1.9, 3.4};
constexpr ByProtocol kTreeBetween = {5, 8.5, 14}, kRingBetween = {2.7, 4, 14};
constexpr double kInSwitchStep = 25, kInSwitchTreeBetween = 20.9;
constexpr double kLogarithmicStart = 8, kLogarithmicBetween = 14 / 3.5, kLogarithmicRank = 2.8;

/// Shares of a rate.
constexpr double kLl128 = 0.92, kTree = 0.92, kTreeLl = 1 / 3.8, kTreeLl128Inside = 7.0 / 9,
                 kTreeLl128Between = 120.0 / 128, kLogarithmic = 0.75;
/// Rate of LL in one node, in two or three, and in more, as a share of the rate that the library assumes for
/// a GPU's links. For machines that do not state it; from the three generations that do (87.7, 22.5 and 19 of
/// 240 GB/s; 141, 45 and 35 of 371; 282, 90 and 70 of 722).
constexpr double kLl[] = {0.38, 0.115, 0.09};
/// Rate that the library assumes for links, as a share of the data sheet's, where a machine states no other:
/// 240 of 300, 371 of 450, 722 of 900.
constexpr double kCounted = 0.81;

/// Nodes from which on every byte leaves some node twice. An all-reduce sends half of its bytes over each of two trees;
/// that node has two children and a parent in one tree and a parent in the other, so four halves leave it. Of three
/// nodes three halves do, of two nodes two (NVIDIA/nccl@5067397c src/graph/trees.cc, ncclGetDtree).
constexpr double kMostTreeNodes = 4;

/// Share of their rate that trees of an all-reduce reach, by size: 64 bytes times a power of two. The library
/// uses steps; here the share is interpolated between two sizes, so that more bytes never take less time.
constexpr double kTreeBySize[3][23] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, .92, .92},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

std::size_t place_of(Protocol p) {
  return static_cast<std::size_t>(p);
}

int nics_of(const topology::Instance& i, const GroupShape& shape) {
  std::set<int> used;
  for (const int chip : shape.chips) {
    if (i.nics > 0) used.insert(i.nic_of_chip[at(chip)]);
  }
  return static_cast<int>(used.size());
}

}  // namespace

std::string to_string(Way way) {
  static constexpr const char* kMethods[] = {"ring", "tree", "nvls", "nvls-tree", "pat"};
  static constexpr const char* kProtocols[] = {" LL", " LL128", ""};
  return std::string(kMethods[static_cast<std::size_t>(way.method)]) + kProtocols[place_of(way.protocol)];
}

Tuning::Tuning(const topology::Instance& instance, CollectiveOp op, const GroupShape& shape, double bytes)
    : instance_(instance),
      op_(op),
      shape_(shape),
      bytes_(bytes),
      link_(instance.link_for_collectives.value > 0 ? instance.link_for_collectives.value
                                                    : kCounted * instance.link_per_direction.value),
      network_(instance.nic.value * nics_of(instance, shape)),
      levels_(std::bit_width(static_cast<unsigned>(shape.node_count() - 1))) {}

std::vector<Way> Tuning::ways() const {
  using enum Protocol;
  const bool several = shape_.node_count() > 1, switched = instance_.traits.in_switch_reduction;
  // LL128 needs stores of 128 bytes that arrive as a whole. Between nodes the library relies on them only
  // where GPUs forward to one another the data that leaves the node, that is from the generation whose switch
  // reduces.
  const bool whole_lines = !several || switched;
  std::vector<Way> all;
  const auto add = [&](Method m) {
    all.push_back({m, ll});
    if (whole_lines) all.push_back({m, ll128});
    all.push_back({m, simple});
  };
  add(Method::ring);
  if (op_ != CollectiveOp::all_reduce) {
    if (several && shape_.local() == 1) all.push_back({Method::logarithmic_tree, simple});
    return all;
  }
  add(Method::tree);
  if (switched && shape_.local() > 1)
    all.push_back({several ? Method::in_switch_tree : Method::in_switch, simple});
  return all;
}

Way Tuning::best(std::optional<Method> asked) const {
  std::vector<Way> all = ways();
  if (asked && std::any_of(all.begin(), all.end(), [&](Way w) { return w.method == *asked; }))
    std::erase_if(all, [&](Way w) { return w.method != *asked; });
  return *std::min_element(all.begin(), all.end(), [&](Way a, Way b) { return seconds(a) < seconds(b); });
}

double Tuning::network_latency(Way way) const {
  return instance_.network_latency.value * (way.protocol == Protocol::simple ? 2 : 1);
}

double Tuning::seconds(Way way) const {
  const std::size_t p = place_of(way.protocol);
  const int nodes = shape_.node_count(), ranks = shape_.ranks();
  const double passes = op_ == CollectiveOp::all_reduce ? 2 : 1, more = network_latency(way) * 1e6;
  double us = 0;
  switch (way.method) {
    case Method::ring: {
      const double between = nodes < 2 ? 0 : passes * (shape_.local() == 1 ? ranks - 1 : nodes - 1);
      us = kRingStart[p] + (passes * (ranks - 1) - between) * kRingStep[p] +
           between * (kRingBetween[p] + more);
      break;
    }
    case Method::tree:
      us = kTreeStart[p] + 2 * ((shape_.local() - 1) * kTreeStep[p] + levels_ * (kTreeBetween[p] + more));
      break;
    case Method::in_switch:
      us = kInSwitchStep;
      break;
    case Method::in_switch_tree:
      us = kInSwitchStep + 2 * levels_ * (kInSwitchTreeBetween + more);
      break;
    case Method::logarithmic_tree:
      us = kLogarithmicStart + levels_ * (kLogarithmicBetween + more / 3.5) + kLogarithmicRank * ranks;
  }
  double transfer = 0;
  if (link_ > 0) transfer = link_bytes(way.method) / (link_ * link_share(way));
  if (nodes > 1 && network_ > 0)
    transfer = std::max(transfer, network_bytes(way.method) / (network_ * network_share(way)));
  return us * 1e-6 + transfer;
}

double Tuning::tree_share(Protocol protocol) const {
  constexpr std::size_t kSizes = std::size(kTreeBySize[0]);
  const double size = std::log2(std::max(64.0, bytes_) / 64);
  const auto below = static_cast<std::size_t>(size);
  if (below >= kSizes) return 1;
  const double(&shares)[kSizes] = kTreeBySize[place_of(protocol)];
  const double from = shares[below], to = below + 1 < kSizes ? shares[below + 1] : 1;
  return from * std::pow(to / from, size - static_cast<double>(below));
}

double Tuning::link_share(Way way) const {
  const bool several = shape_.node_count() > 1;
  const double ll = instance_.ll_bandwidths.empty() ? kLl[0] : instance_.ll_bandwidths[0].value / link_;
  const double by_size = way.method == Method::tree ? kTree * tree_share(way.protocol) : 1;
  switch (way.method) {
    case Method::in_switch:
    case Method::in_switch_tree:
      return instance_.in_switch_efficiency;
    case Method::logarithmic_tree:
      return 1;
    case Method::ring:
    case Method::tree:
      break;
  }
  const bool tree = way.method == Method::tree;
  if (way.protocol == Protocol::ll) return std::min(ll, tree ? kTreeLl : 0.5) * by_size;
  if (way.protocol == Protocol::simple) return by_size;
  return (!tree ? kLl128 : several ? kTreeLl128Between : kTreeLl128Inside) * by_size;
}

double Tuning::network_share(Way way) const {
  const bool tree = way.method == Method::tree;
  const double by_size = tree ? kTree * tree_share(way.protocol) : 1;
  if (way.method == Method::logarithmic_tree) return kLogarithmic;
  if (way.protocol == Protocol::simple) return by_size;
  if (way.protocol == Protocol::ll128) return (tree ? kTreeLl128Between : kLl128) * by_size;
  const std::size_t place = shape_.node_count() < 4 ? 1 : 2;
  const double most =
      instance_.ll_bandwidths.size() > place ? instance_.ll_bandwidths[place].value : kLl[place] * link_;
  const double share = tree ? kTreeLl : 0.5;
  return (network_ > 0 ? std::min(share, most / network_) : share) * by_size;
}

double Tuning::link_bytes(Method method) const {
  const double ranks = shape_.ranks(), local = shape_.local();
  switch (method) {
    case Method::ring:
      return (op_ == CollectiveOp::all_reduce ? 2 : 1) * bytes_ * (ranks - 1) / ranks;
    case Method::tree:
      return 2 * bytes_ * (local - 1) / local;
    case Method::in_switch:
    case Method::in_switch_tree:
      return bytes_ * (1 + 1 / local);
    case Method::logarithmic_tree:
      break;
  }
  return 0;
}

double Tuning::network_bytes(Method method) const {
  const double nodes = shape_.node_count();
  if (nodes < 2) return 0;
  if (method == Method::ring) return link_bytes(method);
  if (op_ != CollectiveOp::all_reduce) return bytes_ * (nodes - 1) / nodes;
  return bytes_ * std::min(nodes, kMostTreeNodes) / 2;
}

}  // namespace trnplan::models::nccl
