#include "api/sweep.h"

#include <algorithm>
#include <utility>

#include "api/predictor.h"
#include "api/prices.h"
#include "io/catalog/program_path.h"
#include "io/catalog/reliability.h"
#include "io/output/atomic_write.h"
#include "io/output/profile_json.h"
#include "launch/scheduler/submission.h"
#include "launch/sweep/sweep.h"
#include "planner/cost/whatif.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "text/parse.h"
#include "text/version.h"

namespace trnplan::api {

namespace {

namespace fs = std::filesystem;

fs::path folder_of(const SweepRequest& o) {
  if (!o.out.empty()) return fs::absolute(o.out);
  return fs::absolute(fs::path(o.grid).replace_extension(".sweep"));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw InputError(
        {{folder.string(), 0, 0}, "", "cannot be made: " + error.message(), "name another --out"});
  }
  io::check_files(folder, {}, true);
}

/// "3/16"; without a task, all the work is task 0 of 1.
std::pair<int, int> task_of(const std::string& text) {
  if (text.empty()) return {0, 1};
  const std::size_t slash = text.find('/');
  const auto task = parse_whole(text.substr(0, slash));
  const auto tasks = slash == std::string::npos ? std::nullopt : parse_whole(text.substr(slash + 1));
  if (!task || !tasks || *tasks < 1 || *task >= *tasks)
    throw InputError({{"command line", 0, 0}, "--task", "not a task K of N", "write for example 3/16"});
  return {*task, *tasks};
}

/// A grid, and the function that answers its points. The answers refer to it.
class Grid {
 public:
  Grid(const SweepRequest& o, Remarks& remarks)
      : grid_(io::read_sweep(o.grid, catalog_)),
        resolved_(catalog_, reading_of(grid_), {{.job = o.grid}, "", o.profile},
                  {.refuses = false, .compares = true}, remarks),
        predictor_(resolved_, o.risk),
        reliability_(io::reliability_from(*catalog_.document("reliability.json"))) {
    question_.tokens = grid_.tokens;
    question_.prices.pricing = planner::pricing_of(o.pricing, resolved_.job().space.instances.size());
    if (o.budget.empty()) return;
    question_.budget = parse_usd(o.budget);
    if (!question_.budget) {
      throw InputError(
          {{"command line", 0, 0}, "--budget", in_quotes(o.budget) + " is not an amount of USD", kUsdFix});
    }
    refuse_unpriced({}, resolved_.job().space.instances, question_.prices);
  }

  [[nodiscard]] launch::Sweep sweep(const SweepRequest& o) const {
    launch::Sweep s;
    s.grid = grid_;
    s.answer = [this](const io::SweepPoint& point) { return answer(point); };
    s.folder = folder_of(o);
    // The whole profile: its algorithms and covariance also determine times and intervals.
    std::vector<std::string> texts = {program_version(), grid_.text, std::string(to_string(o.risk)), o.budget,
                                      std::string(to_string(question_.prices.pricing))};
    for (const topology::Instance& type : resolved_.job().space.instances)
      texts.push_back(io::profile_json(resolved_.profile_on(type), std::nullopt, {}, "", ""));
    s.key = launch::sweep_key(texts);
    return s;
  }

 private:
  /// The types of the grid are those that the job may use.
  io::JobReading reading_of(const io::SweepGrid& grid) const {
    io::JobReading reading = grid.job;
    std::vector<topology::Instance>& types = reading.job.space.instances;
    const topology::Instance own = reading.job.cluster.instance;
    types.clear();
    for (const io::SweepPoint& p : grid.points) {
      const auto same = [&](const topology::Instance& i) { return i.name == p.instance; };
      if (std::any_of(types.begin(), types.end(), same)) continue;
      types.push_back(p.instance == own.name ? own : catalog_.instance(p.instance));
    }
    reading.job.space.nodes.clear();
    reading.job.deadline = {};
    reading.job.budget = 0;
    return reading;
  }

