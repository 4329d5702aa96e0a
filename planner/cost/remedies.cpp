#include "planner/cost/remedies.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace trnplan::planner {

namespace {

/// Least gain in probability of a change that is named.
constexpr double kWorthNaming = 0.005;
/// Tries to make a limit long enough, and the step between two: goodput depends on the length of the run.
constexpr int kMostRounds = 8;
constexpr double kStep = 1.02;

/// `x` rounded to three figures, up or down, so that what is named is enough: the number that is read back.
double three_figures(double x, bool up) {
  const double unit = std::pow(10.0, std::floor(std::log10(x)) - 2);
  const double rounded = up ? std::ceil(x / unit * (1 - 1e-12)) : std::floor(x / unit * (1 + 1e-12));
  return std::stod(fmt::format("{:.4g}", rounded * unit));
}

std::string count_of(double tokens) {
  return tokens >= 1e12 ? fmt::format("{:.4g}T", tokens / 1e12) : fmt::format("{:.4g}B", tokens / 1e9);
}

class Remedies {
 public:
  Remedies(const std::vector<WhatIfPoint>& considered, const WhatIfPoint& likeliest,
           const ClusterPoints& clusters)
      : considered_(considered), likeliest_(likeliest), clusters_(clusters), q_(clusters.q) {}

  std::vector<WhatHelps> all() {
    more_time_or_money();
    fewer_tokens();
    const RunTerms terms = clusters_.terms();
    const auto with = [&](std::string option, const auto& change) {
      RunTerms other = terms;
      change(other);
      const RunAnswer run = answer(likeliest_, {q_.tokens, q_.deadline, q_.budget}, other);
      const double was = likeliest_.run.probability_in_limits();
      if (run.why.empty() && run.probability_in_limits() >= was + kWorthNaming)
        add(std::move(option), likeliest_, run);
    };
    if (!terms.asynchronous) with("--async-checkpoints", [](RunTerms& t) { t.asynchronous = true; });
    if (terms.checkpoint_steps > 0)
      with("no --checkpoint-steps", [](RunTerms& t) { t.checkpoint_steps = 0; });
    if (terms.recovery == Recovery::manual)
      with("--recovery automatic", [](RunTerms& t) { t.recovery = Recovery::automatic; });
    return std::move(all_);
  }

 private:
  double confidence() const { return q_.confidence.value_or(0.5); }
  /// Probability that a run of the plan must have if it works; 1 or more: none is enough.
  double wanted(const WhatIfPoint& p) const { return p.plan ? confidence() / p.run.works : kInfinity; }

  const topology::Instance& type_of(const WhatIfPoint& p) const {
    return *std::find_if(q_.instances.begin(), q_.instances.end(),
                         [&](const topology::Instance& i) { return i.name == p.instance; });
  }
  /// The answer of the same plan, which depends on the tokens but on no limit and no term.
  RunAnswer answer(const WhatIfPoint& p, const RunQuestion& question, const RunTerms& terms) const {
    return answer_run(*clusters_.job_at(type_of(p), p.nodes), *p.plan, question, terms,
                      clusters_.reliability);
  }
  /// Tokens that the plan does within the limits, as probably as wanted; 0: none.
  double tokens_in_limits(const WhatIfPoint& p) const {
    if (wanted(p) >= 1) return 0;
    Seconds left = q_.deadline.value_or(Seconds(kInfinity));
    if (q_.budget) left = p.run.bill ? std::min(left, p.run.bill->time_for(*q_.budget)) : Seconds(0);
    return left.value > 0 && left.value < kInfinity ? p.run.forecast.tokens_in(left, wanted(p)) : 0;
  }

  void add(std::string option, const WhatIfPoint& p, const RunAnswer& run) {
    all_.push_back({std::move(option), p.instance, p.nodes, run.probability_in_limits(), run.time, run.usd});
  }

  /// Deadline and budget, of those stated, on the cluster where they grow least.
  void more_time_or_money() {
    const WhatIfPoint* best = nullptr;
    double least = kInfinity;
    for (const WhatIfPoint& p : considered_) {
      if (wanted(p) >= 1) continue;
      const Seconds needed = p.run.forecast.time_of(q_.tokens, wanted(p));
      double growth = q_.deadline ? needed / *q_.deadline : 0;
      if (q_.budget) growth = p.run.bill ? std::max(growth, p.run.bill->usd(needed) / *q_.budget) : kInfinity;
      if (growth >= least) continue;
      least = growth;
      best = &p;
    }
    if (best == nullptr) return;
    Seconds needed = best->run.forecast.time_of(q_.tokens, wanted(*best));
    for (int i = 0; i < kMostRounds; ++i, needed = needed * kStep) {
      RunQuestion more{q_.tokens, q_.deadline, q_.budget};
      std::string option;
      if (q_.deadline && needed > *q_.deadline) {
        const double days = three_figures(in_days(needed), true);
        more.deadline = Seconds(days * kDay);
        option = fmt::format("--deadline {:.4g}d", days);
      }
      if (q_.budget && best->run.bill->usd(needed) > *q_.budget) {
        more.budget = three_figures(best->run.bill->usd(needed), true);
        option += fmt::format("{}--budget {:.0f}", option.empty() ? "" : " ", *more.budget);
      }
      const RunAnswer run = answer(*best, more, clusters_.terms());
      if (!option.empty() && run.why.empty() && run.probability_in_limits() >= confidence())
        return add(std::move(option), *best, run);
    }
  }

  /// Tokens, on the cluster that does most of them within the limits. A shorter run may have another plan: what a
  /// failed try costs counts for more of it.
  void fewer_tokens() {
    const WhatIfPoint* best = nullptr;
    double most = 0;
    for (const WhatIfPoint& p : considered_) {
      const double tokens = tokens_in_limits(p);
      if (tokens <= most) continue;
      most = tokens;
      best = &p;
    }
    const double step =
        best == nullptr ? 0 : static_cast<double>(best->global_batch) * clusters_.job.training.sequence;
    WhatIfQuestion fewer = q_;
    const ClusterPoints asked{
        clusters_.job, fewer, clusters_.profile, clusters_.reliability, clusters_.search, clusters_.threads};
    for (int i = 0; i < kMostRounds && best != nullptr && most >= step; ++i) {
      fewer.tokens = three_figures(most, false);
      const WhatIfPoint p = asked.at(type_of(*best), best->nodes, Wanted::plan);
      if (!p.plan) return;
      if (p.run.probability_in_limits() >= confidence())
        return add("--tokens " + count_of(fewer.tokens), p, p.run);
      most = std::min(most / kStep, tokens_in_limits(p));
    }
  }

  const std::vector<WhatIfPoint>& considered_;
  const WhatIfPoint& likeliest_;
  const ClusterPoints& clusters_;
  const WhatIfQuestion& q_;
  std::vector<WhatHelps> all_;
};

}  // namespace

std::vector<WhatHelps> what_helps(const std::vector<WhatIfPoint>& considered, const WhatIfPoint& likeliest,
                                  const ClusterPoints& clusters) {
  return Remedies(considered, likeliest, clusters).all();
}

}  // namespace trnplan::planner
