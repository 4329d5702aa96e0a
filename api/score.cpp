#include "api/score.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "api/inputs.h"
#include "api/judged_row.h"
#include "api/own_rows.h"
#include "api/published.h"
#include "calibrate/data/layout_jobs.h"
#include "calibrate/data/run_jobs.h"
#include "io/catalog/catalog.h"
#include "io/catalog/measuring.h"
#include "io/catalog/scoring.h"
#include "io/input/measured_network.h"
#include "io/input/strategy_text.h"
#include "logs/table/layout_runs.h"
#include "logs/table/measured_runs.h"
#include "logs/table/own_runs.h"
#include "models/collective/measured_network.h"
#include "planner/check/judge.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::api {

namespace {

using calibrate::ScoredRow;

/// Unreadable rows with their places; the others are counted.
constexpr std::size_t kMostRemarks = 20;

/// Path of every prediction: from job, strategy and profile to step, memory and whether it fits.
class RowPredictor {
 public:
  RowPredictor(const io::Catalog& catalog, std::string profile)
      : catalog_(catalog),
        asked_(std::move(profile)),
        spreads_(io::network_spreads_from(*catalog.document("measuring.json"))) {}

  topology::Instance instance(const std::string& name) {
    const auto it = instances_.find(name);
    if (it != instances_.end()) return it->second;
    return instances_.emplace(name, catalog_.instance(name)).first->second;
  }

  /// `all_reduce`: bytes per second that the run itself measured.
  void predict(models::Job job, const std::string& grammar, ScoredRow& row, std::optional<double> all_reduce,
               calibrate::RowMemory memory) {
    models::Strategy strategy;
    try {
      strategy = io::parse_strategy(grammar, job);
    } catch (const InputError& e) {
      row.skipped = problem_of(e);
      return;
    }
    job.training.precision = strategy.precision;
    job.software.framework = strategy.framework;
    predict(job, strategy, row, all_reduce, memory);
  }

  void predict(const models::Job& job, const models::Strategy& strategy, ScoredRow& row,
               std::optional<double> all_reduce = std::nullopt, calibrate::RowMemory memory = {}) {
    row.strategy = strategy;
    row.nodes = job.cluster.nodes;
    const models::Profile* profile = profile_of(job.cluster.instance, "");
    if (profile == nullptr) {
      // A profile fitted to kernels alone cannot time a step; memory does not need it.
      profile = profile_of(job.cluster.instance, "-kernels");
      if (profile != nullptr) take_memory(planner::judge(job, strategy, *profile), row, *profile, memory);
      row.skipped = fmt::format("no profile for {}", job.cluster.instance.family);
      return;
    }
    try {
      models::Job measured = job;
      if (all_reduce && job.cluster.nodes > 1)
        measured.all_reduce = io::large_all_reduce(job.cluster, BytesPerSecond(*all_reduce), spreads_);
      const models::Profile now = models::in_measured_network(*profile, measured);
      take(planner::judge(measured, strategy, now), row, now, memory);
    } catch (const std::invalid_argument& e) {
      row.skipped = e.what();
    } catch (const std::overflow_error& e) {
      row.skipped = e.what();
    }
  }

  std::vector<std::string> profiles() const { return {used_.begin(), used_.end()}; }

 private:
  const models::Profile* profile_of(const topology::Instance& instance, const std::string& suffix) {
    const std::string name = asked_.empty() ? instance.family + suffix : asked_;
    auto it = profiles_.find(name);
    if (it == profiles_.end()) {
      std::unique_ptr<const models::Profile> found;
      if (!asked_.empty() || std::filesystem::exists(catalog_.file("profiles/" + name + ".json")))
        found = std::make_unique<const models::Profile>(load_profile(catalog_, name));
      it = profiles_.emplace(name, std::move(found)).first;
    }
    if (it->second) used_.insert(it->second->name);
    return it->second.get();
  }

