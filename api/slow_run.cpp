#include "api/slow_run.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "io/input/strategy_text.h"
#include "launch/watch/explanation_words.h"
#include "models/framework/framework.h"
#include "planner/plan/strategy_grammar.h"

namespace trnplan::api {

namespace {

/// Change of the steps, relative, that is not explained again: that of a sound run within a day is larger.
constexpr double kSameSteps = 0.01;

bool are_same(const launch::SlowSteps& a, const launch::SlowSteps& b) {
  return a.later == b.later && a.spread.has_value() == b.spread.has_value() &&
         std::abs(a.seconds / a.expected * b.expected / b.seconds - 1) < kSameSteps &&
         std::abs(a.saving - b.saving) < kSameSteps * b.seconds && a.explained == b.explained;
}

/// ",framework=fsdp" if neither that text nor the machine decides for the loop that ran.
std::string loop_of(const io::PlanFile& plan, const std::string& strategy) {
  const models::Strategy& s = plan.strategy;
  const bool usual = s.framework == models::usual_framework(plan.job.cluster.instance.traits);
  if (usual || io::states_loop(strategy)) return "";
  return fmt::format(",framework={}", models::framework_of(s).name());
}

/// "trnplan simulate" of what ran. A folder's job is its config.json, or the model by its name.
std::vector<std::string> simulate_words(const WatchRequest& o, const launch::WatchContext& context) {
  namespace fs = std::filesystem;
  const models::Job& job = context.plan->job;
  std::vector<std::string> words = {"trnplan", "simulate"};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  const std::string grammar = planner::strategy_grammar(job, context.plan->strategy);
  if (!o.ran.job.empty() || !o.ran.config.empty()) {
    const bool config = o.ran.job.empty();
    words.push_back(config ? o.ran.config : o.ran.job);
    add("--strategy", config ? grammar : o.ran.strategy + loop_of(*context.plan, o.ran.strategy));
    const std::vector<std::string> machine = o.ran.machine_words();
    words.insert(words.end(), machine.begin(), machine.end());
  } else {
    const fs::path config = fs::path(o.ran.plan).replace_filename("config.json");
    words.push_back(fs::exists(config) ? config.string() : job.architecture.name);
    add("--strategy", grammar);
    add("--instance", job.cluster.instance.name);
    add("--nodes", fmt::to_string(job.cluster.nodes));
    add("--sequence", fmt::to_string(job.training.sequence));
    add("--global-batch", fmt::to_string(job.training.global_batch));
    add("--release", job.software.release);
  }
  add("--profile", o.profile);
  return words;
}

}  // namespace

void SlowRun::explain(const launch::RunLog& log, const launch::WatchContext& context,
                      io::WatchReport& report) {
  if (!report.predicted || !context.profile) return;
  const std::optional<launch::SlowSteps> slow = launch::slow_steps(log, *context.plan);
  if (!slow) return;
  if (!explained_ || !are_same(*explained_, *slow)) {
    const models::Job& job = context.plan->job;
    std::vector<launch::Explanation> found;
    if (!slow->explained) found = launch::explain(*slow, job, context.plan->strategy, *context.profile);
    explained_ = slow;
    explanations_ = launch::in_words(found, *slow, job);
    to_tell_ = launch::how_to_tell(found);
    for (io::WatchExplanation& e : explanations_) {
      if (e.scenario.empty()) continue;
      e.command = simulate_words(request_, context);
      e.command.insert(e.command.end(), {"--scenario", e.scenario});
    }
  }
  report.explanations = explanations_;
  report.to_tell = to_tell_;
}

}  // namespace trnplan::api
