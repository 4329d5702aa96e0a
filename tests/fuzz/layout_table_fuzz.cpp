// Tables of runs in layouts, scored; another tool's predictions of them.
#include <map>

#include "calibrate/data/layout_jobs.h"
#include "calibrate/data/own_jobs.h"
#include "calibrate/data/run_jobs.h"
#include "io/catalog/reading.h"
#include "io/catalog/scoring.h"
#include "io/input/strategy_text.h"
#include "logs/table/layout_runs.h"
#include "logs/table/measured_runs.h"
#include "logs/table/own_runs.h"
#include "tests/fuzz/judged.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

const topology::Instance& machine(const std::string& name) {
  static std::map<std::string, topology::Instance> known;
  const auto it = known.find(name);
  return it != known.end() ? it->second : known.emplace(name, fuzz::catalog().instance(name)).first->second;
}

void judge_on(const models::Job& job, const models::Strategy& strategy) {
  static const models::Profile gpu = fuzz::catalog().profile("h100-datasheet"),
                               neuron = fuzz::catalog().profile("trn1-datasheet");
  const bool neurons = job.cluster.instance.traits.accelerator == topology::Accelerator::neuron_core;
  fuzz::judge_job(job, strategy, neurons ? neuron : gpu);
}

void judge_row(const logs::LayoutRun& run, const calibrate::LayoutRules& rules) {
  for (const Diagnostic& fault : run.faults) {
    fuzz::ensure(fault.at.line > 0 && !fault.problem.empty() && !fault.fix.empty(),
                 "a fault has a place and a fix");
    fuzz::ensure(fuzz::is_printable(to_string(fault)), "a fault is safe to print");
  }
  calibrate::LayoutJob asked = calibrate::layout_job(run, rules, machine);
  if (!asked.refused.empty()) return;
  models::Strategy strategy;
  fuzz::refusable([&] { strategy = io::parse_strategy(asked.strategy, asked.job); });
  if (saturating_product({strategy.model_parallel(), strategy.data_parallel}) != asked.job.cluster.cores())
    return;
  asked.job.training.precision = strategy.precision;
  judge_on(asked.job, strategy);
}

/// The answer of a catalogue; its faults have no place, which is the table's.
template <class Named>
auto placed(const Named& named) {
  try {
    return named();
  } catch (const InputError& e) {
    Diagnostic unknown = e.faults().front();
    unknown.at.file = "table";
    throw InputError(std::move(unknown));
  }
}

/// A row of a user's own table, with nothing stated besides.
void judge_own_row(const logs::LayoutRun& run, const calibrate::LayoutRules& rules) {
  const calibrate::NamedThings named{
      [](const std::string& name) { return placed([&] { return topology::Instance(machine(name)); }); },
      [](const std::string& name) { return placed([&] { return fuzz::catalog().architecture(name); }); }};
  fuzz::refusable([&] {
    calibrate::OwnJob asked = calibrate::own_job(run, rules, {}, named);
    if (!asked.refused.empty()) return;
    const models::Strategy strategy = io::parse_strategy(asked.strategy, asked.job);
    asked.job.training.precision = strategy.precision;
    judge_on(asked.job, strategy);
  });
}

}  // namespace

void fuzz::layout_table_target(const std::uint8_t* data, std::size_t size) {
  static const calibrate::LayoutRules rules =
      io::scoring_from(read_document(fuzz::catalog().file("scoring.json")));
  static const calibrate::RunReading reading =
      io::reading_from(read_document(fuzz::catalog().file("reading.json")));
  const std::string text = fuzz::text_of(data, size);
  fuzz::refusable([&] { (void)logs::parse_predictions(text, "predictions.csv"); });
  const auto table = logs::table_of(text);
  if (!table) return;
  fuzz::refusable([&] {
    if (*table == logs::RunTable::own_runs) {
      for (const logs::LayoutRun& run : logs::parse_own_runs(text, "table.csv", {}))
        judge_own_row(run, rules);
      return;
    }
    if (*table != logs::RunTable::neuron_runs) {
      for (const logs::LayoutRun& run : logs::parse_layout_runs(text, "table.csv", *table))
        judge_row(run, rules);
      return;
    }
    const auto mapped =
        calibrate::map_runs(logs::parse_measured_runs(text, "table.csv"), machine("trn1.32xlarge"), reading);
    for (const calibrate::MeasuredStep& step : mapped.steps) judge_on(step.job, step.strategy);
  });
}
