#include "api/learning_keys.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/contradictions.h"
#include "planner/plan/space.h"
#include "text/diagnostic.h"

namespace trnplan::api {

namespace {

/// A key of a job, and the function that copies its value.
struct Key {
  const char* name;
  void (*copy)(const models::Job& from, models::Job& to);
};

constexpr Key kKeys[] = {
    {"learning.schedule", [](const auto& a, auto& b) { b.learning.schedule = a.learning.schedule; }},
    {"learning.optimizer", [](const auto& a, auto& b) { b.learning.optimizer = a.learning.optimizer; }},
    {"learning.learning_rate",
     [](const auto& a, auto& b) { b.learning.learning_rate = a.learning.learning_rate; }},
    {"learning.min_learning_rate",
     [](const auto& a, auto& b) {
       b.learning.min_learning_rate = a.learning.min_learning_rate;
       b.learning.learning_rate = a.learning.learning_rate;
       b.learning.schedule = a.learning.schedule;
     }},
    {"learning.warmup_steps",
     [](const auto& a, auto& b) { b.learning.warmup_steps = a.learning.warmup_steps; }},
    {"learning.constant_steps",
     [](const auto& a, auto& b) {
       b.learning.constant_steps = a.learning.constant_steps;
       b.learning.schedule = a.learning.schedule;
     }},
    {"learning.betas",
     [](const auto& a, auto& b) {
       b.learning.beta1 = a.learning.beta1;
       b.learning.beta2 = a.learning.beta2;
     }},
    {"learning.weight_decay",
     [](const auto& a, auto& b) { b.learning.weight_decay = a.learning.weight_decay; }},
    {"learning.gradient_clip",
     [](const auto& a, auto& b) { b.learning.gradient_clip = a.learning.gradient_clip; }},
    {"run.checkpoint_steps", [](const auto& a, auto& b) { b.run.checkpoint_steps = a.run.checkpoint_steps; }},
    {"run.checkpoints_kept", [](const auto& a, auto& b) { b.run.checkpoints_kept = a.run.checkpoints_kept; }},
    {"run.log_steps", [](const auto& a, auto& b) { b.run.log_steps = a.run.log_steps; }},
    {"run.start_from", [](const auto& a, auto& b) { b.run.start_from = a.run.start_from; }},
};

}  // namespace

void refuse_learning_keys(const io::JobReading& reading, const planner::Target& target) {
  if (reading.job.learning == models::Learning{} && reading.job.run == models::RunFiles{}) return;
  std::vector<Diagnostic> faults;
  for (const models::Job& stated : clusters_of(reading.job)) {
    models::Job open = stated;
    open.learning = {};
    open.run = {};
    const planner::Space space = planner::space_of(open, &target);
    if (space.beyond_target || space.strategies.empty()) continue;
    for (const Key& key : kKeys) {
      const auto place = reading.places.find(key.name);
      if (place == reading.places.end()) continue;
      models::Job one = open;
      key.copy(stated, one);
      const auto refused = [&](const models::Strategy& s) { return !target.expresses(one, s); };
      if (!std::all_of(space.strategies.begin(), space.strategies.end(), refused)) continue;
      for (const planner::Violation& v : target.violations(one, space.strategies.front())) {
        Diagnostic fault{place->second, key.name,
                         "target " + std::string(target.name()) + " cannot do it: " + v.message, v.fix};
        // A key that is judged together with another is identified by the part that is its own.
        const auto same_problem = [&](const Diagnostic& d) { return d.problem == fault.problem; };
        if (std::none_of(faults.begin(), faults.end(), same_problem)) faults.push_back(std::move(fault));
      }
    }
    if (!faults.empty()) throw InputError(std::move(faults));
  }
}

}  // namespace trnplan::api
