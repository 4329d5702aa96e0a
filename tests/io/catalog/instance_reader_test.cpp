#include "io/catalog/instance_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/catalog/catalog.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "tests/numbers.h"
#include "topology/chip_graph.h"
#include "topology/verdict.h"

using namespace trnplan;

namespace {

/// A made-up two-chip machine; `core` and `rest` may replace or add keys.
std::string machine(const std::string& bf16 = R"({"value": 95, "unit": "TFLOPS", "source": "s"})",
                    const std::string& links = R"({"value": [[0, 1]], "source": "s"})",
                    const std::string& rest = "") {
  return R"({"name": "toy", "family": "trn1",
    "traits": {"accelerator": "neuron_core", "rank_order": "columns_of_four", "groups": "torus_ring", "collectives": "neuron"},
    "chips": {"value": 2, "unit": "1"}, "cores_per_chip": {"value": 2},
    "host_memory": {"value": 1, "unit": "GiB"}, "remark": "kept for readers",
    "core": {"bf16": )" +
         bf16 + R"(, "fp32": {"value": 24, "unit": "TFLOPS"}, "array_rows": {"value": 128},
      "array_columns": {"value": 128}, "moving_free_max": {"value": 512}, "matmul_issue_cycles": {"value": 64, "unit": "cycles"},
      "tensor_clock": {"value": 2.8, "unit": "GHz"}, "vector_lanes": {"value": 128}, "vector_clock": {"value": 1120, "unit": "MHz"},
      "memory": {"value": 16, "unit": "GiB"}, "hbm_bandwidth": {"value": 410, "unit": "GiB/s"},
      "dma_bandwidth": {"value": 272, "unit": "GB/s"}},
    "link_bandwidth_per_direction": {"value": 48, "unit": "GiB/s"}, "links": )" +
         links + R"(,
    "nics": {"value": 1}, "nic_bandwidth": {"value": 100, "unit": "Gbit/s"}, "nic_of_chip": {"value": [0, 0]},
    "prices": [{"kind": "on_demand", "usd_per_hour": 21.5, "region": "us-east-1", "date": "2026-07-20"}])" +
         rest + "}";
}

std::string instance_problem(const std::string& json) {
  return refusal_of([&] { io::instance_from(parse_document(json, "toy.json")); });
}

}  // namespace

TEST_CASE("units are converted", "[io][catalog]") {
  const topology::Instance i = io::instance_from(parse_document(machine(), "toy.json"));
  CHECK(i.cores() == 4);
  CHECK(i.core.bf16.value == 95e12);
  CHECK(i.core.tensor_hertz == 2.8e9);
  CHECK(i.core.vector_hertz == 1.12e9);
  CHECK(i.core.memory.value == 16.0 * 1024 * 1024 * 1024);
  CHECK(i.core.hbm.value == 410.0 * 1024 * 1024 * 1024);
  CHECK(i.core.dma.value == 272e9);
  CHECK(i.nic.value == 12.5e9);
  CHECK(i.usd_per_hour() == 21.5);
  CHECK(i.links.size() == 1);
  CHECK(i.nic_of_chip == std::vector<int>{0, 0});
}

TEST_CASE("a damaged instance file is refused", "[io][catalog]") {
  CHECK(contains(instance_problem(machine(R"({"value": 95, "unit": "GiB"})")),
                 "core.bf16.unit: \"GiB\" is not a unit"));
  CHECK(contains(instance_problem(machine(R"({"value": 95})")), "not a unit"));
  CHECK(contains(instance_problem(machine(R"({"value": 0, "unit": "TFLOPS"})")), "core.bf16.value"));
  CHECK(contains(instance_problem(machine(R"({"value": -3, "unit": "TFLOPS"})")), "core.bf16.value"));
  CHECK(contains(instance_problem(machine("95")), "core.bf16"));
  CHECK(contains(instance_problem(machine("null")), "core.bf16: this key is missing"));
  const std::string ok = R"({"value": 95, "unit": "TFLOPS"})";
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0, 2]]})")), "not a number below 2"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0, 0]]})")), "itself"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0, 1], [1, 0]]})")), "twice"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0]]})")), "pair"));
  CHECK(contains(
      instance_problem(machine(ok, R"({"value": [[0, 1]]})", R"(, "torus": {"rows": 4, "columns": 4})")),
      "16"));
  for (const char* key : {"core", "chips", "name"}) CHECK(contains(instance_problem("{}"), key));
}

