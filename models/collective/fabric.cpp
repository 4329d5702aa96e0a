#include "models/collective/fabric.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "models/collective/collective_runtime.h"
#include "models/device/devices.h"

namespace trnplan::models {

Fabric::Fabric(const topology::Cluster& cluster, const topology::ChipGraph& graph,
               const topology::Placement& placement, const Profile& profile, CollectiveMemory* memory,
               const std::vector<Shares>& of_class)
    : cluster_(&cluster),
      graph_(&graph),
      placement_(&placement),
      profile_(&profile),
      runtime_(&runtime_of(cluster.instance)),
      memory_(memory) {
  const topology::Instance& i = cluster.instance;
  memory_rate_ = device_of(i.core).message_memory(i.core, profile);
  const double fraction = profile[runtime_->parameters().link];
  for (const topology::Link& l : i.links) {
    for (const auto& [from, to] : {std::pair(l.chip_a, l.chip_b), std::pair(l.chip_b, l.chip_a)}) {
      if (static_cast<std::size_t>(from) >= links_from_.size()) links_from_.resize(from + 1);
      links_from_[static_cast<std::size_t>(from)].emplace_back(to, static_cast<Id>(link_ends_.size()));
      link_ends_.emplace_back(from, to);
      link_rates_.push_back(i.rate_of(l) * fraction);
    }
  }
  first_memory_ = static_cast<Id>(link_ends_.size());
  first_nic_ = first_memory_ + static_cast<Id>(i.cores());
  first_spine_ = first_nic_ + 2 * static_cast<Id>(i.nics);
  per_class_ = first_spine_ + (has_spine() ? 2 : 0);
  for (Id local = 0; local < per_class_; ++local) capacities_.push_back(rate_of(local));
  if (!of_class.empty()) give_shares(of_class);
}

void Fabric::give_shares(const std::vector<Shares>& of_class) {
  const std::vector<BytesPerSecond> usual = std::move(capacities_);
  capacities_.clear();
  for (const Shares& shares : of_class) {
    for (Id local = 0; local < per_class_; ++local) {
      const Kind kind = this->kind(local);
      const double share = kind == Kind::link                              ? shares.links
                           : kind == Kind::nic_out || kind == Kind::nic_in ? shares.nics
                                                                           : 1;
      capacities_.push_back(usual[local] * share);
    }
  }
}

Fabric::Kind Fabric::kind(Id id) const {
  if (id == unreachable()) return Kind::unreachable;
  const Id local = id % per_class_;
  if (local < first_memory_) return Kind::link;
  if (local < first_nic_) return Kind::memory;
  const bool out = (local < first_spine_ ? local - first_nic_ : local - first_spine_) % 2 == 0;
  if (local < first_spine_) return out ? Kind::nic_out : Kind::nic_in;
  return out ? Kind::spine_out : Kind::spine_in;
}

Parameter Fabric::parameter(Id id) const {
  switch (kind(id)) {
    case Kind::link:
      return runtime_->parameters().link;
    case Kind::memory:
      return memory_rate_.by;
    case Kind::nic_out:
    case Kind::nic_in:
    case Kind::spine_out:
    case Kind::spine_in:
    case Kind::unreachable:
      break;
  }
  return runtime_->parameters().network;
}

BytesPerSecond Fabric::rate_of(Id local) const {
  const topology::Instance& i = cluster_->instance;
  const Parameter parameter = this->parameter(local);
  const double share = (*profile_)[parameter];
  switch (kind(local)) {
    case Kind::link:
      return link_rates_[local];
    case Kind::memory:
      return memory_rate_.rate;
    case Kind::nic_out:
    case Kind::nic_in:
      break;
    case Kind::spine_out:
    case Kind::spine_in:
      return i.nic * (share * i.nics / topology::oversubscription_of(*cluster_));
    case Kind::unreachable:
      return {};
  }
  return i.nic * share;
}

std::vector<double> Fabric::capacities() const {
  std::vector<double> all;
  for (Id id = 0; id < unreachable(); ++id) all.push_back(capacity(id).value);
  return all;
}

std::string Fabric::name(Id id) const {
  const std::string node =
      placement_->classes() > 1 ? "class " + std::to_string(id / per_class_) + " " : std::string();
  const Id local = id % per_class_;
  switch (kind(id)) {
    case Kind::link:
      return node + "link " + std::to_string(link_ends_[local].first) + ">" +
             std::to_string(link_ends_[local].second);
    case Kind::memory:
      return node + "memory of core " + std::to_string(local - first_memory_);
    case Kind::nic_out:
      return node + "nic " + std::to_string((local - first_nic_) / 2) + " out";
    case Kind::nic_in:
      return node + "nic " + std::to_string((local - first_nic_) / 2) + " in";
    case Kind::spine_out:
      return node + "spine out";
    case Kind::spine_in:
      return node + "spine in";
    case Kind::unreachable:
      return "no way";
  }
  return node;
}

Fabric::Id Fabric::link(int cls, int from, int to) const {
  if (static_cast<std::size_t>(from) >= links_from_.size()) return size();
  for (const auto& [neighbour, id] : links_from_[static_cast<std::size_t>(from)]) {
    if (neighbour == to) return base(cls) + id;
  }
  return size();
}

Fabric::Id Fabric::nic(int cls, int core, Kind direction) const {
  const topology::Instance& i = cluster_->instance;
  const auto nic = static_cast<Id>(i.nic_of_chip[static_cast<std::size_t>(i.chip_of(core))]);
  return base(cls) + first_nic_ + 2 * nic + (direction == Kind::nic_in ? 1 : 0);
}

Fabric::Id Fabric::spine(int cls, Kind direction) const {
  return base(cls) + first_spine_ + (direction == Kind::spine_in ? 1 : 0);
}

std::vector<Fabric::Leg> Fabric::route(int chip_a, int chip_b) const {
  const std::vector<int> path = graph_->route(chip_a, chip_b);
  std::vector<Leg> legs;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) legs.push_back({path[i], path[i + 1], 1});
  return legs;
}

