#include "planner/cost/remedies.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace trnplan::planner {

namespace {

/// Least gain in probability of a change that is named.
constexpr double kWorthNaming = 0.005;

/// `x` rounded to three figures, up or down, so that what is named is enough.
double three_figures(double x, bool up) {
  const double unit = std::pow(10.0, std::floor(std::log10(x)) - 2);
  return (up ? std::ceil(x / unit) : std::floor(x / unit)) * unit;
}

class Remedies {
 public:
  Remedies(const WhatIfPoint& point, const WhatIfQuestion& question, const models::Job& job,
           const RunTerms& terms, const Reliability& reliability)
      : p_(point), q_(question), job_(job), terms_(terms), reliability_(reliability) {}

  std::vector<WhatHelps> all() {
    const double wanted = q_.confidence.value_or(0.5) / p_.run.works;
    if (wanted < 1) limits(wanted);
    if (!terms_.asynchronous) {
      RunTerms other = terms_;
      other.asynchronous = true;
      with("--async-checkpoints", other);
    }
    if (terms_.checkpoint_steps > 0) {
      RunTerms other = terms_;
      other.checkpoint_steps = 0;
      with("no --checkpoint-steps", other);
    }
    if (terms_.recovery == Recovery::manual) {
      RunTerms other = terms_;
      other.recovery = Recovery::automatic;
      with("--recovery automatic", other);
    }
    return std::move(all_);
  }

 private:
  /// Limits and tokens with which the run of a plan that works keeps the limits with probability `wanted`.
  void limits(double wanted) {
    const RunForecast& run = p_.run.forecast;
    const Seconds needed = run.time_of(q_.tokens, wanted);
    RunQuestion more{q_.tokens, q_.deadline, q_.budget};
    std::string option;
    if (q_.deadline && needed > *q_.deadline) {
      const double days = three_figures(in_days(needed), true);
      more.deadline = Seconds(days * kDay);
      option = fmt::format("--deadline {:.4g}d", days);
    }
    if (q_.budget && p_.run.bill && p_.run.bill->usd(needed) > *q_.budget) {
      more.budget = three_figures(p_.run.bill->usd(needed), true);
      option += fmt::format("{}--budget {:.0f}", option.empty() ? "" : " ", *more.budget);
    }
    if (!option.empty()) add(option, more, terms_);
    Seconds left = q_.deadline.value_or(Seconds(kInfinity));
    if (q_.budget && p_.run.bill) left = std::min(left, p_.run.bill->time_for(*q_.budget));
    const double tokens = left.value > 0 && left.value < kInfinity ? run.tokens_in(left, wanted) : 0;
    if (tokens < job_.training.sequence * static_cast<double>(p_.global_batch)) return;
    const double fewer = three_figures(tokens, false);
    add(fmt::format("--tokens {}", fewer >= 1e12 ? fmt::format("{:.4g}T", fewer / 1e12)
                                                 : fmt::format("{:.4g}B", fewer / 1e9)),
        {fewer, q_.deadline, q_.budget}, terms_);
  }

  void with(std::string option, const RunTerms& terms) {
    add(std::move(option), {q_.tokens, q_.deadline, q_.budget}, terms);
  }

  void add(std::string option, const RunQuestion& question, const RunTerms& terms) {
    const RunAnswer run = answer_run(job_, *p_.plan, question, terms, reliability_);
    if (!run.why.empty() || run.probability_in_limits() < p_.run.probability_in_limits() + kWorthNaming)
      return;
    all_.push_back({std::move(option), run.probability_in_limits(), run.time, run.usd});
  }

  const WhatIfPoint& p_;
  const WhatIfQuestion& q_;
  const models::Job& job_;
  const RunTerms& terms_;
  const Reliability& reliability_;
  std::vector<WhatHelps> all_;
};

}  // namespace

std::vector<WhatHelps> what_helps(const WhatIfPoint& point, const WhatIfQuestion& question,
                                  const models::Job& job, const RunTerms& terms,
                                  const Reliability& reliability) {
  return Remedies(point, question, job, terms, reliability).all();
}

}  // namespace trnplan::planner