  const io::Catalog& catalog_;
  std::string asked_;
  io::NetworkSpreads spreads_;
  std::map<std::string, topology::Instance> instances_;
  std::map<std::string, std::unique_ptr<const models::Profile>> profiles_;
  std::set<std::string> used_;
};

/// Simulator's prediction for a row.
struct RowPrediction {
  std::optional<double> step, low, high, mean, memory, fit;
  std::string skipped;
};
RowPrediction prediction_of(const ScoredRow& r) {
  return {r.predicted, r.low, r.high, r.mean, r.predicted_memory, r.fit_probability, r.skipped};
}
void put(const RowPrediction& p, ScoredRow& r) {
  r.predicted = p.step;
  r.low = p.low;
  r.high = p.high;
  r.mean = p.mean;
  r.predicted_memory = p.memory;
  r.fit_probability = p.fit;
  r.skipped = p.skipped;
}

ScoredRow row_of(const logs::LayoutRun& run) {
  ScoredRow row;
  row.id = run.id;
  row.source = calibrate::source_name(run);
  row.group = calibrate::layout_group(run);
  row.quality = run.quality;
  row.measured = run.step_seconds;
  row.measured_memory = run.memory_bytes;
  row.out_of_memory = run.out_of_memory;
  return row;
}

std::vector<ScoredRow> layout_rows(const std::vector<logs::LayoutRun>& runs,
                                   const calibrate::LayoutRules& rules, RowPredictor& predictor, OwnRows& own,
                                   bool predict, bool network_state, Remarks& remarks) {
  std::vector<ScoredRow> rows;
  std::unordered_map<std::string, RowPrediction> known;
  std::size_t unread = 0;
  for (const logs::LayoutRun& run : runs) {
    ScoredRow row = row_of(run);
    if (!run.faults.empty()) {
      if (row.id.empty()) row.id = fmt::format("line {}", run.at.line);
      if (row.source.empty()) row.source = "unread";
      row.measured.reset();
      row.group.clear();
      if (++unread <= kMostRemarks) remarks.add(run.faults.front());
    }
    if (run.faults.empty() && predict && own.takes(run)) {
      own.predict(run, row);
    } else if (predict || !run.faults.empty()) {
      calibrate::LayoutJob asked = calibrate::layout_job(
          run, rules, [&](const std::string& name) { return predictor.instance(name); });
      if (row.measured_memory) *row.measured_memory *= asked.memory.scale;
      if (!asked.refused.empty()) {
        row.skipped = std::move(asked.refused);
      } else {
        if (asked.job.architecture.experts > 0) row.source += ", experts";  // scored separately
        const std::optional<double> all_reduce = network_state ? run.all_reduce : std::nullopt;
        const auto [it, fresh] = known.try_emplace(key_of(asked.job, asked.strategy) +
                                                   fmt::format("|{}|{}{}{}", all_reduce.value_or(0),
                                                               static_cast<int>(asked.memory.held),
                                                               asked.memory.first_stage, asked.memory.known));
        if (fresh) {
          predictor.predict(std::move(asked.job), asked.strategy, row, all_reduce, asked.memory);
          it->second = prediction_of(row);
        } else {
          put(it->second, row);
        }
      }
    }
    rows.push_back(std::move(row));
  }
  if (unread > kMostRemarks) remarks.add(fmt::format("{} more rows cannot be read", unread - kMostRemarks));
  return rows;
}

/// Rows of Neuron runs, predicted by the same path.
std::vector<ScoredRow> neuron_rows(const std::vector<models::MeasuredRun>& runs, const io::Catalog& catalog,
                                   RowPredictor& predictor, bool predict) {
  const calibrate::MappedRuns mapped =
      calibrate::map_runs(runs, catalog.instance(catalog.default_instance()), published(catalog).reading);
  std::map<std::string, const models::MeasuredRun*> by_id;
  for (const models::MeasuredRun& run : runs) by_id.emplace(run.id, &run);
  std::map<std::string, ScoredRow> scored;
  const auto source = [&](const std::string& id) {
    const std::string& text = by_id.at(id)->source;
    return text.substr(0, text.find_first_of(":@ "));
  };
  for (const calibrate::MeasuredStep& step : mapped.steps) {
    ScoredRow row;
    row.id = step.id;
    row.source = source(step.id);
    row.quality = step.quality;
    if (!step.at_most) row.measured = step.seconds;
    row.group =
        fmt::format("{}, {} nodes, sequence {}, batch {}", step.job.architecture.name, step.job.cluster.nodes,
                    step.job.training.sequence, step.job.training.global_batch);
    if (predict) predictor.predict(step.job, step.strategy, row);
    scored.emplace(row.id, std::move(row));
  }
  for (const calibrate::ExcludedRun& e : mapped.excluded) {
    ScoredRow row;
    row.id = e.id;
    row.source = source(e.id);
    row.quality = by_id.at(e.id)->quality;
    row.measured = by_id.at(e.id)->step_seconds;
    row.skipped = e.reason;
    scored.emplace(row.id, std::move(row));
  }
  std::vector<ScoredRow> rows;
  for (const models::MeasuredRun& run : runs) {
    if (const auto it = scored.find(run.id); it != scored.end()) rows.push_back(std::move(it->second));
  }
  return rows;
}

/// Another tool's predictions, instead of the simulator's. Their memory is compared with the row's, without a
/// judgement on the fit.
void take_stated(const std::string& path, std::vector<ScoredRow>& rows, Remarks& remarks) {
  const auto stated = logs::parse_predictions(read_text(path, kCsvBytes), path);
  std::unordered_map<std::string, const logs::StatedPrediction*> by_id;
  for (const auto& p : stated) by_id.emplace(p.id, &p);
  std::size_t used = 0;
  for (ScoredRow& row : rows) {
    const auto it = by_id.find(row.id);
    if (it == by_id.end()) {
      if (row.skipped.empty()) row.skipped = "there is no prediction for it";
      continue;
    }
    ++used;
    row.skipped = it->second->step_seconds ? "" : "its prediction has no step time";
    row.predicted = it->second->step_seconds;
    row.predicted_memory = it->second->memory_bytes;
  }
  if (used < stated.size())
    remarks.add(fmt::format("{} of {} predictions name rows that the table does not have",
                            stated.size() - used, stated.size()));
}

}  // namespace

