#include "io/catalog.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "tests/catch.h"
#include "topology/chip_graph.h"
#include "topology/verdict.h"

using namespace trnplan;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const char* const folder = TRNPLAN_SOURCE_DIR "/catalog";

/// A made-up two-chip machine; `core` and `rest` may replace or add keys.
std::string machine(const std::string& bf16 = R"({"value": 95, "unit": "TFLOPS", "source": "s"})",
                    const std::string& links = R"({"value": [[0, 1]], "source": "s"})",
                    const std::string& rest = "") {
  return R"({"name": "toy", "family": "trn1", "chips": {"value": 2, "unit": "1"}, "cores_per_chip": {"value": 2},
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

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::abs(b);
}

template <class Read>
std::string problem(const Read& read) {
  try {
    read();
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

std::string instance_problem(const std::string& json) {
  return problem([&] { io::instance_from(io::parse_document(json, "toy.json")); });
}

std::string profile_json(const std::string& skip = "", const std::string& replaced = "",
                         const std::string& by = "", const std::string& more = "") {
  std::string json = R"({"name": "p", "description": "d", "parameters": {)" + more;
  bool first = more.empty();
  for (std::size_t i = 0; i < static_cast<std::size_t>(models::Parameter::count); ++i) {
    const auto p = static_cast<models::Parameter>(i);
    const std::string key(models::to_string(p));
    if (key == skip) continue;
    const std::string value = key == replaced ? by
                                              : R"({"median": 0.5, "log_sd": 0.1, "source": "s", "unit": ")" +
                                                    std::string(models::unit_of(p)) + "\"}";
    json += (first ? "" : ", ") + ('"' + key + "\": ") + value;
    first = false;
  }
  return json + R"(}, "algorithms": {"mesh_below": {"value": 16, "unit": "KiB"}}})";
}

std::string profile_problem(const std::string& json) {
  return problem([&] { io::profile_from(io::parse_document(json, "p.json")); });
}

}  // namespace

TEST_CASE("units are converted", "[io][catalog]") {
  const topology::Instance i = io::instance_from(io::parse_document(machine(), "toy.json"));
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
                 "core.bf16.unit: \"GiB\" is no unit"));
  CHECK(contains(instance_problem(machine(R"({"value": 95})")), "no unit"));
  CHECK(contains(instance_problem(machine(R"({"value": 0, "unit": "TFLOPS"})")), "core.bf16.value"));
  CHECK(contains(instance_problem(machine(R"({"value": -3, "unit": "TFLOPS"})")), "core.bf16.value"));
  CHECK(contains(instance_problem(machine("95")), "core.bf16"));
  CHECK(contains(instance_problem(machine("null")), "core.bf16: this key is missing"));
  const std::string ok = R"({"value": 95, "unit": "TFLOPS"})";
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0, 2]]})")), "no number below 2"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0, 0]]})")), "itself"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0, 1], [1, 0]]})")), "twice"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0]]})")), "pair"));
  CHECK(contains(
      instance_problem(machine(ok, R"({"value": [[0, 1]]})", R"(, "torus": {"rows": 4, "columns": 4})")),
      "16"));
  for (const char* key : {"core", "chips", "name"}) CHECK(contains(instance_problem("{}"), key));
}

TEST_CASE("far links have a rate of their own", "[io][catalog]") {
  const std::string ok = R"({"value": 95, "unit": "TFLOPS"})", none = R"({"value": []})";
  const std::string far = R"(, "far_links": {"value": [[0, 1]]})";
  const std::string rate = R"(, "far_link_bandwidth_per_direction": {"value": 64, "unit": "GB/s"})";
  const auto i = io::instance_from(io::parse_document(machine(ok, none, far + rate), "toy.json"));
  REQUIRE(i.links.size() == 1);
  CHECK(i.rate_of(i.links[0]).value == 64e9);
  CHECK(contains(instance_problem(machine(ok, none, far)),
                 "far_link_bandwidth_per_direction: this key is missing"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[1, 0]]})", far + rate)),
                 "far_links: this link is listed twice"));
  CHECK(contains(instance_problem(machine(ok, none, rate + R"(, "far_links": {"value": [[0, 2]]})")),
                 "far_links: \"2\" is no number below 2"));
  CHECK(contains(instance_problem(machine(ok, R"({"value": [[0, 3]]})", R"(, "switches": 1)")),
                 "no number below 3"));
  CHECK(contains(instance_problem(machine(ok, none, R"(, "switches": -1)")), "switches"));
  CHECK(contains(instance_problem(machine(ok, none, R"(, "switches": 5000)")), "more than 4096"));
  CHECK(contains(instance_problem(machine(ok, none, R"(, "torus": {"rows": 2, "columns": 1, "depth": 2})")),
                 "rows times columns times depth is 4, chips is 2"));
}

