#include "planner/check/judge.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "models/step/step.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/plan/strategy_grammar.h"

namespace trnplan::planner {

namespace {

/// True if a program that breaks the rule still has a shape: groups and memory can be judged.
bool keeps_shape(const Violation& v) {
  return v.rule == "pipeline-parity" || v.rule == "vocabulary" || v.rule == "tied-embeddings" ||
         v.rule == "flash-attention" || v.rule == "not-modelled";
}

bool has_shape(const std::vector<Violation>& broken) {
  return std::all_of(broken.begin(), broken.end(), keeps_shape);
}

/// Strategies that may be proposed in place of another: all, but if the step of that one is modelled, only
/// those with a modelled step.
class Proposals {
 public:
  Proposals(const models::Job& job, const models::Strategy& instead_of)
      : job_(job), modelled_(!not_modelled(job, instead_of)) {}
  bool allow(const models::Strategy& s) const { return !modelled_ || !not_modelled(job_, s); }

 private:
  const models::Job& job_;
  bool modelled_;
};

/// The strategy with each layer or the layers spread over more cores, if that is legal and fits: the fewest
/// cores first, TP before PP. Everything is recomputed, or no more than now if that is not proposed.
std::optional<models::Strategy> fits_over_more_cores(const models::Job& job, const models::Strategy& s,
                                                     const models::Profile& profile, const Target* target,
                                                     const Proposals& proposals) {
  for (int times = 2; times <= s.data_parallel; times *= 2) {
    if (s.data_parallel % times != 0) break;
    for (int of_layers = 1; of_layers <= times; of_layers *= 2) {
      models::Strategy wider = s;
      wider.tensor_parallel *= times / of_layers;
      wider.pipeline_parallel *= of_layers;
      wider.data_parallel /= times;
      wider.kv_replicator = std::max(1, wider.tensor_parallel / job.architecture.kv_heads);
      wider.sequence_parallel = wider.sequence_parallel || wider.tensor_parallel > 1;
      wider.pipeline_cuts.clear();
      wider.recompute = {.full = true};
      if (!proposals.allow(wider)) wider.recompute = s.recompute;
      wider = models::canonical(wider);
      if (!proposals.allow(wider) || breaks_a_rule(job, wider, target)) continue;
      if (models::memory_of(job, wider, profile).fits()) return wider;
    }
  }
  return std::nullopt;
}

/// Parts that the framework can recompute, the cheapest first.
std::vector<models::Recompute> stronger_policies(const models::Strategy& s) {
  const models::Framework& framework = models::framework_of(s);
  std::vector<models::Recompute> all = recomputes_besides(framework, s.flash_attention);
  if (framework.recomputes_classes()) all.push_back({.core_attention = true, .mlp = true});
  all.push_back({.full = true});
  return all;
}

Violation memory_violation(const models::Job& job, const models::Strategy& s, const models::Profile& profile,
                           const models::Memory& memory, const Target* target) {
  const topology::Accelerator on = job.cluster.instance.traits.accelerator;
  Violation v{"memory", memory_message(memory, on),
              fmt::format("more nodes (--nodes): spread over all {}s of this cluster it does not fit either",
                          topology::device_word(on))};
  if (memory.worst().peak() <= memory.limit)
    v.message += fmt::format("; given the uncertainty it is only {:.0f} % likely to fit",
                             100 * memory.fit_probability);
  // If the runtime's reserve is unknown, a strategy that fits without it stays open.
  v.doubtful = !job.cluster.instance.traits.runtime_reserve &&
               memory.worst().peak() - memory.worst().runtime <= memory.limit;
  const Proposals proposals(job, s);
  for (const models::Recompute& policy : stronger_policies(s)) {
    models::Strategy stronger = s;
    stronger.recompute = policy;
    stronger = models::canonical(stronger);
    if (!proposals.allow(stronger)) continue;
    const models::Memory less = models::memory_of(job, stronger, profile);
    if (!less.fits()) continue;
    v.fix =
        fmt::format("recompute={} needs {:.1f} GiB", to_string(policy), in_gibibytes(less.worst().peak()));
    return v;
  }
  if (const auto wider = fits_over_more_cores(job, s, profile, target, proposals))
    v.fix = strategy_grammar(job, *wider) + " fits";
  return v;
}

}  // namespace

std::string memory_message(const models::Memory& memory, topology::Accelerator on) {
  const models::StageMemory& w = memory.worst();
  const auto gib = [](Bytes b) { return in_gibibytes(b); };
  return fmt::format(
      "stage {} needs {:.1f} of {:.1f} GiB a {} ({}): parameters {:.2f}, gradients {:.2f}, optimizer "
      "{:.2f}, activations "
      "{:.2f}, logits {:.2f}, staging {:.2f}, runtime {:.2f}",
      w.stage, gib(w.peak()), gib(memory.limit), topology::device_word(on), to_string(w.instant),
      gib(w.parameters), gib(w.gradients), gib(w.optimizer), gib(w.activations), gib(w.logits),
      gib(w.staging), gib(w.runtime));
}

std::string why_no_plan(const Judgement& judgement) {
  if (judgement.plan) return {};
  std::string why;
  for (const Violation& v : judgement.broken) {
    // Groups and memory are judged for programs with a shape; they keep none from being simulated.
    if (v.rule == "memory" || v.rule == "replica-group") continue;
    if (keeps_shape(v) && v.rule != "not-modelled") continue;
    why += fmt::format("{}{} ({})", why.empty() ? "" : "; ", v.message, v.rule);
  }
  return why;
}

bool Judgement::refused() const {
  return std::any_of(broken.begin(), broken.end(), [](const Violation& v) { return !v.doubtful; });
}

Judgement judge(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile,
                const Target* target) {
  Judgement j;
  j.broken = rule_violations(job, strategy, target);
  if (!has_shape(j.broken)) {
    if (auto missing = not_modelled(job, strategy)) j.broken.push_back(std::move(*missing));
    return j;
  }
  const topology::ChipGraph graph(job.cluster.instance);
  const topology::PlacementVerdict verdict = placement_verdict(job, strategy, graph);
  for (Violation& v : replica_group_violation(verdict)) {
    v.fix = replica_group_fix(job, graph, strategy, *verdict.offending);
    j.broken.push_back(std::move(v));
  }
  j.memory = models::memory_of(job, strategy, profile);
  if (!j.memory->fits()) j.broken.push_back(memory_violation(job, strategy, profile, *j.memory, target));
  if (auto missing = not_modelled(job, strategy)) {
    j.broken.push_back(std::move(*missing));
  }
  if (std::any_of(j.broken.begin(), j.broken.end(),
                  [](const Violation& v) { return v.rule == "not-modelled"; })) {
    return j;
  }
  try {
    j.plan = make_plan(job, strategy, profile, graph);
    std::copy_if(j.broken.begin(), j.broken.end(), std::back_inserter(j.plan->doubts),
                 [](const Violation& v) { return v.doubtful; });
  } catch (const models::TooManyPasses& e) {
    j.broken.push_back({"not-modelled", e.what(), "lower the global batch, or raise DP"});
  } catch (const std::overflow_error&) {
    j.broken.push_back(beyond_the_clock());
  }
  return j;
}

}  // namespace trnplan::planner