bool is_layout_table(const std::string& path) {
  return logs::table_of(read_text(path, kCsvBytes)) != logs::RunTable::neuron_runs;
}

void refuse_idle(Validated what, const ScoreRequest& given, bool rows) {
  enum Use : unsigned {  // in the order of Validated
    steps = 1,
    neuron = 2,
    layouts = 4,
    other = 8
  };
  const bool stated = !given.predictions.empty();
  const unsigned now = 1u << static_cast<unsigned>(what);
  struct Option {
    const char* name;
    bool given;
    unsigned used;
    const char* problem;  ///< where it is not
    const char* fix;
  };
  const io::JobOptions& o = given.job.options;
  const char* const no_table = "no table whose rows it is of";
  const auto of_rows = [&](const char* name, const std::string& text) {
    return Option{
        name, !text.empty(), layouts,
        now == neuron ? "a table with the columns of measured-runs.csv states what ran itself" : no_table,
        now == neuron ? nullptr : "add --measured with one"};
  };
  const Option all[] = {
      {"--leave-out", given.leave_out, steps,
       now == other ? "only step times are predicted by fits that leave rows out"
                    : "a table is scored without a fit, so there is nothing to leave rows out of",
       "leave it out; steps of Neuron runs are predicted by fits: trnplan validate, or validate RUNS.csv"},
      {"--rows", rows, steps | neuron | layouts, "every row is printed without it", nullptr},
      {"--predictions", stated, neuron | layouts, "no table to compare the predictions with",
       "add --measured with the table whose ids they use"},
      {"--no-network-state", !given.network_state, layouts,
       now == neuron ? "a table with the columns of measured-runs.csv states no all-reduce"
                     : "no table of layouts to score",
       now == neuron ? nullptr : "add --measured with one, or leave it out"},
      of_rows("--job", given.job.job),
      of_rows("--framework", given.framework),
      of_rows("--instance", o.instance),
      of_rows("--nodes", o.nodes),
      of_rows("--sequence", o.sequence),
      of_rows("--global-batch", o.global_batch),
      of_rows("--precision", o.precision),
      of_rows("--release", o.release),
      {"--profile", !given.profile.empty(), steps | neuron | layouts | other, "", ""},
  };
  std::vector<Diagnostic> faults;
  for (const Option& option : all) {
    if (!option.given) continue;
    const std::string name = option.name;
    if (!(option.used & now)) {
      faults.push_back({{io::kCommandLine, 0, 0},
                        name,
                        option.problem,
                        option.fix != nullptr ? option.fix : "leave out " + name});
    } else if (stated && name != "--predictions" && name != "--rows") {
      faults.push_back({{io::kCommandLine, 0, 0},
                        name,
                        "the rows are compared with predictions of another tool, which it cannot change",
                        "leave out " + name + ", or --predictions"});
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

namespace {

/// Separator that a table has instead of commas: a semicolon or a tab.
std::string separator_of(const std::string& header) {
  return header.find(';') != std::string::npos ? ";" : "tab";
}

std::string commas(std::string header) {
  for (char& c : header) c = c == ';' || c == '\t' ? ',' : c;
  return header;
}

std::vector<logs::LayoutRun> runs_in(const std::string& text, const std::string& name, logs::RunTable table,
                                     const logs::StatedBeside& stated, Remarks& remarks) {
  if (table != logs::RunTable::own_runs) return logs::parse_layout_runs(text, name, table);
  std::optional<Diagnostic> unread;
  std::vector<logs::LayoutRun> runs = logs::parse_own_runs(text, name, stated, &unread);
  if (unread) remarks.add(*std::move(unread));
  return runs;
}

}  // namespace

ScoreResult score(const ScoreRequest& request, Remarks& remarks) {
  const io::Catalog catalog = io::Catalog::standard();
  const std::string text = read_text(request.table, kCsvBytes);
  const auto table = logs::table_of(text);
  if (text.empty())
    throw InputError({{request.table, 0, 0}, "", "the file is empty", "give a CSV with a header line"});
  if (const std::string header = text.substr(0, text.find('\n'));
      !table && header.find(',') == std::string::npos && logs::table_of(commas(header))) {
    throw InputError({{request.table, 1, 1},
                      "",
                      fmt::format("a comma is expected between columns, found \"{}\"", separator_of(header)),
                      "write the table with commas, and numbers with a point"});
  }
  if (!table) {
    throw InputError({{request.table, 1, 1},
                      "",
                      "this is not the header of a table of runs",
                      "name the columns id, step_s and strategy, or id, step_s, tp, pp, dp and others that "
                      "docs/json.md lists"});
  }
  refuse_idle(*table == logs::RunTable::neuron_runs ? Validated::neuron_table : Validated::layout_table,
              request, false);
  RowPredictor predictor(catalog, request.profile);
  const bool predict = request.predictions.empty();
  std::vector<ScoredRow> rows;
  std::vector<std::string> profiles;
  if (*table == logs::RunTable::neuron_runs) {
    rows = neuron_rows(logs::parse_measured_runs(text, request.table), catalog, predictor, predict);
  } else {
    const calibrate::LayoutRules rules = io::scoring_from(*catalog.document("scoring.json"));
    OwnRows own(request, catalog, rules, remarks);
    const logs::StatedBeside stated = predict ? own.stated() : logs::StatedBeside{true, true};
    const std::vector<logs::LayoutRun> runs = runs_in(text, request.table, *table, stated, remarks);
    if (!request.network_state &&
        std::none_of(runs.begin(), runs.end(), [](const logs::LayoutRun& r) { return r.all_reduce; }))
      throw InputError({{request.table, 0, 0},
                        "--no-network-state",
                        "no row states an all-reduce that it measured",
                        "leave out --no-network-state"});
    rows = layout_rows(runs, rules, predictor, own, predict, request.network_state, remarks);
    own.remark_assumptions();
    profiles.assign(own.profiles().begin(), own.profiles().end());
    const std::size_t slash = request.table.find_last_of('/');
    for (ScoredRow& row : rows) {
      if (row.source.empty()) row.source = request.table.substr(slash == std::string::npos ? 0 : slash + 1);
    }
  }
  for (const std::string& name : predictor.profiles()) profiles.push_back(name);
  std::sort(profiles.begin(), profiles.end());
  profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
  if (!request.quality.empty())
    std::erase_if(rows,
                  [&](const ScoredRow& r) { return request.quality.find(r.quality) == std::string::npos; });
  if (!predict) take_stated(request.predictions, rows, remarks);
  if (rows.empty())
    throw InputError({{request.table, 0, 0}, "", "there is no row to score", "give rows of training runs"});
  return {calibrate::row_scores(std::move(rows)), std::move(profiles)};
}

}  // namespace trnplan::api
