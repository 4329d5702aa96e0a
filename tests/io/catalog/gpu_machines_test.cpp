// The shipped machines with GPUs: each number has a source, and derived numbers follow from others.
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "io/catalog/instance_reader.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/numbers.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "topology/chip_graph.h"
#include "topology/verdict.h"

using namespace trnplan;
using namespace trnplan::topology;

namespace {

std::vector<Instance> gpu_machines() {
  std::vector<Instance> all;
  for (const std::string& name : test_catalog().instances()) {
    Instance i = test_catalog().instance(name);
    if (i.traits.accelerator == Accelerator::gpu) all.push_back(std::move(i));
  }
  return all;
}

/// Every map with a `value` says in which unit, of what kind and by whom.
void check_sources(const Node& node, const std::string& path) {
  if (node.is_map() && node.find("value") != nullptr) {
    CAPTURE(path);
    for (const char* key : {"unit", "kind", "source"}) {
      const Node* said = node.find(key);
      REQUIRE(said != nullptr);
      CHECK_FALSE(said->scalar.empty());
    }
    return;
  }
  for (const auto& entry : node.entries) check_sources(entry.value, path + "." + entry.key);
}

}  // namespace

TEST_CASE("numbers of GPU machines have unit, kind and source", "[io][catalog]") {
  for (const Instance& i : gpu_machines())
    check_sources(read_document(test_catalog().file("instances/" + i.name + ".json")), i.name);
}

TEST_CASE("GPU machines are eight chips around one switch, or four for each host of a rack",
          "[io][catalog]") {
  const std::vector<Instance> all = gpu_machines();
  CHECK(all.size() >= 11);
  for (const Instance& i : all) {
    CAPTURE(i.name);
    const int chips = i.hosts == 1 ? 8 : 4 * i.hosts;
    CHECK(i.cores() == chips);
    CHECK(i.switches == 1);
    CHECK(i.links.size() == static_cast<std::size_t>(chips));
    CHECK(i.traits.groups == GroupRule::any_group);
    CHECK(i.traits.collectives == CollectiveRuntime::nccl);
    CHECK(i.rails == i.nics);
    CHECK(i.core.watts > 0);
    CHECK(i.core.multiprocessors > 0);
    // What the library counts the links for is below what they carry.
    CHECK(i.link_for_collectives.value > 0);
    CHECK(i.link_for_collectives < i.link_per_direction);
    CHECK(i.ll_bandwidths.size() == 3);
    for (const BytesPerSecond ll : i.ll_bandwidths) CHECK(ll < i.link_for_collectives);
    CHECK(i.in_switch_efficiency <= 1);
    CHECK(draw_switch(i).empty() == (chips > 16));  // wider than a line
    const Cluster two{i, 2};
    const ChipGraph graph(i);
    CHECK(judge(two, graph, GroupKind::data, {0, chips}).verdict == Verdict::supported);
  }
}

// EC2's network of a node in Gbit/s (aws/karpenter-provider-aws@1d927085 zz_generated.bandwidth.go), however many
// devices share a GPU; and the FP8 peak, which is twice the BF16 one from sm90 on and absent on A100.
TEST_CASE("the network of EC2's GPU instances adds up", "[io][catalog]") {
  const std::pair<const char*, double> gbit[] = {{"p4d.24xlarge", 400},      {"p4de.24xlarge", 400},
                                                 {"p5.48xlarge", 3200},      {"p5e.48xlarge", 3200},
                                                 {"p5en.48xlarge", 3200},    {"p6-b200.48xlarge", 3200},
                                                 {"p6-b300.48xlarge", 6400}, {"u-p6e-gb200x72", 28800}};
  for (const auto& [name, network] : gbit) {
    CAPTURE(name);
    const Instance i = test_catalog().instance(name);
    CHECK(close(i.nics * i.nic.value, network * 1e9 / 8, 1e-6));
    CHECK(i.network_latency.value > 0);
    CHECK(i.usd_per_hour() > 0);
    if (i.core.fp8.value > 0) CHECK(std::abs(i.core.fp8.value / i.core.bf16.value - 2) < 1e-3);
    CHECK((i.core.fp8.value > 0) == i.traits.in_switch_reduction);
  }
  CHECK(test_catalog().instance("p4d.24xlarge").nic_of_chip == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
}

// What the library counts is read with the file's place of every fault.
TEST_CASE("rates of collectives that are none are refused", "[io][catalog]") {
  const std::string text = read_text(test_catalog().file("instances/p5.48xlarge.json"));
  const auto fault_of = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t place = changed.find(from);
    REQUIRE(place != std::string::npos);
    changed.replace(place, from.size(), to);
    try {
      (void)io::instance_from(parse_document(changed, "mine.json"));
    } catch (const InputError& e) {
      return e.faults().front().key + ": " + e.faults().front().problem;
    }
    return std::string();
  };
  const std::string rates = "[141.0, 45.0, 35.0]";
  CHECK(fault_of(rates, rates).empty());
  CHECK(fault_of(rates, "[141.0, 45.0]") == "ll_bandwidths: 2 rates instead of three");
  CHECK(fault_of(rates, "[141.0, -45.0, 35.0]") == "ll_bandwidths: \"-45.0\" is not a rate in GB/s");
  CHECK(fault_of(rates, "[141.0, \"nan\", 35.0]") == "ll_bandwidths: \"nan\" is not a rate in GB/s");
  CHECK(fault_of(rates, "[1e300, 45.0, 35.0]") == "ll_bandwidths: \"1e300\" is not a rate in GB/s");
  CHECK(fault_of("\"value\": 0.85", "\"value\": 1.85") == "in_switch_efficiency: a share above 1");
  CHECK_FALSE(fault_of("\"value\": 0.85", "\"value\": 0").empty());
}

TEST_CASE("a switch is drawn with its chips, NICs and rails", "[topology]") {
  CHECK(draw_switch(test_catalog().instance("p4d.24xlarge")) ==
        "           =============== switch ===============\n"
        "            |    |    |    |    |    |    |    |    300.0 GB/s each way\n"
        "  GPU       0    1    2    3    4    5    6    7\n"
        "            |    |    |    |    |    |    |    |    100 Gbit/s each way, a NIC\n"
        "  NIC       0    0    1    1    2    2    3    3\n"
        "  rail      0    0    1    1    2    2    3    3    of the network between nodes\n");
  // Nothing but chips around one switch is drawn so.
  CHECK(draw_switch(test_catalog().instance("trn1.32xlarge")).empty());
  Instance i = test_catalog().instance("p4d.24xlarge");
  i.links.pop_back();
  CHECK(draw_switch(i).empty());
}

// A config whose nodes run eight ranks says nothing of GPUs: it is no Neuron type that is known.
TEST_CASE("a type is guessed among those of the default's kind", "[io][catalog]") {
  CHECK(test_catalog().instance_of_ranks(8, true).empty());
  CHECK(test_catalog().instance_of_ranks(32, true) == "trn1.32xlarge");
}
