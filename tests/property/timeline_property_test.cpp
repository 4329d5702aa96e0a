// The timeline compared with the memory model and with itself, on random small jobs. Every failure prints the
// seed.
#include "models/step/timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "models/memory/memory.h"
#include "tests/catch.h"
#include "tests/property/sample.h"
#include "tests/seeds.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

using Slice = Timeline::Slice;

/// One sample in three of a pipeline with cuts: stages and chunks of any length.
Sample with_cuts(unsigned seed) {
  Sample sample = random_sample(seed);
  Strategy& s = sample.strategy;
  const int parts = s.pipeline_parallel * s.virtual_pipeline, layers = sample.job.architecture.layers;
  if (seed % 3 != 0 || parts < 2 || parts > layers) return sample;
  boost::random::mt19937 random(seed);
  std::vector<int> places;
  for (int i = 0; i + 1 < layers; ++i) places.push_back(i);
  while (static_cast<int>(places.size()) > parts - 1) {
    const auto last = static_cast<int>(places.size()) - 1;
    places.erase(places.begin() + boost::random::uniform_int_distribution<int>(0, last)(random));
  }
  s.pipeline_cuts = places;
  return sample;
}

/// Slices of a stage's compute track, and its memory.
struct StageTracks {
  std::vector<Slice> slices;
  std::vector<Timeline::Sample> memory;
};

std::vector<StageTracks> stages_of(const Timeline& t) {
  std::vector<StageTracks> stages;
  for (const Timeline::Track& track : t.tracks)
    stages.resize(std::max(stages.size(), static_cast<std::size_t>(t.stage_of(track)) + 1));
  for (const Slice& s : t.slices) {
    const Timeline::Track& track = t.tracks[s.track];
    if (track.name == "compute") stages[static_cast<std::size_t>(t.stage_of(track))].slices.push_back(s);
  }
  for (const Timeline::Sample& s : t.samples) {
    const Timeline::Track& track = t.tracks[s.track];
    if (track.unit == "bytes") stages[static_cast<std::size_t>(t.stage_of(track))].memory.push_back(s);
  }
  return stages;
}

/// Whether a slice of that name is under way between two times.
bool during(const StageTracks& stage, std::string_view name, SimTime from, SimTime to) {
  return std::any_of(stage.slices.begin(), stage.slices.end(),
                     [&](const Slice& s) { return s.name == name && s.start < to && from < s.end; });
}

/// Times at which the counter is at its largest value lie where the memory model says.
void check_instant(const StageTracks& stage, PeakInstant instant, double peak) {
  int times = 0;
  for (std::size_t i = 0; i + 1 < stage.memory.size(); ++i) {
    if (stage.memory[i].value != peak) continue;
    ++times;
    const SimTime from = stage.memory[i].at, to = stage.memory[i + 1].at;
    REQUIRE(from < to);
    CHECK(during(stage, "lm_head", from, to) == (instant == PeakInstant::loss));
    if (instant != PeakInstant::loss)
      CHECK(during(stage, "backward", from, to) == (instant == PeakInstant::backward));
    CHECK(during(stage, "adamw", from, to) == (instant == PeakInstant::optimizer));
  }
  CHECK(times > 0);
}

auto fields(const Slice& s) {
  return std::tuple(s.track, s.start, s.end, s.name, s.category, s.micro_batch, s.chunk, s.flow, s.receives);
}

}  // namespace

TEST_CASE("the memory counter of each stage reaches the peak of the memory model, at its instant",
          "[property][timeline]") {
  int expanded = 0, interleaved = 0, context = 0, single = 0, cut = 0, partial = 0, full = 0;
  std::array<int, 3> instants{};
  for (const unsigned seed : seeds(1, 400)) {
    const Sample sample = with_cuts(seed);
    const Strategy& s = sample.strategy;
    CAPTURE(seed, describe(s), s.virtual_pipeline, s.context_parallel, s.pipeline_cuts,
            sample.job.cluster.nodes, sample.job.architecture.layers);
    const StepModel model(sample.job, s, datasheet(), topology::ChipGraph(sample.job.cluster.instance));
    const Timeline t = timeline(model, sample.job, s, datasheet(), {.most_slices = 50'000'000});
    CHECK(t.detailed_micro_batches == t.micro_batches);
    const Memory memory = memory_of(sample.job, s, datasheet());
    const std::vector<StageTracks> stages = stages_of(t);
    REQUIRE(stages.size() == memory.stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) {
      CAPTURE(i);
      const StageMemory& m = memory.stages[i];
      double most = 0;
      for (const Timeline::Sample& x : stages[i].memory) most = std::max(most, x.value);
      CHECK(most == m.peak().value);
      check_instant(stages[i], m.instant, m.peak().value);
      ++instants[static_cast<std::size_t>(m.instant)];
      // Before a stage's first pass and after the step there are states only; stage 0 starts at once.
      const double states = m.with({}).value;
      if (i > 0) CHECK(stages[i].memory.front().value == states);
      CHECK(stages[i].memory.back().value == states);
    }
    // However few slices are wanted, the peaks are there.
    const std::vector<StageTracks> thin =
        stages_of(timeline(model, sample.job, s, datasheet(), {.most_slices = 0}));
    for (std::size_t i = 0; i < thin.size(); ++i) {
      CHECK(std::any_of(thin[i].memory.begin(), thin[i].memory.end(),
                        [&](const Timeline::Sample& x) { return x.value == memory.stages[i].peak().value; }));
      CHECK(thin[i].memory.size() <= stages[i].memory.size());
    }

    expanded += model.simulate().expanded;
    interleaved += s.virtual_pipeline > 1;
    context += s.context_parallel > 1;
    single += s.pipeline_parallel == 1;
    cut += !s.pipeline_cuts.empty();
    partial += s.recompute.mlp;
    full += s.recompute.full;
  }
  CAPTURE(instants);
  CHECK(*std::min_element(instants.begin(), instants.end()) >= at_least(5));
  CHECK(std::min({expanded, interleaved, context, single, cut, partial, full}) >= at_least(10));
}

