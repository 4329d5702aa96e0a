// A whole run of one plan on its cluster, with failures and checkpoints: of tokens, time and money any two
// give the third, at the median and with a probability.
//
//   rate = tokens per second x goodput
//   time(q) = tokens / rate x exp(z(q) w / z(0.95)),   tokens(q) = rate x time x exp(-z(q) w / z(0.95))
//
// z is the quantile of the standard normal, w the logarithmic half-width of the 90 % interval on the side
// that q lies on: sqrt(a^2 + b^2), a of the step, b of the goodput. What is reached in a time with
// probability q needs that time with probability q. A budget buys the time budget / (USD an hour).
#pragma once

#include <optional>
#include <string>

#include "models/job/job.h"
#include "planner/cost/goodput.h"
#include "planner/cost/prices.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// Log-normal around the median, with one width below it and one above.
struct RunForecast {
  double tokens_per_second = 0;    ///< median, with failures
  double shorter = 0, longer = 0;  ///< w above, of the time

  /// `probability` strictly between 0 and 1: done by then, reached by then.
  Seconds time_of(double tokens, double probability = 0.5) const;
  double tokens_in(Seconds time, double probability = 0.5) const;
  /// That so many tokens are done within the time.
  double probability(double tokens, Seconds time) const;
};

RunForecast forecast_of(const models::StepReport& step, const GoodputEstimate& goodput);

/// What is known of a run; without tokens they are what is asked for.
struct RunQuestion {
  double tokens = 0;
  std::optional<Seconds> deadline;
  std::optional<double> budget;  ///< USD

  bool asks_for_tokens() const { return tokens <= 0; }
};

/// How the run is done and paid.
struct RunTerms {
  Recovery recovery = Recovery::automatic;
  bool asynchronous = false;  ///< checkpoints
  int checkpoint_steps = 0;   ///< 0 = those that are best
  PriceOptions prices;
  SamplingOptions sampling;
};

/// How sure an answer has to be to be called sure.
inline constexpr double kSureRun = 0.9;

struct RunAnswer {
  std::string why;       ///< why there is none; then nothing below counts
  double works = 1;      ///< Plan::works, 1 where nobody asked; all below is given that it does
  bool compiles = true;  ///< which says, too, that its graphs are not too large
  Bytes checkpoint{};
  GoodputEstimate goodput;
  RunForecast forecast;
  std::optional<Bill> bill;
  double tokens_50 = 0, tokens_90 = 0;   ///< asked for: reached with that probability, in whole steps; else 0
  Seconds time{};                        ///< median of the tokens; asked for tokens, the time there is
  Interval time_90;                      ///< seconds; asked for tokens, twice the time there is
  Seconds time_at_90{};                  ///< by which the tokens are done with 90 %
  std::optional<double> usd, usd_at_90;  ///< of `time` and `time_at_90`; absent without a price
  double in_time = 1;                    ///< probability of keeping the deadline; 1 without one
  double in_budget = 1;                  ///< and the budget; 0 where no price is known
};

/// A question about a whole run, and its answer.
struct ForecastRun {
  RunQuestion question;
  RunAnswer answer;
};

/// Steps between checkpoints that lose least to failures (best_steps), at the medians, with an agent that
/// restarts the job. `job` is on the plan's cluster, with its batch.
int best_checkpoint_steps(const models::Job& job, const Plan& plan, const Reliability& reliability);

/// `job` is on the plan's cluster, with its batch. Deterministic. Cost: a goodput estimate.
RunAnswer answer_run(const models::Job& job, const Plan& plan, const RunQuestion& question,
                     const RunTerms& terms, const Reliability& reliability);

}  // namespace trnplan::planner