  [[nodiscard]] io::SweepRow answer(const io::SweepPoint& point) const {
    models::Job job = resolved_.job();
    for (const topology::Instance& type : job.space.instances) {
      if (type.name == point.instance) job.cluster.instance = type;
    }
    job.space.instances.clear();
    job.cluster.nodes = point.nodes;
    job.training.sequence = point.sequence;
    job.training.global_batch = point.global_batch;
    job.pin.data_parallel.reset();  // follows from the nodes
    planner::WhatIfQuestion question = question_;
    question.instances = {job.cluster.instance};
    question.nodes = {point.nodes};
    std::string stack;
    const auto recommend = [&](const models::Job& at, const models::Profile&,
                               const planner::SearchOptions& options) {
      Recommendation best = predictor_.recommend(at, options);
      stack = name_of(best.stack->stack);
      return std::move(best.search);
    };
    const planner::WhatIfPoint found =
        planner::whatif(job, question, resolved_.profile_on(job.cluster.instance), reliability_, recommend)
            .points.front();
    io::SweepRow row = row_of(found, job);
    row.point = point;
    if (found.plan) row.stack = stack;
    return row;
  }

  static io::SweepRow row_of(const planner::WhatIfPoint& found, const models::Job& job) {
    io::SweepRow row;
    row.why = found.why;
    if (!found.plan) return row;
    const planner::Plan& plan = *found.plan;
    row.strategy = models::describe(plan.strategy);
    row.grammar = planner::strategy_grammar(job, plan);
    row.step_seconds = plan.report.step.value;
    row.low = plan.report.low.value;
    row.high = plan.report.high.value;
    row.tokens_per_second = plan.report.tokens_per_second;
    row.mfu = plan.report.mfu;
    row.peak_bytes = plan.memory.worst().peak().value;
    row.fits = plan.fits;
    row.compiles = plan.compiles;
    row.works = plan.works;
    row.goodput = found.run.goodput.goodput;
    row.days = in_days(found.run.time);
    row.usd = found.run.usd;
    row.budget_probability = found.run.in_budget;
    row.checkpoint_interval_seconds = found.run.goodput.interval.value;
    return row;
  }

  io::Catalog catalog_ = io::Catalog::standard();
  io::SweepGrid grid_;
  ResolvedJob resolved_;
  Predictor predictor_;
  planner::Reliability reliability_;
  planner::WhatIfQuestion question_;
};

void write_table(const launch::Sweep& s, SweepResult& result) {
  result.missing = launch::missing(s);
  if (!result.missing.empty()) return;
  const std::string csv = launch::collect(s);
  result.csv = s.folder / "sweep.csv";
  result.sqlite = s.folder / "sweep.sqlite";
  io::write_file(result.csv, csv, true);
  io::write_file(result.sqlite, io::sweep_sqlite(csv, "sweep.csv"), true);
}

/// Options that a task has to be given again.
std::vector<std::string> options_of(const SweepRequest& o) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value, bool given) {
    if (given) words.insert(words.end(), {option, value});
  };
  const SweepRequest usual;
  const bool file = o.profile.ends_with(".json");
  add("--profile", file ? fs::absolute(o.profile).string() : o.profile, !o.profile.empty());
  add("--risk", std::string(to_string(o.risk)), o.risk != usual.risk);
  add("--budget", o.budget, !o.budget.empty());
  add("--pricing", o.pricing, o.pricing != usual.pricing);
  return words;
}

void submit(const SweepRequest& o, const launch::Sweep& s, const launch::Runner& runner,
            SweepResult& result) {
  result.missing = launch::missing(s);
  if (result.missing.empty()) return;
  const launch::SweepJob job{
      io::program_path().string(), fs::absolute(o.grid), s.folder, o.partition, o.tasks, options_of(o)};
  result.job = launch::submit_sweep(job, result.missing, runner);
}

}  // namespace

SweepResult sweep(const SweepRequest& o, Remarks& remarks, const launch::Runner& runner) {
  const Grid grid(o, remarks);
  const launch::Sweep s = grid.sweep(o);
  SweepResult result{s.folder, s.grid.points.size(), {}, "", {}, {}};
  if (o.collect) return write_table(s, result), result;
  const auto [task, tasks] = task_of(o.task);
  make_folder(s.folder);
  if (o.task.empty() && o.scheduler == "slurm") return submit(o, s, runner, result), result;
  launch::run_task(s, task, tasks);
  if (o.task.empty()) write_table(s, result);
  return result;
}

}  // namespace trnplan::api
