// Steps on machines that are not ideal: classes of columns do the same as every core for itself, and the timeline
// shows them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/framework/framework.h"
#include "models/framework/strategy_words.h"
#include "models/memory/memory.h"
#include "models/step/step.h"
#include "models/step/timeline.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "tests/property/sample.h"
#include "tests/seeds.h"
#include "units/sim_time.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// Up to three nodes or cores of a cluster that are slow, have a part of their network or links, or start late;
/// perhaps a part of the network between all nodes.
Scenario random_scenario(boost::random::mt19937& random, const topology::Cluster& cluster) {
  const auto below = [&](int n) { return boost::random::uniform_int_distribution<int>(0, n - 1)(random); };
  Scenario scenario;
  const int cores = cluster.instance.cores();
  for (int i = below(3); i >= 0; --i) {
    const double factor = 1 + 0.1 * (1 + below(5));
    const int kind = below(8), node = below(cluster.nodes);
    if (kind < 3) {
      scenario.slow.push_back({node * cores, cores, factor});
    } else if (kind < 5) {
      scenario.slow.push_back({below(cluster.cores()), 1 + below(2), factor});
    } else if (kind == 5) {
      scenario.nodes.push_back({node, {.network = 1 - 0.125 * (1 + below(6))}});
    } else if (kind == 6) {
      scenario.nodes.push_back({node, {.links = 1 / factor}});
    } else {
      scenario.nodes.push_back({node, {.late = Seconds(factor)}});
    }
  }
  if (below(6) == 0) scenario.spine = 0.5;
  if (below(4) == 0) scenario.random = {0.05, 2, static_cast<std::uint64_t>(below(100))};
  return scenario;
}

/// Ticks by which ends may differ where one flow stands for several: each change of a flow's rate may add one
/// (sim/executor.h), and a step of the suite's jobs has few that decide.
constexpr std::int64_t kRounded = 8;

void check_classes(const Job& job, const Strategy& s, const Profile& profile, const Scenario& scenario) {
  const topology::ChipGraph graph(job.cluster.instance);
  const StepModel model(job, s, profile, graph);
  const StepReport classes = model.simulate({.scenario = scenario});
  const StepReport flat = model.simulate({.flat = true, .scenario = scenario});
  CHECK(std::abs((to_sim_time(flat.step) - to_sim_time(classes.step)).ps) <= kRounded);
  CHECK(model.simulate({.unfolded = true, .scenario = scenario}).step == classes.step);
  const StepReport expanded = model.simulate({.expand = true, .scenario = scenario});
  CHECK(expanded.step == classes.step);
  for (std::size_t i = 0; i < classes.breakdown.size(); ++i)
    CHECK(expanded.breakdown[i].value == Approx(classes.breakdown[i].value).epsilon(1e-9).margin(1e-9));
  Seconds sum{};
  for (const Seconds part : classes.breakdown) sum += part;
  CHECK(sum.value == Approx(classes.step.value).epsilon(1e-9));
}

