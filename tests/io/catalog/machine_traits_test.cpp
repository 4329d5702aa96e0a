// Machines are asked by traits: another instance of a known kind is one file, and a second kind answers through
// the same interface.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "io/catalog/catalog.h"
#include "io/catalog/instance_reader.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "topology/verdict.h"

using namespace trnplan;
using namespace trnplan::topology;
namespace fs = std::filesystem;

namespace {

/// The shipped catalogue with files added to it; gone with the object.
class Extended {
 public:
  Extended() : folder_(fs::temp_directory_path() / ("trnplan-traits-" + std::to_string(getpid()))) {
    fs::copy(TRNPLAN_SOURCE_DIR "/catalog", folder_, fs::copy_options::recursive);
  }
  ~Extended() { fs::remove_all(folder_); }

  void add(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / "instances" / (name + ".json")) << text;
  }
  io::Catalog catalog() const { return io::Catalog(folder_); }

 private:
  fs::path folder_;
};

const char* const kGpus = TRNPLAN_SOURCE_DIR "/tests/io/fixtures/gpu-8-switch.json";

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

}  // namespace

TEST_CASE("a switch of gpus is one file", "[io][catalog]") {
  const Extended extended;
  extended.add("gpu-8-switch", read_text(fs::path(kGpus)));
  const Instance gpus = extended.catalog().instance("gpu-8-switch");
  CHECK(extended.catalog().instances().size() == test_catalog().instances().size() + 1);
  CHECK(gpus.traits.accelerator == Accelerator::gpu);
  CHECK(gpus.traits.collectives == CollectiveRuntime::nccl);
  CHECK_FALSE(gpus.traits.step_time);
  CHECK(gpus.core.array_rows == 0);  // a gpu states no array of a NeuronCore

  const Cluster cluster{gpus, 2};
  const ChipGraph graph(gpus);
  for (const Degrees d : {Degrees{.tensor = 4, .data = 4}, Degrees{.tensor = 8, .data = 2},
                          Degrees{.tensor = 2, .context = 2, .data = 2, .pipeline = 2}, Degrees{.tensor = 16},
                          Degrees{.tensor = 1, .context = 8, .pipeline = 2}}) {
    CAPTURE(d.tensor);
    const RankOrder order(cluster, d);
    int next = 0;  // row-major: TP fastest, then CP, DP, PP; no column order at TP 4
    for (int p = 0; p < d.pipeline; ++p) {
      for (int i = 0; i < d.data; ++i) {
        for (int c = 0; c < d.context; ++c) {
          for (int t = 0; t < d.tensor; ++t) CHECK(order.rank(p, i, c, t) == next++);
        }
      }
    }
    const PlacementVerdict verdict = judge_all(cluster, graph, order);
    CHECK(verdict.overall == Verdict::supported);
    CHECK_FALSE(verdict.offending);
  }
  // Three of eight devices are no group on a torus; here they are one.
  CHECK(judge(cluster, graph, GroupKind::tensor, {0, 3, 5}).rule == "switch");

  Cluster apart = cluster;
  apart.instance.nics = 0;
  CHECK(judge(apart, graph, GroupKind::data, {0, 8}).verdict == Verdict::refused);
}

TEST_CASE("another instance of a known kind is one file", "[io][catalog]") {
  const Extended extended;
  const std::string text = read_text(test_catalog().file("instances/trn1.32xlarge.json"));
  extended.add("other", replaced(replaced(text, "\"trn1.32xlarge\"", "\"other\""), "\"family\": \"trn1\"",
                                 "\"family\": \"nothing known\""));
  const Instance known = test_catalog().instance("trn1.32xlarge"),
                 other = extended.catalog().instance("other");
  CHECK(other.traits == known.traits);
  const Degrees degrees{.tensor = 4, .data = 8};
  CHECK(RankOrder({other, 1}, degrees).column_order());
  CHECK(RankOrder({other, 1}, degrees).groups(GroupKind::tensor) ==
        RankOrder({known, 1}, degrees).groups(GroupKind::tensor));
}

TEST_CASE("traits are read strictly", "[io][catalog]") {
  const std::string text = read_text(fs::path(kGpus));
  const auto problem = [](const std::string& json) {
    return refusal_of([&] { io::instance_from(parse_document(json, "gpu.json")); });
  };
  CHECK(problem(text).empty());
  CHECK(contains(problem(replaced(text, "any_group", "any_grup")), "traits.groups"));
  CHECK(contains(problem(replaced(text, "any_group", "any_grup")), "logic2_mesh"));
  CHECK(contains(problem(replaced(text, "\"rank_order\"", "\"rank_oder\"")), "rank_order"));
  CHECK(contains(problem(replaced(text, "\"traits\"", "\"trait\"")), "traits: this key is missing"));
  // What computes in NeuronCores states their array.
  CHECK(contains(problem(replaced(text, "\"gpu\"", "\"neuron_core\"")), "array_rows"));
}

// "instance: any" means the types whose step time is modelled, by what their files say.
TEST_CASE("the shipped machines on which a step is timed", "[io][catalog]") {
  std::vector<std::string> timed;
  for (const std::string& name : test_catalog().instances()) {
    if (test_catalog().instance(name).traits.step_time) timed.push_back(name);
  }
  CHECK(timed == std::vector<std::string>{"trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge"});
}
