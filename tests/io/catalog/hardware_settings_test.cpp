#include "io/catalog/hardware_settings.h"

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
  const io::Catalog catalog = test_catalog().with_hardware(io::hardware_settings_from({"core.l2=x2"}));
  CHECK(faults_in([&] { catalog.refuse_unset(catalog.instance("trn1.32xlarge")); }).size() == 1);
  catalog.refuse_unset(catalog.instance("p5.48xlarge"));
}
