#include "io/catalog/hardware_settings.h"

#include <algorithm>

#include "io/catalog/catalog.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

topology::Instance changed(const std::vector<std::string>& settings, const char* name = "trn1.32xlarge") {
  return test_catalog().with_hardware(io::hardware_settings_from(settings)).instance(name);
}

}  // namespace

// Catches a setting that changes another number, its unit or nothing: trn1 has 16 GiB a core and 100 Gbit/s a NIC.
TEST_CASE("settings change the numbers of an instance type", "[io]") {
  const topology::Instance was = test_catalog().instance("trn1.32xlarge");
  const topology::Instance is = changed({"core.memory=32GiB", "nic_bandwidth=x2"});
  CHECK(is.core.memory == gibibytes(32));
  CHECK(is.nic.value == 2 * was.nic.value);
  CHECK(is.nic.value == 25e9);
  CHECK(is.core.bf16 == was.core.bf16);
  CHECK(is.changes == std::vector<std::string>{"core.memory=32GiB", "nic_bandwidth=x2"});
  CHECK(is.shown_name() == "trn1.32xlarge with core.memory=32GiB, nic_bandwidth=x2");
  // Another unit of the kind is converted.
  CHECK(changed({"core.memory=1.5 TB"}).core.memory == Bytes(1.5e12));
  CHECK(test_catalog().instance("trn1.32xlarge").changes.empty());
}

// Catches a bad setting that passes, or one that hides another.
TEST_CASE("settings that cannot be are refused", "[io]") {
  CHECK(faults_in([] {
          static_cast<void>(io::hardware_settings_from(
              {"core.memory", "=3", "nics=0", "nics=-1", "nics=x", "nics=x2GiB", "a=1e999"}));
        }).size() == 7);
  CHECK(faults_in([] { static_cast<void>(io::hardware_settings_from({"nics=4", "nics=x2"})); }).size() == 1);
  const auto unknown = faults_in([] { static_cast<void>(changed({"nic_bandwith=x2", "core.tensors=1"})); });
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[0].fix.find("did you mean nic_bandwidth?") != std::string::npos);
  const auto unit = faults_in([] { static_cast<void>(changed({"core.memory=3parsecs"})); });
  REQUIRE(unit.size() == 1);
  CHECK(unit[0].at.file.find("--set core.memory=3parsecs") != std::string::npos);
  const auto bare = faults_in([] { static_cast<void>(changed({"nic_bandwidth=2", "nics=4"})); });
  REQUIRE(bare.size() == 1);  // 2 Gbit/s, or twice as much?
  CHECK(bare[0].fix.find("nic_bandwidth=x2") != std::string::npos);
  // A key that other types have.
  const io::Catalog catalog =
      test_catalog().with_hardware(io::hardware_settings_from({"core.multiprocessors=x2"}));
  CHECK(faults_in([&] { catalog.refuse_unset(catalog.instance("trn1.32xlarge")); }).size() == 1);
  catalog.refuse_unset(catalog.instance("p5.48xlarge"));
}

// Catches NICs beyond those that the file's chips name, which changed nothing or failed at the file.
TEST_CASE("a setting of NICs deals them out to the chips", "[io]") {
  const topology::Instance was = test_catalog().instance("p5.48xlarge");
  const topology::Instance twice = changed({"nics=x2"}, "p5.48xlarge");
  CHECK(twice.nics * twice.nic.value == 2 * was.nics * was.nic.value);
  CHECK(twice.nic_of_chip == was.nic_of_chip);
  CHECK(changed({"nics=x0.5"}, "p5.48xlarge").nic_of_chip == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(changed({"nics=16"}, "trn1.32xlarge").nic_of_chip ==
        test_catalog().instance("trn1n.32xlarge").nic_of_chip);
  const auto uneven = faults_in([] { static_cast<void>(changed({"nics=3"}, "p5.48xlarge")); });
  REQUIRE(uneven.size() == 1);
  CHECK(uneven[0].key == "--set");
  CHECK(changed({"oversubscription=64"}, "p5.48xlarge").oversubscription == 64);
}

// Catches numbers that are offered and change no prediction: the peak that MFU alone counts on NeuronCores, a price of
// the past, disks.
TEST_CASE("numbers that no prediction depends on are not settable", "[io]") {
  const auto offered = [](const char* type, const std::string& key) {
    const auto all = test_catalog().settable(type);
    return std::any_of(all.begin(), all.end(), [&](const io::SettableNumber& n) { return n.key == key; });
  };
  for (const char* key : {"price_history", "local_nvme", "rails", "vcpus", "core.power_limit", "chips"})
    CHECK_FALSE(offered("p5.48xlarge", key));
  for (const char* key : {"core.bf16", "core.memory", "nics", "oversubscription", "network_latency"})
    CHECK(offered("p5.48xlarge", key));
  for (const char* key : {"core.bf16", "core.fp8", "core.sbuf", "local_nvme"}) {
    CHECK_FALSE(offered("trn1.32xlarge", key));
    CHECK_FALSE(offered("trn2.48xlarge", key));
  }
  for (const char* key :
       {"core.tensor_clock", "core.array_rows", "core.dma_bandwidth", "link_bandwidth_per_direction"})
    CHECK(offered("trn2.48xlarge", key));
  CHECK_FALSE(offered("trn1.2xlarge", "nic_bandwidth"));                 // it has no NIC
  CHECK_FALSE(offered("trn2.3xlarge", "link_bandwidth_per_direction"));  // nor this one links
  CHECK(faults_in([] { static_cast<void>(changed({"local_nvme=x2"})); }).size() == 1);
  const io::Catalog catalog = test_catalog().with_hardware(io::hardware_settings_from({"core.bf16=x2"}));
  CHECK(faults_in([&] { catalog.refuse_unset(catalog.instance("trn1.32xlarge")); }).size() == 1);
}