/// The timeline ends with the step. Every drawn lane has each listed pass once, in turn, and what the memory
/// model says at its peak. Passes of remembered and of expanded operators look the same. One sample in two
/// asks for few slices, so that most micro-batches are not listed.
void check_timeline(const Job& job, const Strategy& s, const Profile& profile, const Scenario& scenario,
                    bool few) {
  const StepModel model(job, s, profile, topology::ChipGraph(job.cluster.instance));
  const int run = scenario.is_random() ? 1 : 0;
  const StepReport report = model.simulate({.scenario = scenario, .run = run});
  const std::size_t most = few ? 3'000 : 10'000'000;
  const TimelineOptions options{.most_slices = most, .scenario = scenario, .run = run};
  const Timeline t = timeline(model, job, s, profile, options);
  CHECK(to_seconds(t.end) == report.step);
  const std::size_t lanes = t.lanes.size();
  REQUIRE(lanes ==
          static_cast<std::size_t>(s.pipeline_parallel * std::min(t.lanes_of_stage, kMostLanesDrawn)));
  int cores = 0;
  for (const Timeline::Lane& lane : t.lanes) cores += lane.cores;
  if (t.lanes_of_stage <= kMostLanesDrawn) CHECK(cores == job.cluster.cores());

  std::vector<int> passes(lanes);
  std::vector<SimTime> ended(lanes);
  std::vector<double> peaks(lanes);
  for (const Timeline::Slice& x : t.slices) {
    if (t.tracks[x.track].name != "compute" || (x.name != "forward" && x.name != "backward")) continue;
    const auto lane = static_cast<std::size_t>(t.tracks[x.track].lane);
    ++passes[lane];
    CHECK(ended[lane] <= x.start);
    ended[lane] = x.end;
  }
  for (const Timeline::Sample& x : t.samples) {
    const Timeline::Track& track = t.tracks[x.track];
    double& most_of = peaks[static_cast<std::size_t>(track.lane)];
    if (track.unit == "bytes") most_of = std::max(most_of, x.value);
  }
  const Memory memory = memory_of(job, s, profile);
  for (std::size_t i = 0; i < lanes; ++i) {
    CHECK(passes[i] == 2 * s.virtual_pipeline * t.listed_micro_batches);
    const StageMemory& m = memory.stages[static_cast<std::size_t>(t.lanes[i].stage)];
    if (m.layers > 0) CHECK(peaks[i] == m.peak().value);  // the head alone never is in a layer's backward
  }

  TimelineOptions by_operators = options;
  by_operators.expand = true;
  const Timeline b = timeline(model, job, s, profile, by_operators);
  REQUIRE(t.slices.size() == b.slices.size());
  for (std::size_t i = 0; i < t.slices.size(); ++i) {
    const Timeline::Slice &x = t.slices[i], &y = b.slices[i];
    REQUIRE((x.track == y.track && x.start == y.start && x.end == y.end && x.name == y.name));
  }
  REQUIRE(t.samples.size() == b.samples.size());
  for (std::size_t i = 0; i < t.samples.size(); ++i) {
    REQUIRE(t.samples[i].track == b.samples[i].track);
    REQUIRE(t.samples[i].at == b.samples[i].at);
    REQUIRE(t.samples[i].value == Approx(b.samples[i].value).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("classes of columns agree with every core for itself, on trn1", "[property]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 15)));
  boost::random::mt19937 random(seed);
  Sample sample = random_sample(seed);
  const Scenario scenario = random_scenario(random, sample.job.cluster);
  CAPTURE(seed, strategy_words(sample.strategy));
  const Profile& profile = test_catalog().profile("trn1-datasheet");
  check_classes(sample.job, sample.strategy, profile, scenario);
  check_timeline(sample.job, sample.strategy, profile, scenario, seed % 2 == 0);
}

TEST_CASE("classes of columns agree with every core for itself, on GPUs", "[property]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 15)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  const int nodes = pick({1, 2, 4}), tensor = pick({1, 2, 4, 8}), pipeline = pick({1, 1, 2, 4});
  const int ranks = nodes * 8;
  if (tensor * pipeline > ranks) return;
  Job job = job_of("llama3-8b", nodes, 2048, ranks / (tensor * pipeline) * pick({4, 8}));
  job.cluster.instance = gpu_machine();
  job.architecture.layers = pick({4, 5, 8});
  Strategy s = strategy_of(job, "tp=" + std::to_string(tensor) + ",pp=" + std::to_string(pipeline) +
                                    (pick({0, 1}) == 1 ? ",zero1=false" : "") +
                                    (pick({0, 0, 1}) == 1 ? ",sp=false" : ""));
  // Regression: a framework that overlaps nothing had ring attention on an engine that it lacks.
  const int data = ranks / (tensor * pipeline);
  if (data % 2 == 0 && pick({0, 0, 1}) == 1) {
    s.context_parallel = 2;
    s.data_parallel = data / 2;
  }
  const std::vector<std::string_view> names = framework_names();
  s.framework = stated_framework(names[static_cast<std::size_t>(
      boost::random::uniform_int_distribution<int>(0, static_cast<int>(names.size()) - 1)(random))]);
  if (!StepModel::not_modelled(job, s).empty()) return;
  const Scenario scenario = random_scenario(random, job.cluster);
  CAPTURE(seed, nodes, tensor, pipeline, s.framework);
  check_classes(job, s, gpu_profile(), scenario);
  check_timeline(job, s, gpu_profile(), scenario, seed % 2 == 0);
}
