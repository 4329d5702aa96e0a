#include "targets/nxdt/nearest.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/memory/fit_probability.h"
#include "planner/check/judge.h"
#include "planner/search/candidates.h"
#include "targets/nxdt/nxdt_target.h"
#include "units/parallel.h"

namespace trnplan::targets {

namespace {

using models::Strategy;

/// Candidates whose keys are counted: the nearest by the strategy's own parts.
constexpr std::size_t kLooked = 400;
constexpr std::size_t kSimulated = 12;  ///< for one number of keys
constexpr std::size_t kMostKeys = 8;    ///< more changes make another config, which plan finds

/// Keys of a strategy that may change. The other keys of changes_to() belong to cluster, batch and model.
constexpr std::array<std::string_view, 11> kFree = {
    "exp_manager.checkpoint_callback_params.model_parallel_size",
    "distributed_strategy.tensor_model_parallel_size",
    "distributed_strategy.pipeline_model_parallel_size",
    "distributed_strategy.virtual_pipeline_model_parallel_size",
    "distributed_strategy.zero1",
    "distributed_strategy.sequence_parallel",
    "distributed_strategy.kv_replicator",
    "data.micro_batch_size",
    "model.pipeline_cuts",
    "model.activations_checkpoint_granularity",
    "model.activations_checkpoint_recompute"};
constexpr std::string_view kCheckpointKey = kFree[0];

/// A strategy that fits, and its distance from the current one.
struct Near {
  Strategy strategy;
  std::vector<Change> changes;
  Seconds bound{};
};

/// Keys that a strategy sets. The key of checkpoints follows from them, often by an interpolation.
std::size_t keys_of(const std::vector<Change>& changes) {
  return static_cast<std::size_t>(
      std::count_if(changes.begin(), changes.end(), [](const Change& c) { return c.key != kCheckpointKey; }));
}

/// Number of parts in which they differ: at most the number of keys.
int distance(const Strategy& a, const Strategy& b) {
  return (a.tensor_parallel != b.tensor_parallel) + (a.pipeline_parallel != b.pipeline_parallel) +
         (a.virtual_pipeline != b.virtual_pipeline) + (a.zero1 != b.zero1) +
         (a.sequence_parallel != b.sequence_parallel) + (a.micro_batch != b.micro_batch) +
         (a.recompute != b.recompute);
}

class Neighbourhood {
 public:
  Neighbourhood(const models::Job& job, const Strategy& current, const NxdtConfig& config,
                const models::Architecture& trained, const models::Profile& profile,
                const NearOptions& options)
      : job_(job),
        current_(models::canonical(current)),
        config_(config),
        trained_(trained),
        profile_(profile),
        options_(options),
        errors_(errors_of(config)) {}

  std::vector<NearConfig> find() {
    std::map<std::size_t, std::vector<Near>> by_keys = near_by_keys();
    std::vector<NearConfig> front, others;
    for (auto& [keys, near] : by_keys) {
      std::stable_sort(near.begin(), near.end(),
                       [](const Near& a, const Near& b) { return a.bound < b.bound; });
      std::vector<NearConfig> fastest = simulate(near);
      if (fastest.empty()) continue;
      const bool faster = front.empty() || fastest.front().plan.report.step < front.back().plan.report.step;
      auto rest = fastest.begin();
      if (faster && front.size() < most()) front.push_back(std::move(*rest++));
      std::move(rest, fastest.end(), std::back_inserter(others));
    }
    for (NearConfig& other : others) {
      if (front.size() < most()) front.push_back(std::move(other));
    }
    for (NearConfig& n : front) n.warnings = new_warnings(n.changes);
    std::stable_sort(front.begin(), front.end(), [](const NearConfig& a, const NearConfig& b) {
      return std::tuple(!a.warnings.empty(), keys_of(a.changes), a.plan.report.step) <
             std::tuple(!b.warnings.empty(), keys_of(b.changes), b.plan.report.step);
    });
    return front;
  }

 private:
  std::size_t most() const { return static_cast<std::size_t>(std::max(0, options_.most)); }

  std::vector<std::string> warnings_of(const NxdtConfig& config) const {
    std::vector<std::string> warnings;
    for (const Finding& f : lint(config, trained_, job_.software.release)) {
      if (f.severity == Severity::warning) warnings.push_back(f.key + ": " + f.message);
    }
    return warnings;
  }

  std::vector<std::string> new_warnings(const std::vector<Change>& changes) const {
    const std::vector<std::string> before = warnings_of(config_);
    std::vector<std::string> after = warnings_of(with_changes(config_, changes));
    std::erase_if(after, [&](const std::string& warning) {
      return std::find(before.begin(), before.end(), warning) != before.end();
    });
    return after;
  }

  /// Errors of the linter. A near config may not add to them.
  std::set<std::pair<std::string, std::string>> errors_of(const NxdtConfig& config) const {
    std::set<std::pair<std::string, std::string>> errors;
    for (const Finding& f : lint(config, trained_, job_.software.release)) {
      if (f.severity == Severity::error) errors.emplace(f.rule, f.key);
    }
    return errors;
  }