const std::vector<Fabric::Leg>& Fabric::spread(int chip_a, int chip_b) const {
  if (const auto it = spreads_.find({chip_a, chip_b}); it != spreads_.end()) return it->second;
  std::vector<Leg> paths;
  // Parts of the message by chip, level by level towards the target; the part that arrives at a chip leaves
  // it in equal parts.
  std::map<int, double> here{{chip_a, 1.0}};
  for (int left = graph_->hops(chip_a, chip_b); left > 0; --left) {
    std::map<int, double> next;
    for (const auto& [chip, part] : here) {
      std::vector<int> closer;
      for (const int n : graph_->neighbours(chip)) {
        if (graph_->hops(n, chip_b) == left - 1) closer.push_back(n);
      }
      const double each = part / static_cast<double>(closer.size());
      for (const int n : closer) {
        next[n] += each;
        for (Leg leg : route(chip, n)) {
          leg.part = each;
          paths.push_back(leg);
        }
      }
    }
    here = std::move(next);
  }
  return spreads_.emplace(std::pair(chip_a, chip_b), std::move(paths)).first->second;
}

const std::vector<std::vector<int>>& Fabric::rings(const std::vector<int>& chips) const {
  if (const auto it = rings_.find(chips); it != rings_.end()) return it->second;
  return rings_.emplace(chips, graph_->disjoint_rings(chips)).first->second;
}

std::vector<std::vector<int>> Fabric::directions(const std::vector<int>& chips) const {
  std::vector<std::vector<int>> orders = rings(chips);
  if (orders.empty()) orders = {chips};
  const std::size_t rings = orders.size();
  for (std::size_t r = 0; r < rings; ++r) orders.emplace_back(orders[r].rbegin(), orders[r].rend());
  return orders;
}

namespace {

/// Turns rings of chips so that the NICs of their last and first chips are used equally. The search for a use
/// of at most so many channels per NIC is given up after a number of tries, and one more channel is allowed.
class Turner {
 public:
  Turner(const topology::Instance& instance, const std::vector<std::vector<int>>& rings)
      : instance_(instance), rings_(rings) {}

