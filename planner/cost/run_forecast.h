// Forecast of a whole run of one plan on its cluster, with failures and checkpoints: any two of tokens, time
// and money give the third, at the median and with a probability.
//
//   time(q) = tokens / rate x exp(x(q)),   tokens(q) = rate x time x exp(-x(q))
//
// x(q) is the quantile of log(step / median step) + log(median goodput / goodput): of the step a log-normal, or one for
// each state of a network that was not measured, of the goodput two halves of a normal with its widths. rate is tokens
// per second x goodput at the medians, moved to the median of the sum: runs that fail often are longer than that.
// Tokens that are reached in a time with probability q need that time with probability q. A budget buys the time
// budget / (USD an hour).
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "models/job/job.h"
#include "models/uncertainty/mixture.h"
#include "planner/cost/goodput.h"
#include "planner/cost/prices.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// Distribution of the seconds of a token of a run, with failures.
struct RunForecast {
  double tokens_per_second = 0;  ///< median
  double shorter = 0,
         longer =
             0;  ///< logarithms of the median over the 5th percentile of the time, and of the 95th over it
  models::Mixture states;  ///< of the logarithm of a token's seconds; empty where the run makes no progress

  /// Time and tokens that are reached with `probability`, strictly between 0 and 1.
  Seconds time_of(double tokens, double probability = 0.5) const;
  double tokens_in(Seconds time, double probability = 0.5) const;
  /// Probability that so many tokens are done within the time.
  double probability(double tokens, Seconds time) const;
};

RunForecast forecast_of(const models::StepReport& step, const GoodputEstimate& goodput);

/// The limits of a run. Without tokens, the question is how many are reached.
struct RunQuestion {
  double tokens = 0;
  std::optional<Seconds> deadline;
  std::optional<double> budget;  ///< USD

  bool asks_for_tokens() const { return tokens <= 0; }
};

/// Problem of a run of so few tokens, less than a step or than one token; "" of others.
[[nodiscard]] std::string why_too_few_tokens(double tokens, const models::Training& training);

/// Terms of a run: recovery, checkpoints and prices.
struct RunTerms {
  Recovery recovery = Recovery::automatic;
  bool asynchronous = false;  ///< checkpoints
  int checkpoint_steps = 0;   ///< 0 = the best number
  PriceOptions prices;
  SamplingOptions sampling;
};

/// Probability from which an answer is called sure.
inline constexpr double kSureRun = 0.9;

struct RunAnswer {
  std::string why;       ///< reason for the lack of an answer; if set, nothing below counts
  double works = 1;      ///< Plan::works, 1 if it was not asked for; all below is conditional on it
  bool compiles = true;  ///< also says that its graphs are not too large
  Bytes checkpoint{};
  GoodputEstimate goodput;
  RunForecast forecast;
  std::optional<Bill> bill;
  /// Tokens reached with that probability, in whole steps, if tokens are asked for; else 0.
  double tokens_50 = 0, tokens_90 = 0;
  /// Median for the tokens; if tokens are asked for, the available time.
  Seconds time{};
  Interval time_90;                      ///< seconds; if tokens are asked for, both ends are `time`
  Seconds time_at_90{};                  ///< time in which the tokens are done with 90 %
  std::optional<double> usd, usd_at_90;  ///< of `time` and `time_at_90`; absent without a price
  double in_time = 1;                    ///< probability of keeping the deadline; 1 without one
  double in_budget = 1;                  ///< the same for the budget; 0 if no price is known

  /// P(the run works and ends within the deadline), P(it works and ends within the budget), and P(it works and
  /// ends within both): time and budget are limits of one time, so both hold if the tighter one does.
  [[nodiscard]] double probability_in_time() const { return works * in_time; }
  [[nodiscard]] double probability_in_budget() const { return works * in_budget; }
  [[nodiscard]] double probability_in_limits() const { return works * std::min(in_time, in_budget); }
};

/// A question about a whole run, and its answer.
struct ForecastRun {
  RunQuestion question;
  RunAnswer answer;
};

/// Steps between checkpoints that lose least to failures (best_steps), at the medians, with an agent that
/// restarts the job. `job` is on the plan's cluster, with its batch.
int best_checkpoint_steps(const models::Job& job, const Plan& plan, const Reliability& reliability);

/// Answers a question about a run. `job` is on the plan's cluster, with its batch. Deterministic. Cost: a
/// goodput estimate.
RunAnswer answer_run(const models::Job& job, const Plan& plan, const RunQuestion& question,
                     const RunTerms& terms, const Reliability& reliability);

}  // namespace trnplan::planner
