#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/inputs.h"
#include "api/observations.h"
#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/step_fit.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/interruption.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/progress_bar.h"
#include "cli/text/plan_text.h"
#include "cli/text/run_text.h"
#include "cli/text/text.h"
#include "io/catalog/measuring.h"
#include "io/catalog/reliability.h"
#include "io/input/nxdt_yaml.h"
#include "io/input/readers.h"
#include "io/output/atomic_write.h"
#include "io/output/plan_json.h"
#include "io/output/whatif_json.h"
#include "launch/folder/bundle.h"
#include "launch/folder/measure.h"
#include "planner/check/rules.h"
#include "planner/confidence/experiment.h"
#include "planner/confidence/ties.h"
#include "planner/cost/run_forecast.h"
#include "planner/plan/space.h"
#include "planner/search/parallel.h"
#include "planner/search/search.h"
#include "planner/search/stated_plan.h"
#include "targets/nxdt/baseline.h"
#include "targets/registry.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

struct Options {
  Common common;
  JobArgument job;
  std::string out, baseline, target{targets::standard().name()};
  int top = 5, threads = 0;
  double time_limit = 0, fit_probability = 0.9, sure = 0.9;
  bool allow_doubtful = false, force = false, details = false;
};

/// The key of the job that a rule is about, first the one that is set.
std::string key_of(const std::string& rule, const io::JobReading& reading) {
  static const std::map<std::string, std::vector<std::string>> kKeys = {
      {"heads", {"pin.tensor_parallel"}},
      {"vocabulary", {"pin.tensor_parallel"}},
      {"rank-order", {"pin.tensor_parallel"}},
      {"kv-replicator", {"pin.kv_replicator", "pin.tensor_parallel"}},
      {"layers", {"pin.pipeline_parallel", "pin.virtual_pipeline"}},
      {"pipeline-parity", {"pin.pipeline_parallel"}},
      {"tied-embeddings", {"pin.pipeline_parallel"}},
      {"interleaved", {"pin.virtual_pipeline"}},
      {"context-parallel", {"pin.context_parallel"}},
      {"moe", {"pin.expert_parallel"}},
      {"sequence-parallel", {"pin.sequence_parallel", "training.sequence"}},
      {"flash-attention", {"training.sequence"}},
      {"positions", {"training.sequence"}},
      {"divisibility",
       {"pin.tensor_parallel", "pin.pipeline_parallel", "pin.data_parallel", "pin.context_parallel"}}};
  const auto it = kKeys.find(rule);
  if (it == kKeys.end()) return "";
  for (const std::string& key : it->second) {
    if (reading.places.count(key) > 0) return key;
  }
  return "";
}

/// The option that stated the key, where one did.
std::string told_as(const std::string& key, const std::string& file) {
  const std::string option = file == io::kCommandLine ? io::option_of(key) : "";
  return option.empty() ? key : option;
}

/// Every cluster the job may use.
std::vector<models::Job> clusters_of(const models::Job& job) {
  std::vector<int> nodes = job.space.nodes;
  std::vector<topology::Instance> types = job.space.instances;
  if (nodes.empty()) nodes.push_back(job.cluster.nodes);
  if (types.empty()) types.push_back(job.cluster.instance);
  std::vector<models::Job> all;
  for (const topology::Instance& type : types) {
    for (const int n : nodes) {
      models::Job one = job;
      one.cluster.instance = type;
      one.cluster.nodes = n;
      if (one.space.batch_per_node > 0) one.training.global_batch = one.space.batch_per_node * n;
      all.push_back(std::move(one));
    }
  }
  return all;
}

