#include "api/stacks.h"

#include <string>

#include "models/framework/framework.h"
#include "targets/registry.h"

namespace trnplan::api {

namespace {

/// True if the job states software for other machines, or with another training loop than that of the stack.
bool runs_elsewhere(const models::Job& job, const Stack& stack) {
  const planner::Target* target = targets::find(job.software.framework);
  if (target == nullptr || target == stack.target) return false;
  return !target->trains_on(job.cluster.instance.traits) ||
         (!target->framework().empty() && models::stated_framework(target->framework()) != stack.loop);
}

}  // namespace

models::Job on_stack(models::Job job, const Stack& stack, const StackChoice& choice,
                     const models::Profile& profile) {
  const bool elsewhere = runs_elsewhere(job, stack);
  if (!choice.loop_pinned) job.pin.framework.reset();
  if (stack.loop != models::usual_framework(job.cluster.instance.traits)) job.pin.framework = stack.loop;
  if (stack.target != nullptr) {
    targets::take_defaults(job, *stack.target, choice.precision_stated);
    if (elsewhere || job.software.framework.empty()) job.software.framework = stack.target->name();
  } else if (elsewhere || (profile.factors && job.software.framework.empty())) {
    job.software.framework = stack.loop;  // profiles use it to identify loops that no target writes
  }
  if (job.software.release.empty()) job.software.release = models::site_release(profile, job);
  return job;
}

std::string_view name_of(const Stack& stack) {
  if (stack.target != nullptr) return stack.target->name();
  models::Strategy s;
  s.framework = stack.loop;
  return models::framework_of(s).name();
}

}  // namespace trnplan::api
