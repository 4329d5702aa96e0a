#include "api/plan.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/observations.h"
#include "api/plan_folder.h"
#include "api/prices.h"
#include "api/whatif.h"
#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/step_fit.h"
#include "io/catalog/measuring.h"
#include "io/catalog/reliability.h"
#include "io/input/readers.h"
#include "models/framework/framework.h"
#include "planner/check/invariants.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "targets/registry.h"
#include "text/document.h"
#include "units/parallel.h"

namespace trnplan::api {

namespace {

/// The config in use.
struct Current {
  targets::NxdtConfig config;
  models::Architecture trained;
};

/// Config with which plans are compared: --baseline, or the job's own if it is an NxDT YAML.
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
                      "this is not an NxDT config: it has no trainer and no distributed_strategy",
                      "give the YAML that NxDT runs with"});
  }
  Current current;
  current.config = targets::nxdt_from(root);
  current.config.devices_lines = targets::devices_lines(text, file);
  const io::ArchitectureReading model = io::architecture_of_nxdt(current.config, catalog, o.job.texts);
  if (file != o.job.job) remarks.add(model.notes, "model");  // for its own config, the job has reported them
  current.trained = model.architecture;
  std::vector<Diagnostic> faults = targets::baseline_faults(job, current.config, current.trained);
  if (!faults.empty()) throw InputError(std::move(faults));
  return current;
}

/// A plan that breaks an invariant of plans is a bug.
void check(const models::Job& job, const planner::Plan& plan, const PlanRequest& o) {
  const std::vector<std::string> broken = planner::broken_invariants(job, plan, o.fit_probability);
  if (broken.empty()) return;
  throw std::logic_error(
      fmt::format("plan \"{}\" contradicts itself: {}", describe(plan.strategy), fmt::join(broken, "; ")));
}

void check_result(const models::Job& job, const planner::SearchResult& result, const ResolvedJob& resolved,
                  const PlanRequest& o) {
  for (const planner::Plan& plan : result.plans) check(job, plan, o);
  for (const planner::Plan& plan : result.layouts) check(job, plan, o);
  for (const planner::ClusterPlan& c : result.clusters) {  // of any stack
    const models::Job at = planner::as_planned(resolved.job(), c.plan);
    check(resolved.stack_of(at, c.plan.strategy)->job, c.plan, o);
  }
  if (!result.infeasible) return;
  if (result.infeasible->too_slow) check(job, *result.infeasible->too_slow, o);
  if (result.infeasible->too_expensive) check(job, *result.infeasible->too_expensive, o);
}

/// Remarks that depend on the result.
void remark_result(const planner::SearchResult& result, const models::Profile& profile,
                   const models::Job& job, Remarks& remarks) {
  if (result.plans.empty()) return;
  const planner::Plan& winner = *result.recommended_plan();
  remark_release(profile, job, remarks);
  const std::string beyond =
      beyond_the_fit("the best plan", profile, planner::as_planned(job, winner), winner.strategy);
  if (!beyond.empty()) remarks.add(beyond, "beyond-fit");
}

/// Forecast of the whole run with failures, as whatif counts them: for the recommended plan or, if deadline
/// or budget refuse every plan, for the nearest one within them. None if no limit is stated.
std::optional<planner::ForecastRun> whole_run(const models::Job& job, planner::RunQuestion q,
                                              const planner::SearchResult& result, const io::Catalog& catalog,
                                              Remarks& remarks) {
  const planner::Plan* plan = result.recommended_plan();
  if (plan == nullptr && result.infeasible) {
    const planner::Infeasible& why = *result.infeasible;
    plan = why.too_slow ? &*why.too_slow : why.too_expensive ? &*why.too_expensive : nullptr;
    q.tokens = 0;
  }
  if (plan == nullptr || (q.asks_for_tokens() && !q.deadline && !q.budget)) return std::nullopt;
  const planner::Reliability reliability = io::reliability_from(*catalog.document("reliability.json"));
  planner::ForecastRun run{q,
                           planner::answer_run(planner::as_planned(job, *plan), *plan, q, {}, reliability)};
  if (run.answer.why.empty()) return run;
  remarks.add("the whole run cannot be predicted: " + run.answer.why, "run");
  return std::nullopt;
}