// 8 chips of 2 cores on one switch (vertex 8), links of their own between 0 and 1 and between 2 and 3.
TEST_CASE("a switch needs data only", "[io][catalog]") {
  using namespace topology;
  const Cluster cluster{io::instance_from(io::read_document(std::filesystem::path(
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
// GB/s of links a chip inside an instance and 256 GB/s between instances, counted both ways.
TEST_CASE("the trn2 entries add up to what is published", "[io][catalog]") {
  const io::Catalog catalog(folder);
  for (const char* name : {"trn2.48xlarge", "trn2.48xlarge-lnc1", "trn2u-ultraserver"}) {
    CAPTURE(name);
    const topology::Instance i = catalog.instance(name);
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
  CHECK(topology::ChipGraph(catalog.instance("trn2u-ultraserver")).ring({5, 21, 37, 53}));
}

TEST_CASE("a profile states every parameter in its unit", "[io][catalog]") {
  const models::Profile p = io::profile_from(io::parse_document(profile_json(), "p.json"));
  CHECK(p.name == "p");
  CHECK(p[models::Parameter::link_fraction] == 0.5);
  CHECK(p.value(models::Parameter::link_fraction).log_sd == 0.1);
  CHECK(contains(profile_problem(profile_json("hop_latency")),
                 "parameters.hop_latency: this parameter is missing"));
  const auto with = [](const char* by) { return profile_problem(profile_json("", "hop_latency", by)); };
  CHECK(contains(with(R"({"median": 1, "log_sd": 0, "unit": "us"})"), "unit"));
  CHECK(contains(with(R"({"median": 0, "log_sd": 0, "unit": "s"})"), "median"));
  CHECK(contains(with(R"({"median": -1, "log_sd": 0, "unit": "s"})"), "median"));
  CHECK(contains(with(R"({"median": 1e400, "log_sd": 0, "unit": "s"})"), "JSON"));
  CHECK(contains(with(R"({"median": 1, "log_sd": -0.1, "unit": "s"})"), "log_sd"));
  CHECK(contains(with(R"({"median": 1, "log_sd": 0.1, "unit": "s", "meadian": 2})"), "unknown key"));
  CHECK(with(R"({"median": 1e-7, "log_sd": 0, "unit": "s"})").empty());
  CHECK(contains(profile_problem(profile_json("", "", "", R"("hop_latencies": 1)")),
                 "did you mean \"hop_latency\""));
  CHECK(contains(profile_problem("{}"), "parameters: this key is missing"));
  CHECK(contains(profile_problem("{}"), "algorithms: this key is missing"));
  CHECK(p.algorithms.mesh_below.value == 16 * 1024);
  CHECK(p.algorithms.halving_below.value == 0);
  CHECK(p.algorithms.flat_ring_from.value == std::numeric_limits<double>::infinity());
}

TEST_CASE("a profile may build on another", "[io][catalog]") {
  const io::Catalog catalog(folder);
  const auto read = [&](const std::string& json) {
    return io::profile_from(io::parse_document(json, "p.json"), &catalog);
  };
  const models::Profile base = catalog.profile("trn1-datasheet");
  const models::Profile p = read(R"({"name": "p", "base": "trn1-datasheet", "parameters": {
    "hop_latency": {"median": 7e-6, "log_sd": 0.1, "unit": "s", "source": "here"}}})");
  CHECK(p[models::Parameter::hop_latency] == 7e-6);
  CHECK(p[models::Parameter::link_fraction] == base[models::Parameter::link_fraction]);
  CHECK(p.algorithms.mesh_below == base.algorithms.mesh_below);
  CHECK(p.base == "trn1-datasheet");
  CHECK(base.base == "trn1-datasheet");
  CHECK(p.instance == "trn1");
  CHECK(read(R"({"name": "p", "base": "trn1-datasheet", "instance": "trn2.48xlarge", "parameters": {}})")
            .instance == "trn2.48xlarge");
  const auto fault = [&](const std::string& json) { return problem([&] { read(json); }); };
  CHECK(contains(fault(R"({"name": "p", "base": "trn1-datasheat", "parameters": {}})"),
                 "did you mean \"trn1-datasheet\""));
  CHECK(contains(fault("{\"name\": \"p\",\n \"base\": \"nothing\", \"parameters\": {}}"),
                 "p.json:2:10: base: unknown"));
  CHECK(contains(profile_problem(R"({"name": "p", "base": "trn1-datasheet", "parameters": {}})"),
                 "base: there is no catalogue"));
}

TEST_CASE("the catalogue's own files read without fault", "[io][catalog]") {
  const io::Catalog catalog(folder);
  const auto instances = catalog.instances();
  REQUIRE(std::find(instances.begin(), instances.end(), "trn1.32xlarge") != instances.end());
  for (const std::string& name : instances) {
    CAPTURE(name);
    CHECK(catalog.instance(name).name == name);
  }
  for (const std::string& name : catalog.models()) {
    CAPTURE(name);
    CHECK(catalog.architecture(name).name == name);
  }
  CHECK(catalog.instance("trn1.32xlarge").cores() == 32);
  CHECK(models::parameters(catalog.architecture("llama3-8b")) == 8'030'261'248);
  CHECK(models::parameters(catalog.architecture("mixtral-8x7b")) == 46'702'792'704);
}

TEST_CASE("unknown and hostile names", "[io][catalog]") {
  const io::Catalog catalog(folder);
  CHECK(contains(problem([&] { catalog.instance("trn1.32xlage"); }), "did you mean \"trn1.32xlarge\""));
  CHECK(contains(problem([&] { catalog.architecture("gpt-5"); }), "unknown model"));
  for (const char* name : {"", "..", "../models/llama3-8b", "/etc/passwd", "a/b", "a\\b", "\x1b[0m"}) {
    CAPTURE(name);
    CHECK_FALSE(problem([&] { catalog.instance(name); }).empty());
    CHECK_FALSE(problem([&] { catalog.profile(name); }).empty());
  }
  const io::Catalog nowhere("/nonexistent");
  CHECK(nowhere.models().empty());
  CHECK_FALSE(problem([&] { nowhere.instance("trn1.32xlarge"); }).empty());
}

TEST_CASE("TRNPLAN_CATALOG chooses the folder", "[io][catalog]") {
  setenv("TRNPLAN_CATALOG", folder, 1);
  CHECK(io::Catalog::standard().folder().string() == folder);
  setenv("TRNPLAN_CATALOG", "/nonexistent", 1);
  CHECK(contains(problem([] { io::Catalog::standard(); }), "TRNPLAN_CATALOG"));
  unsetenv("TRNPLAN_CATALOG");
}