  std::vector<std::vector<int>> run() {
    const auto nics = static_cast<std::size_t>(instance_.nics);
    for (most_ = 1;; ++most_) {
      leaving_.assign(nics, 0);
      coming_.assign(nics, 0);
      tries_ = 0;
      if (extend()) return orders_;
    }
  }

 private:
  /// Tries per number of channels of a NIC. On rows, halves and wholes of all machines of the catalogue, a
  /// search that succeeds takes at most 139 tries. One that cannot succeed would take exponentially many in
  /// the NICs, and ends here after some milliseconds. Giving up too early costs evenness, not an answer: when
  /// a NIC may have all channels, any turn will do.
  static constexpr int kMostTries = 2000;

  int nic(int chip) const { return instance_.nic_of_chip[static_cast<std::size_t>(chip)]; }

  bool extend() {
    if (orders_.size() == leaving_.size()) return true;
    if (++tries_ > kMostTries) return false;
    std::vector<int> order = rings_[orders_.size() % rings_.size()];
    for (std::size_t turns = 0; turns < order.size(); ++turns) {
      int& out = leaving_[static_cast<std::size_t>(nic(order.back()))];
      int& in = coming_[static_cast<std::size_t>(nic(order.front()))];
      if (out < most_ && in < most_) {
        ++out;
        ++in;
        orders_.push_back(order);
        if (extend()) return true;
        orders_.pop_back();
        --out;
        --in;
      }
      std::rotate(order.begin(), order.begin() + 1, order.end());
    }
    return false;
  }

  const topology::Instance& instance_;
  const std::vector<std::vector<int>>& rings_;
  int most_ = 1, tries_ = 0;
  std::vector<int> leaving_, coming_;  ///< channels by NIC
  std::vector<std::vector<int>> orders_;
};

}  // namespace

const std::vector<std::vector<int>>& Fabric::channels(const std::vector<int>& chips) const {
  if (const auto it = channels_.find(chips); it != channels_.end()) return it->second;
  auto rings = directions(chips);
  if (cluster_->instance.nics > 0) rings = Turner(cluster_->instance, rings).run();
  return channels_.emplace(chips, std::move(rings)).first->second;
}

namespace {

/// Labels the chips as corners of a hypercube: the first chip is 0, its neighbours are the unit vectors, and
/// a chip at distance d has the union of its neighbours' labels at distance d - 1. nullopt when the chips are
/// not a hypercube.
std::optional<std::vector<int>> hypercube_order(const topology::ChipGraph& graph,
                                                const std::vector<int>& chips) {
  const auto count = static_cast<unsigned>(chips.size());
  if (!std::has_single_bit(count)) return std::nullopt;
  std::map<int, unsigned> label{{chips.front(), 0}};
  std::vector<int> layer{chips.front()};
  unsigned axes = 0;
  while (!layer.empty()) {
    std::map<int, unsigned> next;
    for (const int chip : layer) {
      for (const int n : graph.neighbours(chip)) {
        if (label.contains(n) || !std::binary_search(chips.begin(), chips.end(), n)) continue;
        if (label.size() == 1) {
          next[n] = 1u << axes++;
        } else {
          next[n] |= label[chip];
        }
      }
    }
    layer.clear();
    for (const auto& [chip, l] : next) {
      label[chip] = l;
      layer.push_back(chip);
    }
  }
  std::vector<int> order(count, -1);
  for (const auto& [chip, l] : label) {
    if (l >= count || order[l] >= 0) return std::nullopt;
    order[l] = chip;
  }
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned bit = 1; bit < count; bit *= 2) {
      if (order[i] < 0 || order[i ^ bit] < 0 || !graph.adjacent(order[i], order[i ^ bit]))
        return std::nullopt;
    }
  }
  return order;
}

}  // namespace

const std::vector<int>& Fabric::hypercube(const std::vector<int>& chips) const {
  if (const auto it = hypercubes_.find(chips); it != hypercubes_.end()) return it->second;
  return hypercubes_.emplace(chips, hypercube_order(*graph_, chips).value_or(chips)).first->second;
}

}  // namespace trnplan::models