/// Solves for the nodes that keep the limits of the run, if no plan does.
void solve_for_nodes(planner::SearchResult& result, const ResolvedJob& resolved, const Predictor& predictor,
                     bool allow_doubtful) {
  const planner::RunQuestion& run = resolved.run();
  models::Job job = resolved.job();
  const bool open = !job.space.nodes.empty() || !job.space.instances.empty();
  if (!result.infeasible || open || run.asks_for_tokens() || !run.deadline) return;
  planner::Infeasible& why = *result.infeasible;
  if (why.nodes_that_would_do == 0 && !why.too_slow) return;
  planner::WhatIfQuestion q;
  q.instances = {job.cluster.instance};
  q.tokens = run.tokens;
  q.deadline = run.deadline;
  q.budget = run.budget;
  q.confidence = kSolvedFor;
  q.preference = planner::Preference::smallest;
  q.allow_doubtful = allow_doubtful;
  without_limits(job);
  const auto search = [&](const models::Job& at, const models::Profile&, const planner::SearchOptions& o) {
    return predictor.recommend(at, o).search;
  };
  const planner::WhatIfResult found =
      planner::whatif(job, q, resolved.profile_on(job.cluster.instance),
                      io::reliability_from(*resolved.catalog().document("reliability.json")), search);
  why.nodes_in_limits = 0;
  if (found.recommended < 0) return;
  const planner::WhatIfPoint& p = found.points[static_cast<std::size_t>(found.recommended)];
  why.nodes_in_limits = p.nodes;
  why.probability_in_limits = p.run.probability_in_limits();
}

std::optional<WrittenTraining> written_training(const models::Job& job, const planner::Plan& plan,
                                                const planner::Target& target) {
  const models::Job planned = planner::as_planned(job, plan);
  const planner::TrainCommand command = target.command(planned, plan.strategy);
  if (command.learning.source.empty()) return std::nullopt;
  const double steps = static_cast<double>(command.steps);
  return WrittenTraining{command.steps,
                         steps * plan.global_batch * planned.training.sequence,
                         steps * in_days(plan.report.step),
                         command.learning,
                         planned.training.tokens > 0,
                         planned.learning.learning_rate.has_value()};
}

/// Reading of nccom-test for a fit, which the planner does not see.
planner::ConfidenceOptions confidence_options(const io::Catalog& catalog, double sure,
                                              const planner::RecommendingParameters& recommending) {
  const calibrate::StepFitOptions fit;
  const auto& parameters = calibrate::kCollectiveParameters;
  return {sure,
          io::measuring_from(*catalog.document("measuring.json"),
                             io::reliability_from(*catalog.document("reliability.json"))),
          {{parameters.begin(), parameters.end()},
           fit.collective_noise,
           fit.build_spread,
           fit.launch_spread,
           catalog.default_instance()},  // of the published runs, with the tables that a fit of steps takes
          recommending.unstated_run};
}

/// True once the time limit, counted from `start`, is over.
bool is_late(const PlanRequest& o, std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return o.time_limit > 0 && spent.count() > o.time_limit;
}

/// Remark on plans that the target cannot express, or that it can express none; and, unless `out` is refused for it, on
/// a machine that no folder is written for.
void remark_target(const planner::SearchResult& result, const planner::Target* target, const models::Job& job,
                   const std::string& out, Remarks& remarks) {
  if (result.plans.empty()) return;
  const planner::Plan& winner = *result.recommended_plan();
  if (target == nullptr) {
    remarks.add(fmt::format("no target writes the training loop {} for {}",
                            models::framework_of(winner.strategy).name(), winner.instance),
                "target");
    return;
  }
  const models::Job planned = planner::as_planned(job, winner);
  const bool beyond = result.beyond_target && planner::inexpressible(*target, planned, winner.strategy);
  const auto why = why_no_folder(*target, planned, winner.strategy);
  if (!why || (!beyond && !out.empty())) return;
  remarks.add(
      fmt::format("{}: {}", beyond ? "the search covers all strategies" : "no config or script is written",
                  *why),
      "target");
}

/// Remark that the target is no longer published, if the plan is for it.
void remark_ending(const planner::Target* target, const models::Job& job, Remarks& remarks) {
  if (target == nullptr || job.neuron_releases == nullptr) return;
  const std::string ending = planner::ending_of(*target, job.cluster.instance.traits, *job.neuron_releases);
  if (!ending.empty())
    remarks.add(fmt::format("{} on {}: {}", target->name(), job.cluster.instance.name, ending),
                "end-of-support");
}

/// Remark on the chosen stack, and on those it was chosen from.
void remark_choice(const Recommendation& best, Remarks& remarks) {
  if (best.others.empty()) return;
  const auto words = [](std::string_view name, const planner::Plan& plan) {
    return fmt::format("{}: {:.4g} s a step, {:.0f} % likely to work", name, plan.report.step.value,
                       100 * plan.works.value_or(1));
  };
  std::string text = words(name_of(best.stack->stack), *best.search.recommended_plan()) +
                     "; this one is used" + (best.is_written() ? "" : ", but its config cannot be written");
  for (const OtherStack& o : best.others) {
    text += "; " + words(o.name, o.plan);
    if (!o.written) text += ", but its config cannot be written";
    text += " (--target " + o.name + ")";
  }
  remarks.add(text, "stack-choice");
}

}  // namespace

std::vector<std::string> paths_of(const PlanRequest& o) {
  return {o.job.job, o.profile, o.baseline, o.out, io::is_price_file(o.price) ? o.price : ""};
}

