#include "api/own_steps.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "api/predictor.h"
#include "api/resolve.h"
#include "logs/training/reserved_memory.h"
#include "text/diagnostic.h"
#include "units/quantity.h"

namespace trnplan::api {

namespace {

/// Two predictions of one step may differ by this part: a factor is applied to the step in one, and to each of its
/// parts, in whole ticks, in the other.
constexpr double kSameStep = 1e-3;

/// Returns the predicted memory; nullopt: not predicted.
std::optional<models::Memory> state_interval(const calibrate::MeasuredStep& run,
                                             std::shared_ptr<const models::Profile> profile,
                                             const std::string& named, double& step, double& low,
                                             double& high) {
  Remarks unsaid;
  Asked asked;
  asked.profile = named;
  const ResolvedJob resolved = resolve(
      run.job, asked, {.one_strategy = true, .refuses = false, .profile = std::move(profile)}, unsaid);
  const Prediction p = Predictor(resolved).predict(resolved.job(), models::canonical(run.strategy));
  if (!p.judgement.plan || std::abs(p.judgement.plan->report.step.value / step - 1) > kSameStep)
    return std::nullopt;
  step = p.judgement.plan->report.step.value;
  low = p.judgement.plan->report.low.value;
  high = p.judgement.plan->report.high.value;
  return p.judgement.plan->memory;
}

}  // namespace

std::string planned_loop(const models::Job& job, const models::Strategy& strategy) {
  Remarks unsaid;
  const ResolvedJob resolved = resolve(job, {}, {.one_strategy = true, .refuses = false}, unsaid);
  return resolved.stack_of(resolved.job(), strategy)->job.software.framework;
}

void state_intervals(calibrate::StepCalibration& c, const models::Profile& prior, const std::string& named) {
  const auto before = std::make_shared<const models::Profile>(prior);
  const auto after = std::make_shared<const models::Profile>(c.fit.profile);
  const auto& steps = c.data->runs.steps;
  for (calibrate::OwnStep& own : c.own) {
    const auto run = std::find_if(steps.begin(), steps.end(), [&](const auto& s) { return s.id == own.id; });
    if (run == steps.end()) continue;
    state_interval(*run, before, named, own.before, own.before_low, own.before_high);
    const auto memory = state_interval(*run, after, named, own.after, own.after_low, own.after_high);
    own.file = run->at.file;
    if (!memory) continue;
    const models::StageMemory& fullest = memory->worst();
    own.peak = fullest.peak().value;
    if (memory->stages.size() == 1) own.allocated = (fullest.peak() - fullest.runtime).value;
  }
}

void remark_memory(const calibrate::StepCalibration& c, const std::vector<calibrate::LogFile>& files,
                   Remarks& remarks) {
  for (const calibrate::LogFile& file : files) {
    const auto own =
        std::find_if(c.own.begin(), c.own.end(), [&](const auto& o) { return o.file == file.path; });
    if (own == c.own.end() || !(own->peak > 0)) continue;
    double most = 0;
    for (const logs::MemorySample& m : file.content.memory)
      most = std::max(most, m.reserved ? m.bytes.value_or(0) : 0);
    const bool more = most > (1 + logs::kReservedMore) * own->peak,
               less = most > 0 && most < (1 - logs::kReservedMore) * own->allocated;
    if (!more && !less) continue;
    remarks.add(fmt::format(
        "{}: {:.2f} GiB of a device were reserved, {:.2f} are predicted. Memory is not learnt: {}",
        printable(file.path, 200), most / kGiB, (more ? own->peak : own->allocated) / kGiB,
        more ? "other layouts may need more than is predicted, too"
             : "layouts that are refused for it may fit"));
  }
}

}  // namespace trnplan::api
