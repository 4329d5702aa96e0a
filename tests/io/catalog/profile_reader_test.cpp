#include "io/catalog/profile_reader.h"

#include <limits>

#include "io/catalog/catalog.h"
#include "io/output/profile_json.h"
#include "models/collective/neuron_parameters.h"
#include "models/schemas/schemas.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

std::string profile_json(const std::string& skip = "", const std::string& replaced = "",
                         const std::string& by = "", const std::string& more = "") {
  std::string json = R"({"name": "p", "description": "d", "parameters": {)" + more;
  bool first = more.empty();
  for (const models::Parameter p : models::schema_named("neuron")->parameters()) {
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
  return refusal_of([&] { io::profile_from(parse_document(json, "p.json")); });
}

}  // namespace

TEST_CASE("a profile says which schema it fills, or means that of NeuronCores", "[io][catalog]") {
  const auto with = [](const std::string& schema) {
    std::string json = profile_json();
    return json.insert(1, "\"schema\": \"" + schema + "\", ");
  };
  CHECK(io::profile_from(parse_document(profile_json(), "p.json")).schema == models::schema_named("neuron"));
  CHECK(io::profile_from(parse_document(with("neuron"), "p.json")).schema == models::schema_named("neuron"));
  CHECK(contains(profile_problem(with("abacus")), "schema: \"abacus\" is not a schema"));
}

TEST_CASE("a profile states every parameter in its unit", "[io][catalog]") {
  const models::Profile p = io::profile_from(parse_document(profile_json(), "p.json"));
  CHECK(p.name == "p");
  CHECK(p[models::neuron::link_fraction] == 0.5);
  CHECK(p.value(models::neuron::link_fraction).log_sd == 0.1);
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
  // Reported: a share of a rate in percent was taken, and a latency of a day.
  CHECK(contains(with(R"({"median": 86400, "log_sd": 0, "unit": "s"})"), "median"));
  CHECK(contains(
      profile_problem(profile_json("", "link_fraction", R"({"median": 77, "log_sd": 0, "unit": "1"})")),
      "median"));
  CHECK(contains(profile_problem(profile_json("", "", "", R"("hop_latencies": 1)")),
                 "did you mean \"hop_latency\""));
  CHECK(contains(profile_problem("{}"), "parameters: this key is missing"));
  CHECK(contains(profile_problem("{}"), "algorithms: this key is missing"));
  CHECK(p.algorithms.mesh_below.value == 16 * 1024);
  CHECK(p.algorithms.halving_below.value == 0);
  CHECK(p.algorithms.flat_ring_from.value == std::numeric_limits<double>::infinity());
}

TEST_CASE("a profile may build on another", "[io][catalog]") {
  const auto read = [&](const std::string& json) {
    return io::profile_from(parse_document(json, "p.json"), &test_catalog());
  };
  const models::Profile base = test_catalog().profile("trn1-datasheet");
  const models::Profile p = read(R"({"name": "p", "base": "trn1-datasheet", "parameters": {
    "hop_latency": {"median": 7e-6, "log_sd": 0.1, "unit": "s", "source": "here"}}})");
  CHECK(p[models::neuron::hop_latency] == 7e-6);
  CHECK(p[models::neuron::link_fraction] == base[models::neuron::link_fraction]);
  CHECK(p.algorithms.mesh_below == base.algorithms.mesh_below);
  CHECK(p.base == "trn1-datasheet");
  CHECK(base.base == "trn1-datasheet");
  CHECK(p.instance == "trn1");
  CHECK(read(R"({"name": "p", "base": "trn1-datasheet", "instance": "trn2.48xlarge", "parameters": {}})")
            .instance == "trn2.48xlarge");
  const auto fault = [&](const std::string& json) { return refusal_of([&] { read(json); }); };
  CHECK(contains(fault(R"({"name": "p", "base": "trn1-datasheat", "parameters": {}})"),
                 "did you mean \"trn1-datasheet\""));
  CHECK(contains(fault("{\"name\": \"p\",\n \"base\": \"nothing\", \"parameters\": {}}"),
                 "p.json:2:10: base: unknown"));
  CHECK(contains(profile_problem(R"({"name": "p", "base": "trn1-datasheet", "parameters": {}})"),
                 "base: there is no catalogue"));
}

