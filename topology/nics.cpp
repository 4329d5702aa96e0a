#include "topology/nics.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace trnplan::topology {

namespace {

/// Chips that share a NIC; nullopt if not all NICs have as many.
std::optional<int> chips_of_each(const Instance& machine) {
  std::vector<int> chips(static_cast<std::size_t>(machine.nics));
  for (const int nic : machine.nic_of_chip) ++chips[static_cast<std::size_t>(nic)];
  if (std::adjacent_find(chips.begin(), chips.end(), std::not_equal_to<>()) != chips.end())
    return std::nullopt;
  return chips.front();
}

/// Gives each NIC's chips `times` as many.
bool deal_out(Instance& machine, int times) {
  const std::optional<int> sharing = chips_of_each(machine);
  if (!sharing || *sharing == 0) return false;
  const int parts = std::gcd(times, *sharing), each = *sharing / parts;
  std::vector<int> seen(static_cast<std::size_t>(machine.nics));
  for (int& nic : machine.nic_of_chip) nic = nic * parts + seen[static_cast<std::size_t>(nic)]++ / each;
  machine.nics *= parts;
  machine.nic = machine.nic * (times / parts);
  return true;
}

}  // namespace

std::optional<Instance> with_nics(Instance machine, int nics) {
  const int was = machine.nics;
  if (was < 1 || nics < 1 || nics % machine.hosts != 0) return std::nullopt;
  machine.network_devices = static_cast<int>(static_cast<double>(machine.network_devices) * nics / was);
  if (nics % was == 0) {
    if (nics > was && !deal_out(machine, nics / was)) return std::nullopt;
    return machine;
  }
  if (was % nics != 0 || !chips_of_each(machine)) return std::nullopt;
  for (int& nic : machine.nic_of_chip) nic /= was / nics;
  machine.nics = nics;
  return machine;
}

double oversubscription_of(const Cluster& cluster) {
  if (cluster.instance.nics == 0) return 1;  // it oversubscribes nothing
  return std::max(cluster.oversubscription, cluster.instance.oversubscription);
}

}  // namespace trnplan::topology
