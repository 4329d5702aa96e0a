#include "api/plan.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/contradictions.h"
#include "api/known_jobs.h"
#include "api/known_runs.h"
#include "api/observations.h"
#include "api/plan_folder.h"
#include "api/risk.h"
#include "api/training_loop.h"
#include "api/unlearnable.h"
#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/step_fit.h"
#include "io/catalog/measuring.h"
#include "io/catalog/reliability.h"
#include "io/input/readers.h"
#include "models/framework/framework.h"
#include "planner/check/invariants.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/search/parallel.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "targets/registry.h"
#include "text/document.h"

namespace trnplan::api {

namespace {

/// The config of what one runs today.
struct Current {
  targets::NxdtConfig config;
  models::Architecture trained;
};

/// The config that a plan is set beside: --baseline, or the job's own when it is an NxDT YAML.
std::string baseline_file(const PlanRequest& o, const io::Catalog& catalog) {
  if (!o.baseline.empty() || io::job_source(o.job.job, catalog, o.job.texts) != io::JobSource::nxdt)
    return o.baseline;
  return o.job.job;
}

std::optional<Current> read_baseline(const std::string& file, const PlanRequest& o, const models::Job& job,
                                     const io::Catalog& catalog, Remarks& remarks) {
  if (file.empty()) return std::nullopt;
  const std::string text = o.job.texts.text(file);
  const Node root = parse_document(text, file);
  if (!targets::looks_like_nxdt(root)) {
    throw InputError({{file, 0, 0},
                      "--baseline",
                      "this is no NxDT config: it has no trainer and no distributed_strategy",
                      "give the YAML that NxDT runs with"});
  }
  Current current;
  current.config = targets::nxdt_from(root);
  current.config.devices_lines = targets::devices_lines(text, file);
  const io::ArchitectureReading model = io::architecture_of_nxdt(current.config, catalog, o.job.texts);
  if (file != o.job.job) remarks.add(model.notes);  // of its own config the job has said it
  current.trained = model.architecture;
  std::vector<Diagnostic> faults = targets::baseline_faults(job, current.config, current.trained);
  if (!faults.empty()) throw InputError(std::move(faults));
  return current;
}

/// A plan that breaks what holds of every plan is a bug.
void check(const models::Job& job, const planner::Plan& plan, const PlanRequest& o) {
  const std::vector<std::string> broken = planner::broken_invariants(job, plan, o.fit_probability);
  if (broken.empty()) return;
  throw std::logic_error(
      fmt::format("plan \"{}\" contradicts itself: {}", describe(plan.strategy), fmt::join(broken, "; ")));
}

void check_result(const models::Job& job, const planner::SearchResult& result, const PlanRequest& o) {
  for (const planner::Plan& plan : result.plans) check(job, plan, o);
  for (const planner::Plan& plan : result.layouts) check(job, plan, o);
  for (const planner::ClusterPlan& c : result.clusters) check(job, c.plan, o);
  if (!result.infeasible) return;
  if (result.infeasible->too_slow) check(job, *result.infeasible->too_slow, o);
  if (result.infeasible->too_expensive) check(job, *result.infeasible->too_expensive, o);
}

/// Remarks that depend on what was found.
void remark_result(const planner::SearchResult& result, const io::Catalog& catalog,
                   const models::Profile& profile, const models::Job& job, Remarks& remarks) {
  if (result.plans.empty()) return;
  const planner::Plan& winner = *result.recommended_plan();
  remark_family(catalog, profile, planner::settled(job, winner).cluster.instance, remarks);
  remark_release(profile, job.software, remarks);
  const std::string beyond =
      beyond_the_fit("the winner", profile, planner::settled(job, winner), winner.strategy);
  if (!beyond.empty()) remarks.add(beyond);
}

/// What the job says of the whole run. Limits without tokens ask how far it gets, and refuse no plan.
planner::RunQuestion take_run_question(models::Job& job) {
  planner::RunQuestion q;
  q.tokens = job.training.tokens;
  if (job.deadline.value > 0) q.deadline = job.deadline;
  if (job.budget > 0) q.budget = job.budget;
  if (!q.asks_for_tokens()) return q;
  job.deadline = {};
  job.budget = 0;
  return q;
}

/// The whole run with failures, as whatif counts them: of the recommended plan; where deadline or budget refuse every plan, what they let the nearest one reach.
/// None where no limit is stated.
std::optional<planner::ForecastRun> whole_run(const models::Job& job, planner::RunQuestion q,
                                              const planner::SearchResult& result, const io::Catalog& catalog,
                                              Remarks& remarks) {
  const planner::Plan* plan = result.recommended_plan();
  if (plan == nullptr && result.infeasible) {
    const planner::Infeasible& why = *result.infeasible;
    plan = why.too_slow ? &*why.too_slow : why.too_expensive ? &*why.too_expensive : nullptr;
    q.tokens = 0;
  }
  if (plan == nullptr || (!q.deadline && !q.budget)) return std::nullopt;
  const planner::Reliability reliability =
      io::reliability_from(read_document(catalog.file("reliability.json")));
  planner::ForecastRun run{q, planner::answer_run(planner::settled(job, *plan), *plan, q, {}, reliability)};
  if (run.answer.why.empty()) return run;
  remarks.add("the whole run cannot be told: " + run.answer.why);
  return std::nullopt;
}

/// What is written for a target runs with it, so that is what is predicted.
void take_stack(models::Job& job, const planner::Target& target, const PlanRequest& request,
                bool precision_stated, Remarks& remarks) {
  const std::string stated = job.software.framework;
  take_target(job, target, !request.target.empty() || !request.out.empty(), precision_stated);
  if (job.software.framework == stated) return;
  if (stated.empty() && !request.target.empty()) return;  // which states it
  const std::string why = stated.empty() ? "software.framework is not stated"
                                         : fmt::format("software.framework {} does not train on {}",
                                                       printable(stated), job.cluster.instance.name);
  remarks.add(fmt::format("{}: predicted as {} runs it", why, target.name()));
}

std::optional<WrittenTraining> written_training(const models::Job& job, const planner::Plan& plan,
                                                const planner::Target& target) {
  const models::Job settled = planner::settled(job, plan);
  const planner::TrainCommand command = target.command(settled, plan.strategy);
  if (command.learning.source.empty()) return std::nullopt;
  const double steps = static_cast<double>(command.steps);
  return WrittenTraining{command.steps,
                         steps * plan.global_batch * settled.training.sequence,
                         steps * in_days(plan.report.step),
                         command.learning,
                         settled.training.tokens > 0,
                         settled.learning.learning_rate.has_value()};
}

/// How a fit reads nccom-test, which the planner does not see.
planner::ConfidenceOptions confidence_options(const io::Catalog& catalog, double sure,
                                              const planner::RecommendingParameters& recommending) {
  const calibrate::StepFitOptions fit;
  const auto& parameters = calibrate::kCollectiveParameters;
  return {sure,
          io::measuring_from(read_document(catalog.file("measuring.json")),
                             io::reliability_from(read_document(catalog.file("reliability.json")))),
          {{parameters.begin(), parameters.end()},
           fit.collective_noise,
           fit.build_spread,
           fit.launch_spread,
           catalog.default_instance()},  // of the published runs, whose tables a fit of steps takes
          recommending.unstated_run};
}

/// True once the time limit, which counts from `start` on, is over.
bool is_late(const PlanRequest& o, std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return o.time_limit > 0 && spent.count() > o.time_limit;
}

/// What was left out because the target cannot say it, or that it can say nothing.
void remark_target(const planner::SearchResult& result, const planner::Target& target, const models::Job& job,
                   Remarks& remarks) {
  if (!result.beyond_target || result.plans.empty()) return;
  const planner::Plan& winner = *result.recommended_plan();
  const auto why = planner::inexpressible(target, planner::settled(job, winner), winner.strategy);
  if (why) remarks.add(fmt::format("the plans are of all strategies: {}", *why));
}

/// Of the plans, whose intervals it widens, and of what is shown beside them.
void tell_outlooks(PlanResult& out, const planner::RiskAdvisor& advisor) {
  planner::SearchResult& result = out.search;
  if (result.plans.empty()) return;
  const planner::Plan recommended = *result.recommended_plan();
  for (planner::Plan& plan : result.plans) {
    out.outlooks.push_back(advisor.outlook(plan, recommended));
    planner::tell_risk(plan, out.outlooks.back());
  }
  for (planner::Plan& plan : result.layouts) planner::tell_risk(plan, advisor.outlook(plan, recommended));
  for (planner::ClusterPlan& c : result.clusters)
    planner::tell_risk(c.plan, advisor.outlook(c.plan, recommended));
}

}  // namespace

PlanResult plan(const PlanRequest& request, Remarks& remarks) {
  const auto begin = std::chrono::steady_clock::now();
  PlanRequest o = request;
  const io::Catalog catalog = io::Catalog::standard();
  models::Profile stated = load_profile(catalog, o.profile);
  JobInput argument = o.job;
  argument.options.free_strategy = true;
  argument.options.target = o.target;
  io::JobReading reading = load_job(argument, catalog, remarks);
  models::Job& job = reading.job;
  refuse_mixed_machines(o.job.job, reading, [&](const topology::Instance& type) {
    Remarks heard;
    return profile_for(catalog, stated, false, type, heard).name;
  });
  const models::Profile profile =
      profile_for(catalog, std::move(stated), o.profile_given, job.cluster.instance, remarks);
  PlanResult out;
  const bool aims = !o.target.empty() || !o.out.empty();
  if (o.target.empty()) o.target = targets::of(job).name();
  const planner::Target& target = *targets::find(o.target);
  if (!request.target.empty() || target.name() == job.software.framework)
    refuse_other_machines(o.job.job, reading, target, !request.target.empty());
  take_stack(job, target, request, reading.places.contains("training.precision"), remarks);
  take_loop(job, profile, models::framework_stated_by(job));
  refuse_contradictions(o.job.job, reading, target);
  if (aims) refuse_unlearnable(reading, target);
  const planner::RunQuestion question = take_run_question(job);
  out.unwritten = unwritable(o);
  out.baseline_file = baseline_file(o, catalog);
  const std::optional<Current> current = read_baseline(out.baseline_file, o, job, catalog, remarks);

  if (o.threads > planner::core_count())
    remarks.add(fmt::format("--threads {}: this machine has {} cores, and no more are used", o.threads,
                            planner::core_count()));
  const std::vector<planner::Observation> observations = load_observations(o.profile);
  const KnownRisk risk(catalog, observations, job.architecture, asks_for_gpus(job));
  planner::ConfidenceOptions measuring = confidence_options(catalog, o.sure, risk.parameters());
  const planner::RiskAdvisor advisor = risk.advisor(job, profile, o.risk, o.sure);
  const auto start = std::chrono::steady_clock::now();
  out.search = planner::search(job, profile,
                               {.top = o.top,
                                .allow_doubtful = o.allow_doubtful,
                                .fit_probability = o.fit_probability,
                                .target = &target,
                                .advisor = &advisor,
                                .threads = std::min(o.threads, planner::core_count()),
                                .time_limit = Seconds(o.time_limit),
                                .since = begin,
                                .stop = o.stop,
                                .progress = o.progress});
  out.wall = Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  planner::SearchResult& result = out.search;
  out.interrupted = o.stop != nullptr && o.stop->load();
  check_result(job, result, o);
  const planner::KnownJobs known = load_known_jobs(catalog, profile, asks_for_gpus(job));
  for (planner::Plan& plan : result.plans) tell_nearest(plan, known, job);
  remark_result(result, catalog, profile, job, remarks);
  remark_target(result, target, job, remarks);
  tell_observations(result, observations, job, remarks);
  tell_outlooks(out, advisor);

  const planner::Plan* winner = result.recommended_plan();
  std::optional<targets::Baseline>& baseline = out.baseline;
  if (current) {
    baseline = targets::baseline_of(job, current->config, current->trained, profile, winner);
    remarks.add(baseline->remarks);
  }
  if (is_late(o, begin)) {
    measuring.tables.parameters.clear();
    if (result.plans.size() > 1) result.cut_short.push_back("nccom-test is not considered as a measurement");
  }
  for (const std::string& what : result.cut_short) remarks.add("time limit: " + what);
  out.confidence = planner::confidence_of(
      job, result.plans, baseline && baseline->plan && baseline->runs() ? &*baseline->plan : nullptr, profile,
      measuring, result.recommended);
  if (out.interrupted) {
    remarks.add(winner == nullptr ? "interrupted before any plan was found"
                                  : "interrupted: the best so far follows");
    if (!o.out.empty()) remarks.add("nothing was written to " + o.out);
  } else if (!o.out.empty() && winner != nullptr && !out.unwritten) {
    try {
      out.script = write_plan_folder(job, result, out.confidence, o, remarks);
      out.written = true;
      out.training = written_training(job, *winner, target);
    } catch (const InputError& e) {
      out.unwritten = e;
    }
  }
  out.measures = target.compiles_ahead();
  out.writable =
      winner == nullptr || !planner::inexpressible(target, planner::settled(job, *winner), winner->strategy);
  out.run = whole_run(job, question, result, catalog, remarks);
  out.ties = planner::ties_of(job, result, profile, o.sure);
  out.job = std::move(job);
  out.profile = profile;
  return out;
}

}  // namespace trnplan::api