/// A job that no choice can make legal on any of its clusters is wrong input, not a search without result.
void refuse_contradictions(const Options& o, const io::JobReading& reading) {
  std::vector<Diagnostic> faults;
  for (const models::Job& one : clusters_of(reading.job)) {
    const std::vector<planner::Violation> broken = planner::contradictions(one);
    if (broken.empty()) return;
    if (!faults.empty()) continue;
    for (const planner::Violation& v : broken) {
      const std::string key = key_of(v.rule, reading);
      const auto place = reading.places.find(key);
      faults.push_back({place == reading.places.end() ? SourcePos{o.job.job, 0, 0} : place->second,
                        told_as(key, place == reading.places.end() ? "" : place->second.file),
                        v.message + " (rule " + v.rule + ")", v.fix});
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

const planner::Target& target_of(const Options& o) {
  return *targets::find(o.target);
}

std::vector<io::OutputFile> bundle_of(const models::Job& job, const planner::Plan& plan, const Options& o) {
  const models::Job settled = planner::settled(job, plan);
  if (const auto why = planner::inexpressible(target_of(o), settled, plan.strategy)) {
    throw InputError({{o.job.job, 0, 0},
                      "--out",
                      *why,
                      "pin what --target can express, choose another --target, or leave --out away"});
  }
  return launch::bundle(settled, plan, target_of(o));
}

/// What tells the first two plans apart, to be run; none where nothing has to or where the target lacks it.
std::vector<io::OutputFile> measure_files_of(const models::Job& job, const std::vector<planner::Plan>& plans,
                                             const planner::Confidence& confidence, const Options& o) {
  if (!confidence.comparison || !confidence.comparison->best) return {};
  const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path).string(); };
  const bool own_profile = o.common.profile.ends_with(".json");
  const JobWords words = words_of(o.job);
  launch::MeasureUse use{words.job, own_profile ? absolute(o.common.profile) : o.common.profile,
                         words.options};
  const auto repeat = [&](const char* option, const std::string& value) {
    use.options.insert(use.options.end(), {option, value});
  };
  repeat("--top", fmt::to_string(o.top));
  repeat("--fit-probability", fmt::to_string(o.fit_probability));
  repeat("--sure", fmt::to_string(o.sure));
  if (o.allow_doubtful) use.options.push_back("--allow-doubtful");
  const auto why = planner::inexpressible(target_of(o), planner::settled(job, plans[1]), plans[1].strategy);
  if (why && confidence.comparison->best->runs_of_second > 0) {
    remark("no measure.sh is written: plan 2: " + *why);
    return {};
  }
  return launch::measure_files(job, plans[0], plans[1], *confidence.comparison->best, target_of(o), use);
}

/// The path of measure.sh, empty when there is none.
std::string write_folder(const models::Job& job, const std::vector<planner::Plan>& plans,
                         const planner::Confidence& confidence, const Options& o) {
  std::vector<io::OutputFile> files = bundle_of(job, plans.front(), o);
  std::vector<io::OutputFile> more = measure_files_of(job, plans, confidence, o);
  files.insert(files.end(), more.begin(), more.end());
  io::write_files(o.out, files, o.force);
  const std::filesystem::path folder = o.out;
  for (const io::OutputFile& f : files) remark("wrote " + (folder / f.folder / f.name).string());
  return more.empty() ? "" : (folder / more.front().name).string();
}

/// The config of what one runs today.
struct Current {
  targets::NxdtConfig config;
  models::Architecture trained;
};

/// The config that a plan is set beside: --baseline, or the job's own when it is an NxDT YAML.
std::string baseline_file(const Options& o, const io::Catalog& catalog) {
  if (!o.baseline.empty() || io::job_source(o.job.job, catalog) != io::JobSource::nxdt) return o.baseline;
  return o.job.job;
}

std::optional<Current> read_baseline(const std::string& file, const Options& o, const models::Job& job,
                                     const io::Catalog& catalog) {
  if (file.empty()) return std::nullopt;
  const std::string text = read_text(file);
  const Node root = parse_document(text, file);
  if (!io::looks_like_nxdt(root)) {
    throw InputError({{file, 0, 0},
                      "--baseline",
                      "this is no NxDT config: it has no trainer and no distributed_strategy",
                      "give the YAML that NxDT runs with"});
  }
  Current current;
  current.config = io::nxdt_from(root);
  current.config.devices_lines = io::devices_lines(text, file);
  const io::ArchitectureReading model = io::architecture_of_nxdt(current.config, catalog);
  if (file != o.job.job) heard_remarks().add(model.notes);  // of its own config the job has said it
  current.trained = model.architecture;
  std::vector<Diagnostic> faults = targets::baseline_faults(job, current.config, current.trained);
  if (!faults.empty()) throw InputError(std::move(faults));
  return current;
}

/// What is printed is worked out a second time, by other code: two opinions that differ are a bug.
void check(const models::Job& job, const std::vector<planner::Plan>& plans, const models::Profile& profile,
           const Options& o) {
  for (const planner::Plan& plan : plans) {
    const std::vector<std::string> wrong =
        planner::check_plan(job, planner::stated_plan(plan), profile,
                            {.allow_doubtful = o.allow_doubtful, .fit_probability = o.fit_probability});
    if (wrong.empty()) continue;
    throw std::logic_error(fmt::format("the check of plan \"{}\" disagrees: {}", describe(plan.strategy),
                                       fmt::join(wrong, "; ")));
  }
}

void check_result(const models::Job& job, const planner::SearchResult& result, const models::Profile& profile,
                  const Options& o) {
  check(job, result.plans, profile, o);
  check(job, result.layouts, profile, o);
  models::Job without_limits = job;
  without_limits.deadline = {};
  without_limits.budget = 0;
  std::vector<planner::Plan> others;
  for (const planner::ClusterPlan& c : result.clusters) others.push_back(c.plan);
  if (result.infeasible && result.infeasible->too_slow) others.push_back(*result.infeasible->too_slow);
  if (result.infeasible && result.infeasible->too_expensive)
    others.push_back(*result.infeasible->too_expensive);
  check(without_limits, others, profile, o);
}

/// Remarks that depend on what was found.
void remark_result(const planner::SearchResult& result, const io::Catalog& catalog,
                   const models::Profile& profile, const models::Job& job) {
  if (result.plans.empty()) return;
  Remarks remarks = heard_remarks();
  const planner::Plan& winner = result.plans.front();
  api::remark_family(catalog, profile, planner::settled(job, winner).cluster.instance, remarks);
  const std::string beyond =
      beyond_the_fit("the winner", profile, planner::settled(job, winner), winner.strategy);
  if (!beyond.empty()) remark(beyond);
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
                                              const planner::SearchResult& result,
                                              const io::Catalog& catalog) {
  const planner::Plan* plan = result.plans.empty() ? nullptr : &result.plans.front();
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
  remark("the whole run cannot be told: " + run.answer.why);
  return std::nullopt;
}

std::string whole_run_text(const planner::ForecastRun& run, bool found) {
  return std::string(found ? "\nThe run, with failures and checkpoints\n"
                           : "\nWhat deadline and budget let it reach, with failures and checkpoints\n") +
         run_text(run.answer, run.question);
}

/// How a fit reads nccom-test, which the planner does not see.
planner::ConfidenceOptions confidence_options(const io::Catalog& catalog, double sure) {
  const calibrate::StepFitOptions fit;
  const auto& parameters = calibrate::kCollectiveParameters;
  return {sure,
          io::measuring_from(read_document(catalog.file("measuring.json")),
                             io::reliability_from(read_document(catalog.file("reliability.json")))),
          {{parameters.begin(), parameters.end()},
           fit.collective_noise,
           fit.build_spread,
           fit.launch_spread,
           catalog.default_instance()}};  // of the published runs, whose tables a fit of steps takes
}

/// True once the time limit, which counts from `start` on, is over.
bool is_late(const Options& o, std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return o.time_limit > 0 && spent.count() > o.time_limit;
}

/// Why nothing can be written to --out; told after the ranking.
std::optional<InputError> unwritable(const Options& o) {
  if (o.out.empty()) return std::nullopt;
  try {
    io::check_files(o.out, launch::bundle_names(target_of(o)), o.force);
  } catch (const InputError& e) {
    return e;
  }
  return std::nullopt;
}

/// The target that the search heeds: one that was asked for, where it can train some strategy of the job;
/// else the ranking is of all, and --out says what the target lacks.
const planner::Target* heeded_target(const Options& o, const models::Job& job) {
  const planner::Target& target = target_of(o);
  if (&target == &targets::standard()) return nullptr;
  for (const models::Job& one : clusters_of(job)) {
    for (const models::Strategy& s : planner::enumerate(one)) {
      if (!planner::inexpressible(target, one, s)) return &target;
    }
  }
  return nullptr;
}

int run(const Options& o) {
  const auto begin = std::chrono::steady_clock::now();
  const Interruption interruption;
  Remarks remarks = heard_remarks();
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = api::load_profile(catalog, o.common.profile);
  JobArgument argument = o.job;
  argument.options.free_strategy = true;
  io::JobReading reading = api::load_job(argument, catalog, remarks);
  models::Job& job = reading.job;
  refuse_contradictions(o, reading);
  const planner::RunQuestion question = take_run_question(job);
  std::optional<InputError> unwritten = unwritable(o);
  const std::string runs_today = baseline_file(o, catalog);
  const std::optional<Current> current = read_baseline(runs_today, o, job, catalog);

  if (o.threads > planner::core_count())
    remark(fmt::format("--threads {}: this machine has {} cores, and no more are used", o.threads,
                       planner::core_count()));
  ProgressBar bar;
  const auto start = std::chrono::steady_clock::now();
  planner::SearchResult result = planner::search(job, profile,
                                                 {.top = o.top,
                                                  .allow_doubtful = o.allow_doubtful,
                                                  .fit_probability = o.fit_probability,
                                                  .target = heeded_target(o, job),
                                                  .threads = std::min(o.threads, planner::core_count()),
                                                  .time_limit = Seconds(o.time_limit),
                                                  .since = begin,
                                                  .stop = &Interruption::flag(),
                                                  .progress = std::ref(bar)});
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  bar.clear();
  const bool interrupted = Interruption::flag();
  check_result(job, result, profile, o);
  remark_result(result, catalog, profile, job);
  api::tell_observations(result, api::load_observations(o.common.profile), job, remarks);

  const planner::Plan* winner = result.plans.empty() ? nullptr : &result.plans.front();
  std::optional<targets::Baseline> baseline;
  if (current) {
    baseline = targets::baseline_of(job, current->config, current->trained, profile, winner);
    heard_remarks().add(baseline->remarks);
  }
  planner::ConfidenceOptions measuring = confidence_options(catalog, o.sure);
  if (is_late(o, begin)) {
    measuring.tables.parameters.clear();
    if (result.plans.size() > 1) result.cut_short.push_back("nccom-test is not considered as a measurement");
  }
  for (const std::string& what : result.cut_short) remark("time limit: " + what);
  const planner::Confidence confidence = planner::confidence_of(
      job, result.plans, baseline && baseline->plan && baseline->runs() ? &*baseline->plan : nullptr, profile,
      measuring);
  std::string script;
  if (interrupted) {
    remark(winner == nullptr ? "interrupted before any plan was found"
                             : "interrupted: the best so far follows");
    if (!o.out.empty()) remark("nothing was written to " + o.out);
  } else if (!o.out.empty() && winner != nullptr && !unwritten) {
    try {
      script = write_folder(job, result.plans, confidence, o);
    } catch (const InputError& e) {
      unwritten = e;
    }
  }
  const targets::Baseline* today = baseline ? &*baseline : nullptr;
  const std::optional<planner::ForecastRun> run = whole_run(job, question, result, catalog);
  if (o.common.json()) {
    print(io::search_json(result, job, wall.count(), today, &confidence, run ? &*run : nullptr));
  } else {
    const bool written = !o.out.empty() && winner != nullptr && !interrupted && !unwritten;
    const Answer answer{job,
                        result,
                        confidence,
                        planner::ties_of(job, result, profile, o.sure),
                        today,
                        runs_today,
                        written ? o.out : "",
                        script,
                        o.details,
                        unwritten ? o.out : ""};
    print_text(plan_answer(answer) + (run ? whole_run_text(*run, winner != nullptr) : "") +
               (o.details ? search_details(answer, text_width()) : ""));
  }
  if (unwritten) throw *unwritten;
  if (interrupted) return kInterrupted;
  return winner == nullptr ? kNoPlan : kDone;
}

/// "what --out is to train with: nxdt, nemo-megatron or nxd".
std::string what_trains() {
  const std::vector<std::string> names = targets::names();
  std::string text = "what --out is to train with: ";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

}  // namespace

void add_plan(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plan", "Find the fastest strategies of a job and why others were refused");
  add_job_argument(*command, o->job, {JobPart::cluster, JobPart::training, JobPart::tokens, JobPart::limits});
  command->add_flag("--details", o->details,
                    "also the ranking, time and memory of the best plan, and what was refused");
  command->add_option("--top", o->top, "plans to list")->check(whole_number(1, 1000))->capture_default_str();
  command
      ->add_option("--baseline", o->baseline,
                   "NxDT YAML of what runs today: how much faster the winner is, and what to change")
      ->check(not_empty());
  command
      ->add_option("--threads", o->threads,
                   "0: all cores, and never more; more than one gain little, as cuts and explanations take "
                   "one; the answer does not depend on it")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
  command
      ->add_option("--time-limit", o->time_limit,
                   "seconds, of the whole command; then the best so far, how far it may be off, and what was "
                   "left undone")
      ->check(decimal_number(1e-3, 1e6));
  command->add_option("--fit-probability", o->fit_probability, "with which a plan has to fit into memory")
      ->check(decimal_number(0.01, 0.9999))
      ->capture_default_str();
  command
      ->add_option("--sure", o->sure,
                   "probability from which on the first two plans count as told apart; below, a measurement "
                   "that would tell them apart is named")
      ->check(decimal_number(0.5, 0.9999))
      ->capture_default_str();
  command->add_flag("--allow-doubtful", o->allow_doubtful,
                    "also strategies whose replica groups are doubtful");
  command
      ->add_option(
          "--out", o->out,
          "folder to write to: config and scripts for Slurm and Kubernetes, cluster files, plan.json, "
          "and measure.sh where the first two plans are not told apart")
      ->check(not_empty());
  command->add_option("--target", o->target, what_trains())
      ->check(CLI::IsMember(targets::names()))
      ->capture_default_str();
  command->add_flag("--force", o->force, "overwrite files in --out");
  add_common(*command, o->common);
  command->footer(
      "Examples:\n"
      "  trnplan plan llama3-8b --nodes 4\n"
      "  trnplan plan job.yaml\n"
      "  trnplan plan config.json --instance trn1.32xlarge --sequence 8192 --global-batch 1024 --tokens 15T\n"
      "  trnplan plan job.yaml --nodes 4 --out my-plan\n"
      "  trnplan plan job.yaml --baseline nxdt.yaml\n"
      "  trnplan plan job.yaml --format json | jq '.plans[0].strategy'");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