TEST_CASE("a profile may have factors of frameworks and clusters", "[io][catalog]") {
  const auto with = [](const std::string& factors) {
    std::string json = profile_json();
    json.insert(1, R"("factors": )" + factors + ", ");
    return json;
  };
  const models::Profile p = io::profile_from(parse_document(
      with(
          R"([{"framework": "nxd", "parameters": {"hop_latency": {"median": 1e-6, "log_sd": 0, "unit": "s"}}},
               {"cluster": "c", "network_state": {"usual_gb_per_s": 180, "power": 0.5,
                "congested_below_gb_per_s": [300, 150], "call_per_rank_s": 0.001, "step_log_sd_per_doubling": 0.02}}])"),
      "p.json"));
  REQUIRE(p.factors);
  REQUIRE(p.factors->size() == 2);
  CHECK((*p.factors)[0].framework == "nxd");
  CHECK((*p.factors)[0].values.size() == 1);
  CHECK((*p.factors)[1].network.usual.value == 180e9);
  CHECK((*p.factors)[1].network.congested_below.size() == 2);
  CHECK((*p.factors)[1].network.step_spread == 0.02);
  const auto fault = [&](const std::string& factors) { return profile_problem(with(factors)); };
  CHECK(contains(fault(R"([{"parameters": {"hop_latenzy": 1}}])"), "unknown key"));
  CHECK(contains(fault(R"([{"network_state": {"usual_gb_per_s": 0}}])"), "usual_gb_per_s"));
  CHECK(contains(fault(R"([{"network_state": {"usual_gb_per_s": 1, "congested_below_gb_per_s": ["x"]}}])"),
                 "each is a rate"));
  CHECK(contains(fault(R"([{"frameworks": "nxd"}])"), "framework"));
  const auto slow = [&](const std::string& rates) {
    return R"([{"slow_network": {"probability": 0.2, "usual_gb_per_s": 180, "power": 0.5,
               "all_reduce_gb_per_s": )" +
           rates + "}}]";
  };
  const models::Profile q = io::profile_from(parse_document(with(slow("[300, 150]")), "p.json"));
  REQUIRE((*q.factors)[0].slow);
  CHECK((*q.factors)[0].slow->all_reduce.back().value == 150e9);
  CHECK(contains(fault(slow("[150, 300]")), "none above the one before it"));
  CHECK(contains(fault(slow("[]")), "no rates"));
  CHECK(contains(fault(slow("[3, 0]")), "above 0"));
  CHECK(contains(fault(R"([{"slow_network": {"probability": 0.95}}])"), "probability"));
}

// What a learnt profile loses when it is written: without its slow state a network looks surer than it is.
TEST_CASE("factors of the catalogue's profiles are the same after they were written", "[io]") {
  int laws = 0, slow = 0;
  for (const char* name : {"a100", "a100-composed", "h100", "b200"}) {
    CAPTURE(name);
    const models::Profile p = test_catalog().profile(name);
    REQUIRE(p.factors);
    const std::string text = io::profile_json(p, std::nullopt, p.schema->parameters(), "", "");
    const models::Profile read = io::profile_from(parse_document(text, "p.json"), &test_catalog());
    REQUIRE(read.factors);
    REQUIRE(read.factors->size() == p.factors->size());
    for (std::size_t i = 0; i < p.factors->size(); ++i) {
      const models::Factors &was = (*p.factors)[i], &is = (*read.factors)[i];
      CHECK(is.framework == was.framework);
      CHECK(is.cluster == was.cluster);
      REQUIRE(is.values.size() == was.values.size());
      for (std::size_t k = 0; k < was.values.size(); ++k) {
        CHECK(is.values[k].first == was.values[k].first);
        CHECK(is.values[k].second.median == was.values[k].second.median);
        CHECK(is.values[k].second.log_sd == was.values[k].second.log_sd);
      }
      const models::NetworkState &law = was.network, &law_is = is.network;
      CHECK(law_is.usual == law.usual);
      CHECK(law_is.power == (law.usual.value > 0 ? law.power : 0));
      CHECK(law_is.step_spread == law.step_spread);
      CHECK(law_is.call_per_rank == law.call_per_rank);
      CHECK(law_is.congested_below == law.congested_below);
      laws += law.usual.value > 0 ? 1 : 0;
      REQUIRE(is.slow.has_value() == was.slow.has_value());
      if (!was.slow) continue;
      ++slow;
      CHECK(is.slow->probability == was.slow->probability);
      CHECK(is.slow->usual == was.slow->usual);
      CHECK(is.slow->power == was.slow->power);
      CHECK(is.slow->all_reduce == was.slow->all_reduce);
    }
  }
  CHECK(laws >= 1);
  CHECK(slow >= 3);
}
