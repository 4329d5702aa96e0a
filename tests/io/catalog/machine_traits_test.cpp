// Machines are described by traits: another instance of a known kind is one file, and a second kind answers
// through the same interface.
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

// "instance: any" means those of the usual type's family.
TEST_CASE("the shipped machines on which a step is timed", "[io][catalog]") {
  int untimed = 0;
  for (const std::string& name : test_catalog().instances()) {
    CAPTURE(name);
    const topology::Instance type = test_catalog().instance(name);
    CHECK(type.traits.step_time == type.untimed.empty());
    if (!type.traits.step_time) {
      ++untimed;
      CHECK(type.traits.groups == GroupRule::not_published);
      continue;
    }
    // A machine that is timed has a profile of its family.
    CHECK_NOTHROW(test_catalog().profile(type.family));
  }
  CHECK(untimed == 2);  // the two UltraServers of Trainium3
}

TEST_CASE("where no list of groups is published, what leaves a chip is refused", "[io][catalog]") {
  for (const auto& [name, chips, servers] :
       {std::tuple("trn3-gen1-ultraserver", 64, 4), std::tuple("trn3-gen2-ultraserver", 144, 36)}) {
    CAPTURE(name);
    const Instance type = test_catalog().instance(name);
    CHECK(type.chips == chips);
    CHECK(type.cores() == 4 * chips);
    // Per chip as published (aws-neuron/aws-neuron-sdk@81ce03ae about-neuron/arch/neuron-hardware/trainium3.rst,
    // neuron-core-v4.rst): 144 GiB; 4.9 TB/s; 8 cores of 79 TFLOPS.
    CHECK(in_gibibytes(type.core.memory) * 4 == Approx(144));
    CHECK(type.core.hbm.value * 4 == Approx(4.9e12));
    CHECK(type.core.bf16.value * 4 == Approx(8 * 79e12));
    // 4, 5 and 2 lanes of 64 GB/s a direction; those to the other rack join no vertex.
    CHECK(type.switches == servers + 1);
    CHECK(type.links.size() == static_cast<std::size_t>(2 * chips));
    CHECK(type.link_per_direction.value == Approx(4 * 64e9));
    CHECK(type.links.back().per_direction.value == Approx(5 * 64e9));

    const Cluster cluster{type, 2};
    const ChipGraph graph(type);
    CHECK(judge(cluster, graph, GroupKind::tensor, {5}).verdict == Verdict::supported);
    CHECK(judge(cluster, graph, GroupKind::tensor, {4, 5, 6, 7}).verdict == Verdict::supported);
    const GroupVerdict pair = judge(cluster, graph, GroupKind::tensor, {0, 4});
    CHECK(pair.verdict == Verdict::refused);
    CHECK(pair.rule == "not-published");
    CHECK(judge(cluster, graph, GroupKind::data, {0, type.cores()}).verdict == Verdict::refused);
  }
}
