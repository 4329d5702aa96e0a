#include "calibrate/validate/row_scores.h"

#include <cmath>

#include "tests/catch.h"

using namespace trnplan::calibrate;

namespace {

ScoredRow row(const char* id, double measured, double predicted, const char* group = "g",
              const char* quality = "A") {
  ScoredRow r;
  r.id = id;
  r.source = "s";
  r.group = group;
  r.quality = quality;
  r.measured = measured;
  if (predicted > 0)
    r.predicted = predicted;
  else
    r.skipped = "why";
  return r;
}

bool close(double a, double b) {
  return std::abs(a - b) < 1e-12;
}

}  // namespace

// Errors +10 %, -20 %, 0 and one that was skipped: of the predicted median 10 %, mean 10 %; with the skipped row as
// 100 % the errors are 0, 10, 20, 100: median 15 %, mean 32.5 %.
TEST_CASE("errors of rows, with and without those that were skipped", "[calibrate]") {
  std::vector<ScoredRow> rows = {row("a", 10, 11), row("b", 10, 8), row("c", 10, 10), row("d", 10, 0)};
  rows[0].low = 9.5;
  rows[0].high = 12.5;  // half of 3 over 11, and 10 within
  rows[1].low = 7;
  rows[1].high = 9;  // half of 2 over 8, and 10 beyond
  const RowScores scores = row_scores(rows);
  const ScoreSummary s = score_of(scores.of(""));
  CHECK(s.rows == 4);
  CHECK(s.skipped == 1);
  CHECK(close(s.median_ape, 0.1));
  CHECK(close(s.mape, 0.1));
  CHECK(close(s.bias, 0));
  CHECK(close(s.median_with_skipped, 0.15));
  CHECK(close(s.mape_with_skipped, 0.325));
  CHECK(s.intervals == 2);
  CHECK(close(s.coverage_90, 0.5));
  CHECK(close(s.half_width, (1.5 / 11 + 1.0 / 8) / 2));
  REQUIRE(s.median_90);
  CHECK(s.median_90->first >= 0);
  CHECK(s.median_90->first <= s.median_ape);
  CHECK(s.median_90->second >= s.median_ape);
  CHECK(s.median_90->second <= 0.2 + 1e-12);
  CHECK(score_of(scores.of("")).median_90 == s.median_90);  // the same draws each time
  CHECK(scores.skipped.at("why") == 1);
  CHECK_FALSE(score_of({&rows[0], &rows[1]}).median_90);  // two rows
}

// Five layouts of 10, 11, 12, 13 and 14 s: blindly 12 / 10 - 1 = 20 %. The predictions put the second first: regret
// 10 %. Swapping the first two ranks leaves Spearman's 1 - 6 * 2 / (5 * 24) = 0.9.
TEST_CASE("regret of a group of layouts", "[calibrate]") {
  std::vector<ScoredRow> rows = {row("a", 10, 6), row("b", 11, 5), row("c", 12, 7), row("d", 13, 8),
                                 row("e", 14, 9)};
  const auto groups = group_regrets(rows, 5, "D");
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].picked == "b");
  CHECK(groups[0].best == "a");
  CHECK(close(groups[0].regret, 0.1));
  CHECK(close(groups[0].random, 0.2));
  CHECK(close(groups[0].rank_correlation, 0.9));
  rows[1].quality = "D";  // four are left: no group
  CHECK(group_regrets(rows, 5, "D").empty());
  rows[1].quality = "A";
  rows[0].predicted.reset();  // what is not predicted cannot be picked, and stays the best
  const auto without = group_regrets(rows, 5, "D");
  CHECK(without[0].best == "a");
  CHECK(without[0].picked == "b");
  for (ScoredRow& r : rows) r.predicted.reset();  // nothing predicted: as good as blind
  CHECK(close(group_regrets(rows, 5, "D")[0].regret, 0.2));
}

TEST_CASE("regret does not depend on the order or the scale of predictions", "[calibrate]") {
  std::vector<ScoredRow> rows;
  for (int i = 0; i < 7; ++i)
    rows.push_back(row(std::string(1, static_cast<char>('a' + i)).c_str(), 10 + i, 20 - i * i % 5));
  const double regret = group_regrets(rows, 5, "")[0].regret;
  for (ScoredRow& r : rows) *r.predicted *= 1000;
  CHECK(close(group_regrets(rows, 5, "")[0].regret, regret));
}

// Reported: a row of which nothing was predicted counted as wrong.
TEST_CASE("who fits", "[calibrate]") {
  std::vector<ScoredRow> rows(5);
  rows[0].out_of_memory = true;
  rows[0].fit_probability = 0.2;  // caught
  rows[1].out_of_memory = true;
  rows[1].fit_probability = 0.7;  // missed
  rows[2].measured = 1;
  rows[2].fit_probability = 0.9;  // right
  rows[3].measured = 1;
  rows[3].fit_probability = 0.1;  // refused though it ran
  rows[4].measured = 1;           // nothing is said: neither right nor wrong
  const FitScore f = fit_score_of(row_scores(rows).of(""));
  CHECK(f.rows == 4);
  CHECK(f.right == 2);
  CHECK(f.unknown == 1);
  CHECK(f.oom == 2);
  CHECK(f.oom_caught == 1);
  CHECK(f.fitting == 2);
  CHECK(f.false_refusals == 1);
}

TEST_CASE("no rows are no error", "[calibrate]") {
  CHECK(score_of({}).median_ape == 0);
  CHECK(regret_of({}).mean == 0);
  CHECK(fit_score_of({}).rows == 0);
  CHECK(memory_errors_of({}).rows == 0);
}