TEST_CASE("a timeline of remembered layers and one of expanded layers are the same", "[property][timeline]") {
  int remembered = 0, context = 0;
  for (const unsigned seed : seeds(500, 100)) {
    const Sample sample = with_cuts(seed);
    CAPTURE(seed, describe(sample.strategy));
    const StepModel model(sample.job, sample.strategy, datasheet(),
                          topology::ChipGraph(sample.job.cluster.instance));
    if (model.simulate().expanded) continue;
    ++remembered;
    context += sample.strategy.context_parallel > 1;
    const std::size_t most = seed % 2 == 0 ? 1'000'000 : 5'000;
    const Timeline a = timeline(model, sample.job, sample.strategy, datasheet(), {.most_slices = most});
    const Timeline b =
        timeline(model, sample.job, sample.strategy, datasheet(), {.most_slices = most, .expand = true});
    REQUIRE(a.slices.size() == b.slices.size());
    REQUIRE(a.samples.size() == b.samples.size());
    for (std::size_t i = 0; i < a.slices.size(); ++i) REQUIRE(fields(a.slices[i]) == fields(b.slices[i]));
    for (std::size_t i = 0; i < a.samples.size(); ++i) {
      REQUIRE(a.samples[i].track == b.samples[i].track);
      REQUIRE(a.samples[i].at == b.samples[i].at);
      REQUIRE(a.samples[i].value == b.samples[i].value);
    }
  }
  CHECK(remembered >= at_least(40));
  CHECK(context >= at_least(3));
}

TEST_CASE("passes, operators, messages and use of expanded steps; no more slices than wanted",
          "[property][timeline]") {
  int expanded = 0, thinned = 0, unlisted = 0;
  for (const unsigned seed : seeds(700, 260)) {
    const Sample sample = with_cuts(seed);
    const Strategy& s = sample.strategy;
    CAPTURE(seed, describe(s), s.virtual_pipeline);
    const StepModel model(sample.job, s, datasheet(), topology::ChipGraph(sample.job.cluster.instance));
    const bool is_expanded = model.simulate().expanded;
    const std::size_t most = seed % 3 == 0 ? 100'000'000 : seed % 3 == 1 ? 20'000 : 200;
    const Timeline t = timeline(model, sample.job, s, datasheet(), {.most_slices = most});
    const int chunks = s.virtual_pipeline, parts = s.pipeline_parallel * chunks;
    // Norm gradients, context ranks, both reductions and gatherings with up to three phases each, scalars,
    // AdamW and the host: what the end of the step has on a stage.
    CHECK(t.slices.size() <= std::max(most, static_cast<std::size_t>(s.pipeline_parallel) * 24));
    CHECK(t.detailed_micro_batches <= t.listed_micro_batches);
    CHECK(t.listed_micro_batches <= t.micro_batches);

    // Every listed pass once, each in its own track, and every operator inside one of its micro-batch and
    // chunk.
    std::map<std::tuple<int, int, int, bool>, const Slice*> passes;
    std::map<std::uint64_t, int> flows;
    std::size_t operators = 0;
    for (const Slice& x : t.slices) {
      if (x.flow != 0) flows[x.flow] += x.receives ? 1000 : 1;
      const int stage = t.stage_of(t.tracks[x.track]);
      if (x.name == "forward" || x.name == "backward") {
        CHECK(x.chunk == (chunks > 1 ? std::clamp(x.chunk, 0, chunks - 1) : -1));
        CHECK(passes.emplace(std::tuple(stage, x.chunk, x.micro_batch, x.name == "forward"), &x).second);
      } else if (x.micro_batch >= 0 && x.flow == 0 && !x.name.starts_with("message")) {
        ++operators;
        const auto contains = [&](bool forward) {
          const auto it = passes.find({stage, x.chunk, x.micro_batch, forward});
          return it != passes.end() && it->second->start <= x.start && x.end <= it->second->end;
        };
        REQUIRE((contains(true) || contains(false)));
      }
    }
    CHECK(passes.size() == static_cast<std::size_t>(2 * parts * t.listed_micro_batches));
    CHECK(flows.size() == static_cast<std::size_t>(2 * (parts - 1) * t.listed_micro_batches));
    for (const auto& [id, ends] : flows) REQUIRE(ends == 1001);
    CHECK((operators > 0) == (t.detailed_micro_batches > 0));
    if (s.tensor_parallel > 1 && t.listed_micro_batches > 0) {
      CHECK(std::any_of(t.samples.begin(), t.samples.end(), [&](const Timeline::Sample& x) {
        return t.tracks[x.track].name == "busiest memory path" && x.value > 0;
      }));
    }
    expanded += is_expanded;
    thinned += is_expanded && t.detailed_micro_batches < t.listed_micro_batches;
    unlisted += is_expanded && t.listed_micro_batches < t.micro_batches;
  }
  CHECK(expanded >= at_least(40));
  CHECK(thinned >= at_least(12));
  CHECK(unlisted >= at_least(5));
}
