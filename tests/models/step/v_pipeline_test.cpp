// A pipeline in a V, simulated and by hand.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "models/memory/memory.h"
#include "models/step/step.h"
#include "models/step/step_parts.h"
#include "models/step/timeline.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "units/index.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Job on_gpus(const std::string& model, int nodes, int batch) {
  Job job = job_of(model, nodes, 4096, batch);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  return job;
}

Strategy v_of(const Job& job, int pipeline) {
  return strategy_of(
      job, "tp=1,pp=" + std::to_string(pipeline) + ",mbs=1,framework=fsdp-eager,recompute=none,schedule=zbv");
}

/// The end of the step by passes, launches and messages alone, with a clock per stage. Each message is
/// assumed to have its link for itself.
SimTime by_hand(const StepParts& p) {
  using Kind = StageAction::Kind;
  const int stages = p.stages, parts = 2 * stages;
  const auto part_of = [&](int stage, int chunk) { return chunk == 0 ? stage : parts - 1 - stage; };
  std::map<std::tuple<bool, int, int>, SimTime> sent;  // forward, part that it came from, micro-batch
  std::vector<std::vector<StageAction>> todo;
  for (int i = 0; i < stages; ++i) todo.push_back(p.schedule().passes(i, {stages, 2, p.micro_batches}));
  std::vector<std::size_t> next(at(stages), 0);
  std::vector<SimTime> now(at(stages));
  const auto queue = [&](int from, int to, bool activation) {  // for a message between two stages
    const Boundary& b = p.boundaries[at(std::min(from, to))];
    return activation ? b.activation_hold.length : b.gradient_hold.length;
  };
  const auto way = [&](int from, int to, bool activation) {
    const Boundary& b = p.boundaries[at(std::min(from, to))];
    return uncontended(activation ? *b.activation : *b.gradient);
  };
  const SimTime launch = p.message_launch.length;
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < stages; ++i) {
      for (; todo[at(i)][next[at(i)]].kind != Kind::end_of_step; ++next[at(i)], moved = true) {
        const StageAction a = todo[at(i)][next[at(i)]];
        const SimTime length = p.work(i).chunks[at(a.chunk)].pass(a.kind).whole.length;
        SimTime& clock = now[at(i)];
        if (a.kind == Kind::weights) {
          clock += length;
          continue;
        }
        const bool up = a.kind == Kind::forward;
        const int part = part_of(i, a.chunk), source = up ? part - 1 : part + 1,
                  goal = up ? part + 1 : part - 1;
        const auto stage_with = [&](int which) { return which < stages ? which : parts - 1 - which; };
        const bool from = source >= 0 && source < parts && stage_with(source) != i;
        const bool to = goal >= 0 && goal < parts && stage_with(goal) != i;
        SimTime came;
        if (from) {
          const auto made = sent.find({up, source, a.micro_batch});
          if (made == sent.end()) break;
          came = made->second + way(stage_with(source), i, up);
          clock += launch + queue(stage_with(source), i, up);
        } else if (source >= 0 && source < parts && !sent.contains({up, source, a.micro_batch})) {
          break;
        }
        clock = std::max(clock, came) + length;
        if (to) clock += launch;
        sent[{up, part, a.micro_batch}] = clock;
        if (to) clock += queue(i, stage_with(goal), up);
      }
    }
  }
  SimTime reduced, end;
  for (int i = 0; i < stages; ++i) {
    const StageWork& w = p.work(i);
    reduced = std::max(reduced, now[at(i)] + uncontended(w.gradients_to_norms) +
                                    uncontended(w.context_reduce) + uncontended(w.reduce));
  }
  for (int i = 0; i < stages; ++i) {
    const StageWork& w = p.work(i);
    end = std::max(end, w.optimizer.uncontended() + uncontended(w.gather) + w.end.uncontended());
  }
  return reduced + p.barrier.uncontended() + end;
}

}  // namespace

