// Calibration of P(fit) and of the 90 % intervals of steps on published runs. Needs a table that is no part of
// the project, and is skipped without it.
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "api/score.h"
#include "calibrate/data/layout_jobs.h"
#include "io/catalog/catalog.h"
#include "io/catalog/scoring.h"
#include "io/input/strategy_text.h"
#include "logs/table/layout_runs.h"
#include "models/memory/memory.h"
#include "tests/catch.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "text/remarks.h"

using namespace trnplan;

namespace {

/// Bins of P(fit), by their upper ends.
constexpr std::array kEnds = {0.01, 0.1, 0.5, 0.9, 0.99, 1.0};

struct Bin {
  int rows = 0, ran = 0;
  double expected = 0, variance = 0;
};
struct Source {
  std::array<Bin, kEnds.size()> bins;
  int out_of_memory = 0, right = 0, rows = 0;
};

std::string table() {
  const char* folder = std::getenv("TRNPLAN_SHARED");
  return std::string(folder != nullptr ? folder : "../shared") + "/measured/gpu-measured.csv";
}

/// Counts of every source with rows of either outcome.
std::map<std::string, Source> sources() {
  const io::Catalog catalog = io::Catalog::standard();
  const calibrate::LayoutRules rules = io::scoring_from(read_document(catalog.file("scoring.json")));
  std::map<std::string, topology::Instance> machines;
  std::map<std::string, models::Profile> profiles;
  std::map<std::string, Source> all;
  for (const logs::LayoutRun& run :
       logs::parse_layout_runs(read_text(table(), api::kCsvBytes), table(), logs::RunTable::gpu_runs)) {
    if (!run.out_of_memory && !run.step_seconds) continue;
    calibrate::LayoutJob asked = calibrate::layout_job(run, rules, [&](const std::string& name) {
      return machines.try_emplace(name, machines.contains(name) ? machines.at(name) : catalog.instance(name))
          .first->second;
    });
    if (!asked.refused.empty()) continue;
    try {
      const models::Strategy s = io::parse_strategy(asked.strategy, asked.job);
      const std::string& family = asked.job.cluster.instance.family;
      if (!std::filesystem::exists(catalog.file("profiles/" + family + ".json"))) continue;
      if (!profiles.contains(family)) profiles.emplace(family, api::load_profile(catalog, family));
      const double p = models::memory_of(asked.job, s, profiles.at(family)).fit_probability;
      Source& source = all[calibrate::source_name(run)];
      std::size_t bin = 0;
      while (p > kEnds[bin]) ++bin;
      Bin& b = source.bins[bin];
      ++b.rows;
      b.ran += run.out_of_memory ? 0 : 1;
      b.expected += p;
      b.variance += p * (1 - p);
      ++source.rows;
      source.out_of_memory += run.out_of_memory ? 1 : 0;
      source.right += (p >= 0.5) != run.out_of_memory ? 1 : 0;
    } catch (const InputError&) {  // a layout that cannot be
    }
  }
  return all;
}

}  // namespace

// A spread that is too narrow, or a count that is off, moves the bins in the middle by several binomial errors.
TEST_CASE("runs fit as often as P(fit) says", "[api]") {
  if (!std::filesystem::exists(table())) {
    WARN("skipped: there is no " << table());
    return;
  }
  constexpr int kEnough = 30;  // runs out of memory; sources that publish only what ran tell no frequency
  constexpr double kNinetyNine = 2.576;  // standard deviations, two-sided
  int judged = 0;
  for (const auto& [name, source] : sources()) {
    if (source.out_of_memory < kEnough) continue;
    ++judged;
    INFO(name << ": " << source.right << " of " << source.rows << " right");
    CHECK(source.right >= 0.98 * source.rows);
    for (std::size_t i = 0; i < kEnds.size(); ++i) {
      const Bin& b = source.bins[i];
      INFO("up to " << kEnds[i] << ": " << b.ran << " of " << b.rows << " ran, " << b.expected << " +/- "
                    << std::sqrt(b.variance) << " expected");
      CHECK(std::abs(b.ran - b.expected) <= std::max(0.5, kNinetyNine * std::sqrt(b.variance)));
    }
  }
  CHECK(judged > 0);
}

namespace {

calibrate::RowScores scores(bool network_state) {
  api::ScoreRequest request;
  request.table = table();
  request.quality = "AB";
  request.network_state = network_state;
  Remarks remarks;
  return api::score(request, remarks).scores;
}

/// Rows from which a coverage is judged.
constexpr std::size_t kOften = 50;

/// Binomial error of 90 % of so many rows, twice.
double slack(std::size_t rows) {
  return 2 * std::sqrt(0.9 * 0.1 / static_cast<double>(rows));
}

}  // namespace

// Catches intervals of steps that are too narrow or too wide where runs were compared often: in a source, and
// in any bin of half-width. Rows of quality B of the playbook ran before a fault of its pipeline was mended.
TEST_CASE("90 % intervals of steps hold about 90 % of what was measured", "[api]") {
  if (!std::filesystem::exists(table())) {
    WARN("skipped: there is no " << table());
    return;
  }
  const std::string playbook = "nanotron/ultrascale-playbook-data";
  for (const bool network_state : {true, false}) {
    const calibrate::RowScores all = scores(network_state);
    std::map<std::string, std::vector<const calibrate::ScoredRow*>> sources;
    std::vector<const calibrate::ScoredRow*> best;
    for (const calibrate::ScoredRow& r : all.rows) {
      if (r.source == playbook && r.quality != "A") continue;
      sources[r.source].push_back(&r);
      if (r.quality == "A") best.push_back(&r);
    }
    for (const auto& [name, rows] : sources) {
      const calibrate::ScoreSummary s = calibrate::score_of(rows);
      if (s.intervals < kOften) continue;
      INFO(name << (network_state ? "" : " as a plan"));
      CHECK(s.coverage_90 > 0.85);
      CHECK(s.coverage_90 < 0.97);
    }
    for (const calibrate::IntervalBin& b : calibrate::interval_bins(best)) {
      if (b.rows < kOften) continue;
      INFO("half-width below " << b.below.value_or(9) << (network_state ? "" : ", as a plan"));
      CHECK(b.coverage_90() > 0.9 - slack(b.rows));
      CHECK(b.coverage_90() < 0.98);
    }
    CHECK(calibrate::score_of(all.of("VIA-Research/vTrain")).half_width < 0.12);
    CHECK(calibrate::score_of(all.of("mosaicml/llm-foundry")).half_width < 0.12);
    CHECK(calibrate::score_of(all.of("pytorch/torchtitan")).half_width > 0.3);
  }
}
