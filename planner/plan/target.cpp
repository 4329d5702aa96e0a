#include "planner/plan/target.h"

#include <algorithm>

namespace trnplan::planner {

namespace {

bool has_no_fix(const Violation& v) {
  return v.fix.empty();
}

}  // namespace

std::string Target::neuron_release(const models::Job& job) const {
  if (neuron_stack().empty()) return "";
  if (!job.software.release.empty() || job.neuron_releases == nullptr) return job.software.release;
  const models::NeuronStack* stack = job.neuron_releases->stack(neuron_stack());
  return stack == nullptr ? "" : stack->release;
}

std::string ending_of(const Target& target, const topology::Traits& machine,
                      const models::NeuronReleases& known) {
  const models::NeuronStack* stack = known.stack(target.neuron_stack());
  if (stack == nullptr || stack->ending.empty()) return "";
  const std::string& after = machine.native_pytorch ? stack->after_on_native_pytorch : stack->after_elsewhere;
  return stack->ending + (after.empty() ? "" : "; " + after);
}

const models::NeuronRelease* pinned_release(const Target& target, const models::Job& job) {
  const std::string wanted = target.neuron_release(job);
  if (wanted.empty() || job.neuron_releases == nullptr) return nullptr;
  return models::nearest_release(*job.neuron_releases, wanted);
}

std::string release_doubt(const Target& target, const models::Job& job) {
  const models::NeuronRelease* pinned = pinned_release(target, job);
  const std::string wanted = target.neuron_release(job);
  if (pinned == nullptr || models::find_release(*job.neuron_releases, wanted) != nullptr) return "";
  return "The packages of Neuron SDK " + wanted + " are not known: those of " + pinned->release +
         ", the nearest known release, are pinned.";
}

bool beyond_mending(const Target& target, const models::Job& job, const models::Strategy& strategy) {
  const std::vector<Violation> broken = target.violations(job, strategy);
  return std::any_of(broken.begin(), broken.end(), has_no_fix);
}

std::optional<std::string> inexpressible(const Target& target, const models::Job& job,
                                         const models::Strategy& strategy) {
  std::vector<Violation> broken = target.violations(job, strategy);
  if (broken.empty()) return std::nullopt;
  // If one fault cannot be mended, fixes of the others are no help.
  const bool hopeless = std::any_of(broken.begin(), broken.end(), has_no_fix);
  if (hopeless) {
    broken.erase(
        std::remove_if(broken.begin(), broken.end(), [](const Violation& v) { return !has_no_fix(v); }),
        broken.end());
  }
  std::string all;
  for (const Violation& v : broken) {
    if (!all.empty()) all += ", and ";
    all += v.message;
    if (!v.fix.empty()) all += "; " + v.fix;
  }
  return std::string(target.name()) +
         (hopeless ? " cannot be given this plan: " : " cannot express this plan: ") + all;
}

}  // namespace trnplan::planner