TEST_CASE("hosts have equal shares of a node", "[io][catalog]") {
  const std::string ok = R"({"value": 95, "unit": "TFLOPS"})", none = R"({"value": []})";
  const auto with = [&](const std::string& rest) { return machine(ok, none, rest); };
  const auto read = [&](const std::string& rest) {
    return io::instance_from(parse_document(with(rest), "toy.json"));
  };
  CHECK(read("").hosts == 1);
  CHECK(read("").ec2_type.empty());
  // 2 chips of 2 cores, 1 NIC of 4 devices on one host, 16 vCPUs: the NIC cannot be shared out.
  CHECK(contains(instance_problem(with(R"(, "hosts": {"value": 2})")),
                 "hosts: 2 hosts cannot have equal shares of nics, network_devices"));
  CHECK(contains(instance_problem(with(R"(, "hosts": 3, "vcpus": 16)")),
                 "of chips, nics, network_devices, vcpus"));
  CHECK(contains(instance_problem(with(R"(, "hosts": 0)")), "hosts"));
  CHECK(contains(instance_problem(with(R"(, "hosts": "2")")), "hosts"));
  CHECK(read(R"(, "ec2_type": {"value": "toy1.2xlarge", "source": "s"})").ec2_type == "toy1.2xlarge");
  CHECK(read(R"(, "ec2_type": "toy1.2xlarge")").ec2_type == "toy1.2xlarge");
  for (const char* wrong :
       {R"("toy")", R"("toy1.")", R"(".large")", R"("toy 1.large")", R"("Toy1.large")", R"("a.b.c")"})
    CHECK(contains(instance_problem(with(std::string(R"(, "ec2_type": )") + wrong)),
                   "is not an instance type of EC2"));
  CHECK(contains(instance_problem(with(R"(, "ec2_type": [1])")), "ec2_type: a text was expected"));
}

// Of all hosts: 64 chips, 256 cores, 64 EFA devices, 768 vCPUs, 8192 GiB (trn2-arch.rst). Of one of four: a quarter.
TEST_CASE("an UltraServer is four hosts of an EC2 type", "[io][catalog]") {
  const topology::Instance i = test_catalog().instance("trn2u-ultraserver");
  CHECK(i.hosts == 4);
  CHECK(i.ec2_type == "trn2u.48xlarge");
  CHECK(i.host_chips() == 16);
  CHECK(i.host_cores() == 64);
  CHECK(i.host_network_devices() == 16);
  CHECK(topology::Cluster{i, 3}.hosts() == 12);
  // Each host of the catalogue's numbers is the machine of one host: 192 vCPUs, 2048 GiB.
  const topology::Instance one = test_catalog().instance("trn2.48xlarge");
  CHECK(one.hosts == 1);
  CHECK(one.host_cores() == i.host_cores());
  CHECK(one.vcpus == i.vcpus / 4);
  CHECK(one.host_memory.value == i.host_memory.value / 4);
}

TEST_CASE("machines of EC2 say what EC2 calls them, others do not", "[io][catalog]") {
  for (const std::string& name : test_catalog().instances()) {
    INFO(name);
    const topology::Instance i = test_catalog().instance(name);
    // An entry that is called as EC2 spells types is that type, but for what stands behind a dash.
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos) CHECK(i.ec2_type == name.substr(0, name.find("-lnc")));
    if (dot == std::string::npos) CHECK((i.ec2_type.empty() || i.hosts > 1));
    CHECK(i.host_network_devices() * i.hosts == std::max(i.nics, i.network_devices));
  }
  CHECK(test_catalog().instance("trn3-gen1-ultraserver").hosts == 4);
  CHECK(test_catalog().instance("trn3-gen2-ultraserver").host_chips() == 4);  // 144 / 36
}