  std::map<std::size_t, std::vector<Near>> near_by_keys() {
    models::Job around = job_;
    around.pin = {};
    around.pin.context_parallel = current_.context_parallel;
    around.pin.expert_parallel = current_.expert_parallel;
    around.pin.flash_attention = current_.flash_attention;
    around.training.precision = current_.precision;
    around.space = {};
    around.space.zero1 = true;
    planner::Candidates candidates(std::move(around), profile_, false, options_.fit_probability,
                                   thread_count(options_.threads));
    std::vector<planner::Candidate*> legal;
    for (planner::Candidate& c : candidates.all) {
      if (c.feasibility == planner::Feasibility::legal) legal.push_back(&c);
    }
    const auto order = [&](const planner::Candidate* c) {
      return std::pair(distance(c->strategy, current_), c->bound);
    };
    std::stable_sort(
        legal.begin(), legal.end(),
        [&](const planner::Candidate* a, const planner::Candidate* b) { return order(a) < order(b); });
    if (legal.size() > kLooked) legal.resize(kLooked);
    std::map<std::size_t, std::vector<Near>> by_keys;
    for (planner::Candidate* c : legal) {
      if (auto near = nearest_form(candidates, *c))
        by_keys[keys_of(near->changes)].push_back(std::move(*near));
    }
    return by_keys;
  }

  /// Form of a candidate that changes the fewest keys: with the current cuts, else none, else the best ones.
  std::optional<Near> nearest_form(planner::Candidates& candidates, planner::Candidate& c) {
    Strategy s = c.strategy;
    if (s.tensor_parallel == current_.tensor_parallel) s.kv_replicator = current_.kv_replicator;
    std::vector<std::vector<int>> cuts{{}};
    if (s.pipeline_parallel == current_.pipeline_parallel && s.virtual_pipeline == current_.virtual_pipeline)
      cuts.insert(cuts.begin(), current_.pipeline_cuts);
    std::optional<Near> best;
    const auto offer = [&](const std::vector<int>& at) {
      s.pipeline_cuts = at;
      if (best || !fits(s)) return;
      auto changes = changes_for(s);
      if (changes && !changes->empty() && changes->size() <= kMostKeys)
        best = Near{s, std::move(*changes), c.bound};
    };
    for (const std::vector<int>& at : cuts) offer(at);
    if (!best) {
      candidates.refine(c);
      offer(c.strategy.pipeline_cuts);
    }
    return best;
  }

  bool fits(const Strategy& s) const {
    const double wanted = std::max(options_.fit_probability, models::kLeastFitProbability);
    if (!rule_free(s)) return false;
    const models::Memory memory = models::memory_of(job_, s, profile_);
    return memory.worst().peak() <= memory.limit && memory.fit_probability >= wanted;
  }

  /// Cuts that were never judged may name layers that do not exist.
  bool rule_free(const Strategy& s) const {
    return s.pipeline_cuts.empty() || static_cast<int>(s.pipeline_cuts.size()) + 1 == s.pipeline_parallel;
  }

  /// Fewest keys that make the config state this strategy; nullopt if no keys do.
  std::optional<std::vector<Change>> changes_for(const Strategy& s) const {
    std::vector<Change> changes;
    try {
      changes = changes_to(job_, s, config_, trained_);
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
    std::erase_if(
        changes, [](const Change& c) { return std::find(kFree.begin(), kFree.end(), c.key) == kFree.end(); });
    if (!states(changes, s)) return std::nullopt;
    // A list of classes together with granularity full, for example, may stay.
    for (std::size_t i = changes.size(); i-- > 0;) {
      if (changes[i].key == kCheckpointKey) continue;
      std::vector<Change> fewer = changes;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (states(fewer, s)) changes = std::move(fewer);
    }
    const auto errors = errors_of(with_changes(config_, changes));
    const bool new_error =
        std::any_of(errors.begin(), errors.end(), [&](const auto& e) { return !errors_.contains(e); });
    return new_error ? std::nullopt : std::optional(changes);
  }

  bool states(const std::vector<Change>& changes, const Strategy& s) const {
    Strategy said = interpret(with_changes(config_, changes), trained_).strategy;
    said.data_parallel = s.data_parallel;
    return models::canonical(said) == models::canonical(s);
  }

  /// Fastest first.
  std::vector<NearConfig> simulate(const std::vector<Near>& near) const {
    std::vector<NearConfig> done;
    std::optional<Seconds> best;
    for (const Near& n : near) {
      if (done.size() >= kSimulated || (done.size() >= most() && best && !(n.bound < *best))) break;
      planner::Judgement judged = planner::judge(job_, n.strategy, profile_, &nxdt());
      if (!judged.plan || !judged.broken.empty()) continue;
      const Seconds step = judged.plan->report.step;
      if (!best || step < *best) best = step;
      const double probability = judged.memory->fit_probability;
      done.push_back({n.changes, std::move(*judged.plan), probability, {}});
    }
    std::stable_sort(done.begin(), done.end(), [](const NearConfig& a, const NearConfig& b) {
      return a.plan.report.step < b.plan.report.step;
    });
    return done;
  }

  const models::Job& job_;
  Strategy current_;
  const NxdtConfig& config_;
  const models::Architecture& trained_;
  const models::Profile& profile_;
  NearOptions options_;
  std::set<std::pair<std::string, std::string>> errors_;
};

}  // namespace

NxdtConfig with_changes(NxdtConfig config, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    const auto leaf = std::find_if(config.keys.begin(), config.keys.end(),
                                   [&](const NxdtKey& k) { return k.key == change.key; });
    if (leaf == config.keys.end()) {
      config.keys.push_back({change.key, change.to, false, {config.file, 0, 0}});
    } else {
      leaf->text = change.to;
      leaf->quoted = false;
    }
  }
  return config;
}

std::vector<NearConfig> nearest_that_fit(const models::Job& job, const models::Strategy& current,
                                         const NxdtConfig& config, const models::Architecture& trained,
                                         const models::Profile& profile, const NearOptions& options) {
  return Neighbourhood(job, current, config, trained, profile, options).find();
}

}  // namespace trnplan::targets
