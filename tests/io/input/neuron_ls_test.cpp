#include <algorithm>
#include <fstream>
#include <set>

#include "io/input/readers.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;
namespace fs = std::filesystem;

namespace {

fs::path bad_listing(const char* name) {
  return fs::path(TRNPLAN_SOURCE_DIR) / "tests/regress/neuron-ls" / name;
}

std::set<std::pair<int, int>> pairs(const topology::Instance& i) {
  std::set<std::pair<int, int>> set;
  for (const topology::Link& l : i.links) set.insert(std::minmax(l.chip_a, l.chip_b));
  return set;
}

/// The 4 x 4 torus with chip = 4 * row + column: each chip has a neighbour right and one below, wrapping
/// around.
std::set<std::pair<int, int>> torus() {
  std::set<std::pair<int, int>> set;
  for (int chip = 0; chip < 16; ++chip) {
    const int row = chip / 4, column = chip % 4;
    set.insert(std::minmax({chip, 4 * row + (column + 1) % 4}));
    set.insert(std::minmax({chip, 4 * ((row + 1) % 4) + column}));
  }
  return set;
}

std::vector<Diagnostic> faults_of(const fs::path& path, const std::string& instance = "trn1.32xlarge") {
  return faults_in([&] { io::read_neuron_ls(path, test_catalog(), instance); });
}

}  // namespace

TEST_CASE("neuron-ls of a trn1.32xlarge, table and JSON", "[io][neuron_ls]") {
  for (const char* name : {"neuron-ls-trn1.32xlarge.txt", "neuron-ls-trn1.32xlarge.json"}) {
    CAPTURE(name);
    const topology::Instance i = io::read_neuron_ls(fs::path(TRNPLAN_SOURCE_DIR) / "tests/io/fixtures" / name,
                                                    test_catalog(), "trn1.32xlarge");
    CHECK(i.name == "trn1.32xlarge");
    CHECK(i.chips == 16);
    CHECK(i.cores_per_chip == 2);
    CHECK(i.core.memory.value == 17179869184.0);
    CHECK(i.links.size() == 32);
    CHECK(pairs(i) == torus());
    CHECK(i.torus_rows == 4);
    CHECK(i.nics == 8);
    CHECK(i.link_per_direction.value > 0);
  }
}

TEST_CASE("the printed instance type needs no second statement", "[io][neuron_ls]") {
  CHECK(
      faults_of(fs::path(TRNPLAN_SOURCE_DIR) / "tests/io/fixtures/neuron-ls-trn1.32xlarge.txt", "").empty());
  CHECK(
      faults_of(fs::path(TRNPLAN_SOURCE_DIR) / "tests/io/fixtures/neuron-ls-trn1.32xlarge.json", "").size() ==
      1);
}

TEST_CASE("an asymmetric link is reported with its line", "[io][neuron_ls]") {
  const auto faults = faults_of(bad_listing("asymmetric.txt"));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at.line == 10);  // device 3 stands on line 10
  CHECK(faults[0].problem == "device 3 lists device 7, but device 7 does not list 3");
}

TEST_CASE("missing, doubled and cut off devices", "[io][neuron_ls]") {
  const auto problem = [](const char* name) {
    const auto faults = faults_of(bad_listing(name));
    REQUIRE_FALSE(faults.empty());
    return faults.front().problem;
  };
  CHECK(problem("missing-device.txt") == "device 9 is missing before device 10");
  CHECK(problem("twice.txt") == "device 9 is listed twice (first at line 16)");
  CHECK(problem("truncated.txt").find("closing line") != std::string::npos);
  CHECK(problem("truncated-in-row.txt").find("cells") != std::string::npos);
  CHECK(problem("unknown-instance.txt").find("unknown instance type") != std::string::npos);
  CHECK(faults_of(bad_listing("fields.json")).size() == 3);  // all of them at once
}

// 96 GiB a device over the 4 or 8 logical cores that neuron-ls counts.
TEST_CASE("neuron-ls of a trn2.48xlarge tells LNC 1 from LNC 2", "[io][neuron_ls]") {
  const fs::path file = fs::temp_directory_path() / "trnplan-neuron-ls-trn2.json";
  for (const int cores : {4, 8}) {
    CAPTURE(cores);
    std::string json = "[";
    for (int d = 0; d < 16; ++d) {
      std::string connected;
      for (const auto& [a, b] : torus()) {
        if (a != d && b != d) continue;
        connected += (connected.empty() ? "" : ", ") + std::to_string(a == d ? b : a);
      }
      json += (d == 0 ? "" : ",") + std::string("{\"neuron_device\": ") + std::to_string(d) +
              ", \"nc_count\": " + std::to_string(cores) +
              ", \"memory_size\": 103079215104, \"connected_to\": [" + connected + "]}";
    }
    std::ofstream(file) << json << "]";
    const topology::Instance i = io::read_neuron_ls(file, test_catalog(), "trn2.48xlarge");
    CHECK(i.name == (cores == 4 ? "trn2.48xlarge" : "trn2.48xlarge-lnc1"));
    CHECK(i.core.lnc == 8 / cores);
    CHECK(in_gibibytes(i.core.memory) == 96.0 / cores);
    CHECK(i.torus_rows == 4);
  }
  fs::remove(file);
}