PlanResult plan(const PlanRequest& request, Remarks& remarks) {
  const auto begin = std::chrono::steady_clock::now();
  PlanRequest o = request;
  check_apart("--out", o.out, {o.job.job, o.profile, o.baseline});
  if (!o.hardware.empty() && !o.out.empty()) {
    throw InputError({{"command line", 0, 0},
                      "--set",
                      "a folder would be written for hardware that does not exist",
                      "leave out --set or --out"});
  }
  o.job.options.free_strategy = true;
  const ResolvedJob resolved = resolve(o,
                                       {.writes = !o.target.empty() || !o.out.empty(),
                                        .amend = with_prices(o.price, OtherTypes::refused, o.pricing)},
                                       remarks);
  const io::Catalog& catalog = resolved.catalog();
  PlanResult out;
  out.baseline_file = baseline_file(o, catalog);
  const std::optional<Current> current =
      read_baseline(out.baseline_file, o, resolved.job(), catalog, remarks);
  for (const StackRef& s : resolved.stacks(resolved.job())) {
    check_out(o, s->stack.target);
  }
  if (o.threads > core_count())
    remarks.add(
        fmt::format("--threads {}: this machine has {} cores; no more are used", o.threads, core_count()));
  const Predictor predictor(resolved, o.risk, o.sure);
  const auto start = std::chrono::steady_clock::now();
  Recommendation best = predictor.recommend(resolved.job(), {.top = o.top,
                                                             .allow_doubtful = o.allow_doubtful,
                                                             .fit_probability = o.fit_probability,
                                                             .threads = std::min(o.threads, core_count()),
                                                             .time_limit = Seconds(o.time_limit),
                                                             .since = begin,
                                                             .stop = o.stop,
                                                             .progress = o.progress});
  out.wall = Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  const models::Job& job = best.stack->job;
  const models::Profile& profile = *best.stack->profile;
  const planner::Target* target = best.stack->stack.target;
  planner::SearchResult& result = best.search;
  out.interrupted = o.stop != nullptr && o.stop->load();
  check_result(job, result, resolved, o);
  remark_choice(best, remarks);
  remark_ending(target, job, remarks);
  for (planner::Plan& plan : result.plans) predictor.tell_nearest(plan, *best.stack);
  remark_result(result, profile, job, remarks);
  remark_target(result, target, job, o.out, remarks);
  tell_observations(result, resolved.observations(), job, remarks);

  const planner::Plan* winner = result.recommended_plan();
  std::optional<targets::Baseline>& baseline = out.baseline;
  if (current) {
    baseline = targets::baseline_of(job, current->config, current->trained, profile, winner);
    remarks.add(baseline->remarks, "baseline");
  }
  planner::ConfidenceOptions measuring =
      confidence_options(catalog, o.sure, predictor.parameters(job.cluster.instance));
  if (is_late(o, begin)) {
    measuring.tables.parameters.clear();
    if (result.plans.size() > 1) result.cut_short.push_back("nccom-test is not considered as a measurement");
  }
  for (const std::string& what : result.cut_short) remarks.add("time limit: " + what, "time-limit");
  out.confidence = planner::confidence_of(
      job, result.plans, baseline && baseline->plan && baseline->runs() ? &*baseline->plan : nullptr, profile,
      measuring, result.recommended);
  if (out.interrupted) {
    remarks.add(winner == nullptr ? "interrupted before a plan was found"
                                  : "interrupted: the best so far follows");
    if (!o.out.empty()) remarks.add("nothing was written to " + o.out);
  } else if (!o.out.empty() && winner != nullptr) {
    try {
      if (o.profile.empty()) o.profile = profile.name;
      out.script = write_plan_folder(job, target, result, profile, out.confidence, o, remarks);
      out.written = true;
      out.training = written_training(job, *winner, *target);
    } catch (const InputError& e) {
      out.unwritten = e;
    }
  }
  out.measures = target != nullptr;
  out.writable =
      winner == nullptr || (target != nullptr && o.hardware.empty() &&
                            !why_no_folder(*target, planner::as_planned(job, *winner), winner->strategy));
  if (!out.interrupted && o.time_limit <= 0) solve_for_nodes(result, resolved, predictor, o.allow_doubtful);
  out.run = whole_run(job, resolved.run(), result, catalog, remarks);
  std::vector<planner::Plan> of_others;
  for (const OtherStack& s : best.others) {
    if (s.written) of_others.insert(of_others.end(), s.plans.begin(), s.plans.end());
  }
  out.ties = planner::ties_of(job, result, profile, o.sure, of_others);
  out.job = job;
  out.stack = best.stack->stack;
  out.others = std::move(best.others);
  out.profile = profile;
  out.outlooks = std::move(best.outlooks);
  out.search = std::move(result);
  return out;
}

}  // namespace trnplan::api