// Catches: a message in the wrong direction or between parts on one stage, a pass of the wrong chunk, the
// embedding or the head on another stage, gradients that are reduced early.
TEST_CASE("a V on GPUs takes what its passes and messages take by hand", "[models]") {
  int exact = 0;
  for (const int pipeline : {2, 4, 8}) {
    for (const int micro_batches : {1, 4, 7, 16, 64}) {
      CAPTURE(pipeline, micro_batches);
      Job job = on_gpus("llama3-8b", 1, 8 / pipeline * micro_batches);
      const Strategy s = v_of(job, pipeline);
      REQUIRE(s.virtual_pipeline == 2);
      const StepModel model(job, s, test_catalog().profile(job.cluster.instance.family),
                            topology::ChipGraph(job.cluster.instance));
      const StepReport whole = model.simulate({.unfolded = true}), folded = model.simulate();
      // With few micro-batches an activation and a gradient may briefly share a link.
      const double hand = to_seconds(by_hand(model.parts())).value;
      CHECK(whole.step.value >= hand * (1 - 1e-9));
      CHECK(whole.step.value <= hand * (1 + 2e-4));
      exact += whole.step.value <= hand * (1 + 1e-9);
      CHECK(folded.step == whole.step);
      CHECK(model.lower_bound() <= whole.step);
    }
  }
  CHECK(exact >= 12);
}

// Catches: activations freed with the gradient of the input, a head on another stage than the first, or a
// peak of the timeline that the memory model lacks.
TEST_CASE("memory of a V is what its timeline holds, alike on all stages", "[models][memory]") {
  const Job job = on_gpus("llama3-8b", 1, 64);
  const models::Profile profile = test_catalog().profile(job.cluster.instance.family);
  for (const int pipeline : {2, 4}) {
    CAPTURE(pipeline);
    const Strategy s = v_of(job, pipeline);
    const Memory memory = memory_of(job, s, profile);
    Strategy plain = s;
    plain.schedule = Schedule::one_f_one_b;
    plain.virtual_pipeline = 1;
    const Memory one_way = memory_of(job, plain, profile);
    for (const StageMemory& m : memory.stages) {
      CAPTURE(m.stage);
      CHECK(m.in_flight == 2 * pipeline);
      CHECK(m.layers == 32 / pipeline);
      // As many layers are in flight as on the first stage of 1F1B, plus the gradients of those with waiting
      // weights.
      const double held = m.per_layer.value * 32 + m.per_pass.value * 2 * pipeline;
      const double most = std::max(held + m.per_deferred.value * (32 / (2 * pipeline)),
                                   (held * (pipeline + m.stage) / (2 * pipeline)) +
                                       m.per_deferred.value * (32 / (2 * pipeline)) * (2 * m.stage + 1));
      CHECK(m.moments[1].activations.value == Approx(most));
      CHECK(m.per_layer == one_way.stages[0].per_layer);
      CHECK((m.head_forward.logits.value > 0) == (m.stage == 0));
    }
    const StepModel model(job, s, profile, topology::ChipGraph(job.cluster.instance));
    const Timeline line = timeline(model, job, s, profile);
    for (const StageMemory& m : memory.stages) {
      double most = 0;
      for (const Timeline::Sample& sample : line.samples) {
        const auto& track = line.tracks[sample.track];
        if (line.stage_of(track) == m.stage && track.unit == "bytes") most = std::max(most, sample.value);
      }
      CHECK(most == Approx(m.peak().value).epsilon(1e-12));
    }
  }
}

// Catches: a written V with compiled or recomputed blocks, which PyTorch refuses or runs differently.
TEST_CASE("a V is of blocks that are neither compiled nor recomputed", "[models]") {
  const Job job = on_gpus("llama3-8b", 1, 64);
  Strategy s = v_of(job, 4);
  CHECK(StepModel::not_modelled(job, s) == "");
  CHECK(framework_of(s).runs(Schedule::zero_bubble_v));
  CHECK_FALSE(framework_of(s).runs(Schedule::zero_bubble));
  s.recompute.full = true;
  CHECK(StepModel::not_modelled(job, s) ==
        "recomputation in a split backward pass is not modelled with fsdp-eager");
  s.recompute = {};
  s.framework = "fsdp";
  CHECK_FALSE(framework_of(s).runs(Schedule::zero_bubble_v));
  s.framework = "megatron";
  CHECK_FALSE(framework_of(s).runs(Schedule::zero_bubble_v));
  CHECK(StepModel::not_modelled(job, s) ==
        "a reduction of gradients during a split backward pass is not modelled");
}
