#include "topology/nics.h"

#include "tests/catch.h"
#include "tests/topology/machines.h"

using namespace trnplan;
using topology::Instance;
using topology::with_nics;

namespace {

/// 8 chips, each with a NIC of its own of four devices.
Instance eight() {
  Instance i;
  i.chips = i.nics = 8;
  i.nic = gigabytes_per_second(50);
  i.network_devices = 32;
  for (int chip = 0; chip < 8; ++chip) i.nic_of_chip.push_back(chip);
  return i;
}

}  // namespace

// Catches NICs that are counted but reach no chip, and chips left on a NIC that is gone.
TEST_CASE("more or fewer NICs serve the chips evenly", "[topology]") {
  const Instance twice = with_nics(eight(), 16).value();
  CHECK(twice.nics == 8);  // two of them serve one chip together
  CHECK(twice.nic == gigabytes_per_second(100));
  CHECK(twice.network_devices == 64);
  const Instance half = with_nics(eight(), 4).value();
  CHECK(half.nics == 4);
  CHECK(half.nic == gigabytes_per_second(50));
  CHECK(half.nic_of_chip == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(half.network_devices == 16);

  // Two chips share one: twice as many give each its own, as trn1n has, and then grow in groups.
  const Instance own = with_nics(topology::torus_4x4(), 16).value();
  CHECK(own.nics == 16);
  CHECK(own.nic == gigabytes_per_second(12.5));
  for (int chip = 0; chip < 16; ++chip) CHECK(own.nic_of_chip[static_cast<std::size_t>(chip)] == chip);
  const Instance groups = with_nics(topology::torus_4x4(), 32).value();
  CHECK(groups.nics == 16);
  CHECK(groups.nic == gigabytes_per_second(25));
  CHECK(with_nics(eight(), 8)->nic_of_chip == eight().nic_of_chip);
}

// Catches uneven numbers, numbers that hosts cannot share, and a network where there is none.
TEST_CASE("NICs that cannot serve the chips evenly are none", "[topology]") {
  for (const int nics : {-1, 0, 3, 12}) CHECK_FALSE(with_nics(eight(), nics));
  Instance hosts = eight();
  hosts.hosts = 4;
  CHECK(with_nics(hosts, 4));
  CHECK_FALSE(with_nics(hosts, 2));
  Instance alone = eight();
  alone.nics = 0;
  alone.nic_of_chip.clear();
  CHECK_FALSE(with_nics(alone, 8));
  Instance uneven = eight();
  uneven.nic_of_chip.back() = 0;
  CHECK_FALSE(with_nics(uneven, 16));
}

// Catches a machine's own oversubscription that a cluster of it loses.
TEST_CASE("the network is as narrow as cluster or machine state", "[topology]") {
  Instance i = eight();
  CHECK(topology::oversubscription_of({i, 4}) == 1);
  i.oversubscription = 3;
  CHECK(topology::oversubscription_of({i, 4}) == 3);
  CHECK(topology::oversubscription_of({i, 4, 5}) == 5);
  i.nics = 0;
  CHECK(topology::oversubscription_of({i, 4, 5}) == 1);
}
