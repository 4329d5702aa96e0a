#include "planner/confidence/distance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "models/framework/framework.h"
#include "units/index.h"

namespace trnplan::planner {

namespace {

using models::Strategy;

/// Comparison of the values of a trait.
enum class Scale {
  size,    ///< a logarithm; tried if between the least and the largest recorded value
  most,    ///< a logarithm; tried if at most the largest recorded value
  degree,  ///< a logarithm; tried if a run has the same
  flag,    ///< 0 or 1
  kind     ///< a number without order: equal or not
};

struct TraitInfo {
  std::string_view name;
  Scale scale;
  std::string_view words;  ///< of a difference
};

constexpr std::array<TraitInfo, kTraits> kInfo = {
    {{"hidden", Scale::size, "width"},
     {"layers", Scale::size, "layers"},
     {"experts", Scale::flag, "experts"},
     {"tensor_parallel", Scale::degree, "TP"},
     {"pipeline", Scale::flag, "a pipeline"},
     {"pipeline_parallel", Scale::degree, "PP"},
     {"virtual_pipeline", Scale::degree, "VPP"},
     {"micro_batch", Scale::most, "micro-batch"},
     {"context_parallel", Scale::degree, "CP"},
     {"expert_parallel", Scale::degree, "EP"},
     {"recompute_all", Scale::flag, "full recompute"},
     {"recompute_attention", Scale::flag, "CoreAttention"},
     {"recompute_mlp", Scale::flag, "LlamaMLP"},
     {"recompute_norms", Scale::flag, "LlamaRMSNorm"},
     {"recompute_product", Scale::flag, "ActivationMultiplyMLP"},
     {"cuts", Scale::flag, "manual cuts"},
     {"sequence", Scale::size, "sequence"},
     {"nodes", Scale::size, "nodes"},
     {"flash_attention", Scale::flag, "flash attention"},
     {"precision", Scale::kind, "precision"},
     {"zero1", Scale::flag, "ZeRO-1"},
     {"sequence_parallel", Scale::flag, "sequence parallel"},
     {"schedule", Scale::kind, "schedule"},
     {"framework", Scale::kind, "framework"},
     {"sharding", Scale::kind, "sharding"},
     {"instance", Scale::kind, "instance type"},
     {"seen", Scale::flag, "only shipped, never seen to run"}}};

constexpr double kTriedElsewhere = 0.5;
/// Logarithm within which two models count as of one size.
constexpr double kSameSize = 0.1;

double log2_of(double x) {
  return x > 0 ? std::log2(x) : 0;
}

double gap(std::size_t trait, double a, double b) {
  const double d = std::abs(a - b);
  return kInfo[trait].scale == Scale::kind ? (d > 0 ? 1 : 0) : d;
}

/// Words of a difference; recomputation has the names of the plan's framework.
std::string_view difference_words(Trait t, const Strategy& s) {
  const auto names = models::framework_of(s).recompute_names();
  if (names) {
    if (t == Trait::recompute_attention) return names->attention;
    if (t == Trait::recompute_mlp) return names->mlp;
    if (t == Trait::recompute_norms) return names->norms;
    if (t == Trait::recompute_product) return names->product;
  }
  return kInfo[static_cast<std::size_t>(t)].words;
}

std::string untested_words(Trait t, const models::Job& job, const Strategy& s) {
  switch (t) {
    case Trait::hidden:
      return fmt::format("a model of width {}", job.architecture.hidden);
    case Trait::layers:
      return fmt::format("a model of {} layers", job.architecture.layers);
    case Trait::experts:
      return job.architecture.experts > 0 ? "a mixture of experts" : "a model without experts";
    case Trait::tensor_parallel:
      return fmt::format("TP {}", s.tensor_parallel);
    case Trait::pipeline:
      return "a pipeline";
    case Trait::pipeline_parallel:
      return fmt::format("PP {}", s.pipeline_parallel);
    case Trait::virtual_pipeline:
      return fmt::format("VPP {}", s.virtual_pipeline);
    case Trait::micro_batch:
      return fmt::format("micro-batch {}", s.micro_batch);
    case Trait::context_parallel:
      return fmt::format("CP {}", s.context_parallel);
    case Trait::expert_parallel:
      return fmt::format("EP {}", s.expert_parallel);
    case Trait::recompute_all:
    case Trait::recompute_attention:
    case Trait::recompute_mlp:
    case Trait::recompute_norms:
    case Trait::recompute_product:
      return fmt::format("{} recomputed", difference_words(t, s));
    case Trait::cuts:
      return "manual cuts";
    case Trait::sequence:
      return fmt::format("sequence {}", job.training.sequence);
    case Trait::nodes:
      return fmt::format("{} nodes", job.cluster.nodes);
    case Trait::flash_attention:
      return s.flash_attention ? "flash attention" : "no flash attention";
    case Trait::precision:
      return std::string(to_string(s.precision));
    case Trait::zero1:
      return s.zero1 ? "ZeRO-1" : "no ZeRO-1";
    case Trait::sequence_parallel:
      return s.sequence_parallel ? "sequence parallel" : "no sequence parallel";
    case Trait::schedule:
      return fmt::format("schedule {}", to_string(models::effective_schedule(s)));
    case Trait::framework:
      return fmt::format("framework {}", models::framework_of(s).name());
    case Trait::sharding:
      return fmt::format("weights sharded as {}", to_string(s.sharding));
    case Trait::instance:
      return job.cluster.instance.name;
    case Trait::seen:
    case Trait::count:
      break;
  }
  return "";
}

}  // namespace

std::string_view to_string(Trait t) {
  return kInfo[static_cast<std::size_t>(t)].name;
}

RecordedRuns::RecordedRuns(std::vector<RecordedRun> runs, DistanceParameters parameters)
    : parameters_(parameters) {
  std::set<std::tuple<Kind, std::string, Point>> seen_points;
  for (RecordedRun& run : runs) {
    instances_.try_emplace(run.instance, static_cast<int>(instances_.size()));
    frameworks_.try_emplace(std::string(run.strategy.framework), static_cast<int>(frameworks_.size()));
    Point point = point_of(run.architecture, run.instance, run.nodes, run.sequence, run.strategy);
    point[static_cast<std::size_t>(Trait::seen)] = run.seen ? 1 : 0;
    if (!seen_points.emplace(kind_of(run), run.model, point).second) continue;
    runs_.push_back(std::move(run));
    points_.push_back(point);
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    Tried& kind = tried_[kind_of(runs_[i])];
    for (std::size_t t = 0; t < kTraits; ++t) kind[t].push_back(points_[i][t]);
  }
  for (auto& [kind, tried] : tried_) {
    for (std::vector<double>& values : tried) {
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
    }
  }
}

RecordedRuns::Point RecordedRuns::point_of(const models::Architecture& a, const std::string& instance,
                                           int nodes, int sequence, const Strategy& stated) const {
  const Strategy s = models::canonical(stated);
  const auto known = instances_.find(instance);
  const auto framework = frameworks_.find(s.framework);
  const models::Recompute& r = s.recompute;
  const auto flag = [](bool b) { return b ? 1.0 : 0.0; };
  return {
      log2_of(a.hidden), log2_of(a.layers), flag(a.experts > 0), log2_of(s.tensor_parallel),
      flag(s.pipeline_parallel > 1), log2_of(s.pipeline_parallel), log2_of(s.virtual_pipeline),
      log2_of(s.micro_batch), log2_of(s.context_parallel), log2_of(s.expert_parallel), flag(r.full),
      // A no-op with flash attention, set or not.
      flag(r.core_attention && !s.flash_attention), flag(r.mlp), flag(r.rms_norm),
      flag(r.activation_multiply), flag(!s.pipeline_cuts.empty()), log2_of(sequence), log2_of(nodes),
      flag(s.flash_attention), static_cast<double>(s.precision), flag(s.zero1),
      flag(s.sequence_parallel || s.tensor_parallel == 1), static_cast<double>(models::effective_schedule(s)),
      framework == frameworks_.end() ? -1.0 : framework->second,
      // Sharding of states alone is a setting of its own: zero1.
      s.zero1 ? static_cast<double>(s.sharding) : 0.0, known == instances_.end() ? -1.0 : known->second, 1.0};
}

bool RecordedRuns::tried(const Tried& of_kind, std::size_t trait, double value) const {
  const std::vector<double>& values = of_kind[trait];
  if (values.empty()) return false;
  switch (kInfo[trait].scale) {
    case Scale::size:
      return value >= values.front() - kSameSize && value <= values.back() + kSameSize;
    case Scale::most:
      return value <= values.back();
    default:
      return std::binary_search(values.begin(), values.end(), value);
  }
}

RecordedRuns::Point RecordedRuns::weights_for(const Tried& of_kind, const Point& plan) const {
  Point weights = parameters_.weights;
  for (std::size_t t = 0; t < kTraits; ++t) {
    if (tried(of_kind, t, plan[t])) weights[t] *= kTriedElsewhere;
  }
  return weights;
}

const RecordedRuns::Tried& RecordedRuns::tried_of(Kind kind) const {
  static const Tried nothing;
  const auto found = tried_.find(kind);
  return found == tried_.end() ? nothing : found->second;
}

RecordedRuns::Nearest RecordedRuns::nearest(const Point& plan, Kind kind, const Point& weights,
                                            int but) const {
  Nearest best{-1, std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (kind_of(runs_[i]) != kind || static_cast<int>(i) == but) continue;
    double sum = 0;
    for (std::size_t t = 0; t < kTraits && sum < best.value; ++t)
      sum += weights[t] * gap(t, plan[t], points_[i][t]);
    if (sum < best.value) best = {static_cast<int>(i), sum};
  }
  if (best.run < 0) best.value = parameters_.alone;
  return best;
}

double RecordedRuns::value(const models::Job& job, const Strategy& s) const {
  const Point plan =
      point_of(job.architecture, job.cluster.instance.name, job.cluster.nodes, job.training.sequence, s);
  const Kind kind = kind_of(job);
  return nearest(plan, kind, weights_for(tried_of(kind), plan)).value;
}

double RecordedRuns::value_on_one_machine(const models::Job& job, const Strategy& s) const {
  const Point plan =
      point_of(job.architecture, job.cluster.instance.name, job.cluster.nodes, job.training.sequence, s);
  const Kind kind = kind_of(job);
  Point weights = weights_for(tried_of(kind), plan);
  weights[static_cast<std::size_t>(Trait::instance)] = 0;
  return nearest(plan, kind, weights).value;
}

Distance RecordedRuns::distance(const models::Job& job, const Strategy& s) const {
  const Point plan =
      point_of(job.architecture, job.cluster.instance.name, job.cluster.nodes, job.training.sequence, s);
  const Tried& kind = tried_of(kind_of(job));
  const Nearest found = nearest(plan, kind_of(job), weights_for(kind, plan));
  Distance out{found.value, found.run, {}, {}};
  if (found.run < 0) {
    out.untested.push_back(job.architecture.causal ? "any decoder" : "any encoder");
    return out;
  }
  const Point& run = points_[at(found.run)];
  for (std::size_t t = 0; t < kTraits; ++t) {
    const bool tested = tried(kind, t, plan[t]);
    if (!tested) {
      std::string words = untested_words(static_cast<Trait>(t), job, s);
      if (!words.empty()) out.untested.push_back(std::move(words));
    } else if (parameters_.weights[t] * gap(t, plan[t], run[t]) > kSameSize) {
      out.differs.emplace_back(difference_words(static_cast<Trait>(t), s));
    }
  }
  return out;
}

int RecordedRuns::compared(const models::Job& job, const Strategy& s) const {
  return static_cast<int>(std::count_if(runs_.begin(), runs_.end(), [&](const RecordedRun& r) {
    return r.timed_on == job.cluster.instance.family && r.strategy.framework == s.framework;
  }));
}

double RecordedRuns::runs_at_all(double distance) const {
  return std::exp(-parameters_.failure * distance);
}

double RecordedRuns::time_log_sd(double distance, double configuration_spread) const {
  return configuration_spread * std::sqrt(std::max(0.0, distance / parameters_.typical - 1));
}

double RecordedRuns::memory_log_sd(double distance) const {
  return parameters_.memory * std::sqrt(distance);
}

std::string RecordedRuns::words(int run) const {
  const RecordedRun& r = runs_[at(run)];
  const Strategy& s = r.strategy;
  std::string layout = fmt::format("TP {}", s.tensor_parallel);
  const auto add = [&](const char* name, int degree) {
    if (degree > 1) layout += fmt::format(" x {} {}", name, degree);
  };
  add("PP", s.pipeline_parallel);
  add("VPP", s.virtual_pipeline);
  add("CP", s.context_parallel);
  add("EP", s.expert_parallel);
  return fmt::format("{} on {} node{}, {} ({})", r.model, r.nodes, r.nodes == 1 ? "" : "s", layout, r.id);
}

std::vector<double> RecordedRuns::neighbours() const {
  std::vector<double> all;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!runs_[i].seen) continue;
    const Kind own = kind_of(runs_[i]);
    // Values that only this run has are untried among the others.
    Tried kind;
    for (std::size_t k = 0; k < points_.size(); ++k) {
      if (k == i || kind_of(runs_[k]) != own) continue;
      for (std::size_t t = 0; t < kTraits; ++t) kind[t].push_back(points_[k][t]);
    }
    for (std::vector<double>& values : kind) std::sort(values.begin(), values.end());
    const Nearest found = nearest(points_[i], own, weights_for(kind, points_[i]), static_cast<int>(i));
    if (found.run >= 0) all.push_back(found.value);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace trnplan::planner
