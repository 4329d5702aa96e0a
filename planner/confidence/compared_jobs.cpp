#include "planner/confidence/compared_jobs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "models/framework/framework.h"
#include "models/step/graph_size.h"

namespace trnplan::planner {

namespace {

using models::Job;
using models::Strategy;

/// Adds up the distance of a plan from a known job, and describes the differences.
class Difference {
 public:
  void ratio(const char* name, double here, double there, double weight = 1) {
    if (here == there) return;
    add(weight * std::abs(std::log2(here / there)),
        fmt::format("{} {:.10g} against {:.10g}", name, here, there));
  }
  void other(bool differs, std::string words) {
    if (differs) add(1, std::move(words));
  }

  double distance() const { return distance_; }
  /// Descriptions, the largest difference first.
  std::vector<std::string> words() {
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> all;
    for (auto& [size, text] : parts_) all.push_back(text);
    return all;
  }

 private:
  void add(double size, std::string words) {
    distance_ += size;
    parts_.emplace_back(size, std::move(words));
  }

  double distance_ = 0;
  std::vector<std::pair<double, std::string>> parts_;
};

bool same_recompute(const Strategy& a, const Strategy& b) {
  const models::RecomputeUnits x = models::framework_of(a).recomputed(a),
                               y = models::framework_of(b).recomputed(b);
  return x.layer == y.layer && x.mlp == y.mlp && x.product == y.product && x.norms == y.norms &&
         x.scores == y.scores && x.alternate == y.alternate && x.every == y.every;
}

const char* on_or_off(bool on) {
  return on ? "on" : "off";
}

double billions(const Job& job) {
  return static_cast<double>(models::parameters(job.architecture)) / 1e9;
}

Difference difference(const Job& job, const Strategy& s, const ComparedJob& known) {
  const Strategy& t = known.strategy;
  Difference d;
  const double here = billions(job), there = billions(known.job);
  // The same model in two publications may differ by its vocabulary.
  if (std::abs(std::log2(here / there)) > 0.02)
    d.ratio("10^9 parameters", std::round(here * 100) / 100, std::round(there * 100) / 100);
  d.ratio("TP", s.tensor_parallel, t.tensor_parallel);
  d.ratio("PP", s.pipeline_parallel, t.pipeline_parallel);
  d.ratio("CP", s.context_parallel, t.context_parallel);
  d.ratio("EP", s.expert_parallel, t.expert_parallel);
  d.ratio("micro-batch", s.micro_batch, t.micro_batch);
  d.ratio("sequence", job.training.sequence, known.job.training.sequence);
  d.ratio("VPP", s.virtual_pipeline, t.virtual_pipeline, 0.5);
  d.ratio("DP", s.data_parallel, t.data_parallel, 0.25);
  d.other(!same_recompute(s, t),
          models::framework_of(s).recompute_names()
              ? fmt::format("{} against {}", models::recompute_words(s), models::recompute_words(t))
              : fmt::format("recompute {} against {}", to_string(s.recompute), to_string(t.recompute)));
  d.other(s.flash_attention != t.flash_attention,
          fmt::format("flash attention {}", on_or_off(s.flash_attention)));
  d.other(s.sequence_parallel != t.sequence_parallel,
          fmt::format("sequence parallel {}", on_or_off(s.sequence_parallel)));
  d.other(s.zero1 != t.zero1, fmt::format("ZeRO-1 {}", on_or_off(s.zero1)));
  d.other(s.zero1 && t.zero1 && s.sharding != t.sharding,
          fmt::format("{} against {}", to_string(s.sharding), to_string(t.sharding)));
  d.other(s.framework != t.framework, fmt::format("framework {} against {}", models::framework_of(s).name(),
                                                  models::framework_of(t).name()));
  d.other(s.precision != t.precision,
          fmt::format("{} against {}", to_string(s.precision), to_string(t.precision)));
  const auto& a = job.architecture;
  const auto& b = known.job.architecture;
  d.other(a.mlp != b.mlp || (a.experts > 0) != (b.experts > 0), "another kind of MLP");
  d.other(!s.pipeline_cuts.empty() && t.pipeline_cuts.empty(), "cuts by hand");
  const topology::Core &core = job.cluster.instance.core, &other = known.job.cluster.instance.core;
  d.other(core.device != other.device || core.memory != other.memory || core.bf16 != other.bf16,
          "another kind of machine");
  return d;
}

std::string words_of(const ComparedJob& k) {
  const Strategy& s = k.strategy;
  std::string text = fmt::format("{} on {} x {}, TP {} PP {}", k.job.architecture.name, k.job.cluster.nodes,
                                 k.job.cluster.instance.name, s.tensor_parallel, s.pipeline_parallel);
  if (s.context_parallel > 1) text += fmt::format(" CP {}", s.context_parallel);
  return text + fmt::format(" DP {}, sequence {}, micro-batch {}", s.data_parallel, k.job.training.sequence,
                            s.micro_batch);
}

}  // namespace

ComparedJobs::ComparedJobs(std::vector<ComparedJob> jobs, const models::Profile& profile)
    : jobs_(std::move(jobs)) {
  for (const ComparedJob& k : jobs_) {
    if (!k.compiled) continue;
    const std::string& device = k.job.cluster.instance.core.device;
    const double size = models::largest_graph(k.job, k.strategy, profile).expected;
    auto of =
        std::find_if(largest_.begin(), largest_.end(), [&](const auto& l) { return l.device == device; });
    if (of == largest_.end()) of = largest_.insert(largest_.end(), {"", device, 0});
    if (size <= of->instructions) continue;
    of->id = k.id;
    of->instructions = size;
  }
}

ComparedJobs::LargestGraph ComparedJobs::largest_graph(const Job& job) const {
  const auto of = std::find_if(largest_.begin(), largest_.end(), [&](const LargestGraph& l) {
    return l.device == job.cluster.instance.core.device;
  });
  return of == largest_.end() ? LargestGraph{} : *of;
}

std::optional<Experience> ComparedJobs::nearest(const Job& job, const Strategy& strategy) const {
  const ComparedJob* near = nullptr;
  Difference least;
  for (const ComparedJob& k : jobs_) {
    if (k.job.cluster.instance.traits.accelerator != job.cluster.instance.traits.accelerator) continue;
    Difference d = difference(job, strategy, k);
    if (near != nullptr && d.distance() >= least.distance()) continue;
    near = &k;
    least = std::move(d);
  }
  if (near == nullptr) return std::nullopt;
  const LargestGraph graph = largest_graph(job);
  Experience e;
  e.id = near->id;
  e.source = near->source;
  e.words = words_of(*near);
  e.known = near->known;
  e.distance = least.distance();
  e.differences = least.words();
  e.largest_graph_id = graph.id;
  e.largest_graph = graph.instructions;
  return e;
}

}  // namespace trnplan::planner