TEST_CASE("far links have a rate of their own", "[io][catalog]") {
  const std::string ok = R"({"value": 95, "unit": "TFLOPS"})", none = R"({"value": []})";
  const std::string far = R"(, "far_links": {"value": [[0, 1]]})";
  const std::string rate = R"(, "far_link_bandwidth_per_direction": {"value": 64, "unit": "GB/s"})";
  const auto i = io::instance_from(parse_document(machine(ok, none, far + rate), "toy.json"));
  REQUIRE(i.links.size() == 1);
  CHECK(i.rate_of(i.links[0]).value == 64e9);
  CHECK(contains(instance_problem(machine(ok, none, far)),
                 "far_link_bandwidth_per_direction: this key is missing"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[1, 0]]})", far + rate)),
                 "far_links: this link is listed twice"));
  CHECK(contains(instance_problem(machine(ok, none, rate + R"(, "far_links": {"value": [[0, 2]]})")),
                 "far_links: \"2\" is not a number below 2"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0, 3]]})", R"(, "switches": 1)")),
                 "not a number below 3"));
  CHECK(contains(instance_problem(machine(ok, none, R"(, "switches": -1)")), "switches"));
  CHECK(contains(instance_problem(machine(ok, none, R"(, "switches": 5000)")), "more than 4096"));
  CHECK(contains(instance_problem(machine(ok, none, R"(, "torus": {"rows": 2, "columns": 1, "depth": 2})")),
                 "rows times columns times depth is 4, chips is 2"));
}

// 8 chips of 2 cores on one switch (vertex 8), links of their own between 0 and 1 and between 2 and 3.
TEST_CASE("a switch needs data only", "[io][catalog]") {
  using namespace topology;
  const Cluster cluster{io::instance_from(read_document(std::filesystem::path(
                            TRNPLAN_SOURCE_DIR "/tests/io/fixtures/switch-8-chips.json"))),
                        1};
  const Instance& i = cluster.instance;
  CHECK(i.switches == 1);
  CHECK(i.rate_of(i.links.front()).value == 100e9);
  CHECK(i.rate_of(i.links.back()).value == 25e9);
  const ChipGraph g(i);
  std::vector<int> all(8);
  std::iota(all.begin(), all.end(), 0);
  for (const int a : all) {
    CHECK(g.neighbours(a).size() == 7);
    for (const int b : all) CHECK(g.hops(a, b) == (a == b ? 0 : 1));
  }
  CHECK(g.route(0, 7) == std::vector<int>{0, 8, 7});
  CHECK(g.route(2, 3) == std::vector<int>{2, 3});
  CHECK(g.ring(all) == all);
  CHECK(g.disjoint_rings(all).size() == 1);  // each chip has one port
  CHECK(draw_torus(i, {}).empty());
  // Whole chips form a ring whichever they are; a chip off the row of numbers is as near as any other.
  CHECK(judge(cluster, g, GroupKind::tensor, {0, 1, 4, 5, 10, 11}).verdict == Verdict::supported);
  CHECK(judge(cluster, g, GroupKind::data, {0, 14}).rule == "adjacent-pair");
  CHECK(judge(cluster, g, GroupKind::context, {0, 6, 2, 12}).verdict == Verdict::supported);
  CHECK(judge_all(cluster, g, RankOrder(cluster, {.tensor = 2, .data = 2, .pipeline = 4})).overall ==
        Verdict::supported);
}

// Published sums: 16 x 4 x 24 = 1,536 GiB of HBM, 64 x 158 = 10.1 PFLOPS (10.7 by the instance's page), 1,024
// GB/s of links per chip inside an instance and 256 GB/s between instances, counted in both directions.
TEST_CASE("the trn2 entries add up to what is published", "[io][catalog]") {
  for (const char* name : {"trn2.48xlarge", "trn2.48xlarge-lnc1", "trn2u-ultraserver"}) {
    CAPTURE(name);
    const topology::Instance i = test_catalog().instance(name);
    const int instances = i.chips / 16;
    CHECK(i.cores() == 128 * instances / i.core.lnc);
    CHECK(in_gibibytes(i.core.memory * i.cores()) == 1536.0 * instances);
    CHECK(close(i.core.bf16.value * i.cores(), 128 * instances * 79e12));
    CHECK(close(i.core.hbm.value * i.cores_per_chip, 2.9e12));
    CHECK(close(i.core.dma.value * i.cores_per_chip, 8 * 368e9));
    CHECK(close(i.nic.value * i.nics, instances * 3200e9 / 8));
    std::vector<double> near(static_cast<std::size_t>(i.chips)), far = near;
    for (const topology::Link& l : i.links) {
      auto& sums = l.per_direction.value > 0 ? far : near;
      for (const int chip : {l.chip_a, l.chip_b})
        sums[static_cast<std::size_t>(chip)] += 2 * i.rate_of(l).value;
    }
    for (const double sum : near) CHECK(close(sum, 1024e9));
    for (const double sum : far) CHECK(close(sum, instances > 1 ? 256e9 : 0));
  }
  CHECK(topology::ChipGraph(test_catalog().instance("trn2u-ultraserver")).ring({5, 21, 37, 53}));
}
