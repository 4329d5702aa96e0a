#include "planner/cost/instance_comparison.h"

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "text/figures.h"
#include "units/index.h"
#include "units/normal.h"

namespace trnplan::planner {

namespace {

constexpr double kGiga = 1e9;

/// Index of the cluster that represents a type; -1 if none has a plan.
int best_of(const std::vector<WhatIfPoint>& points, const WhatIfQuestion& q, const std::string& instance) {
  int best = -1;
  const auto better = [&](const WhatIfPoint& a, const WhatIfPoint& b) {
    const bool keeps_a = a.keeps(q), keeps_b = b.keeps(q);
    if (keeps_a != keeps_b) return keeps_a;
    return keeps_a ? preferred(a, b, q) : a.run.time < b.run.time;
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].instance != instance || !points[i].plan) continue;
    if (best < 0 || better(points[i], points[at(best)])) best = static_cast<int>(i);
  }
  return best;
}

/// Ratio of a run's cost to the median at `common` and `own` standard deviations, the first shared by its
/// family.
double stretched(const RunForecast& f, double common, double own) {
  const double wide = std::max(f.longer, f.shorter) / kNinetyPercent;
  const double apart = wide > 0 ? std::min(1.0, kOwnLogSd / wide) : 1.0;
  const double z = std::sqrt(1 - apart * apart) * common + apart * own;
  return std::exp(z * (z > 0 ? f.longer : f.shorter) / kNinetyPercent);
}

/// USD per billion tokens at the median; infinite without a price.
double price_of_token(const WhatIfPoint& p, const WhatIfQuestion& q) {
  const auto usd = usd_per_gigatoken(p.run, q.tokens);
  return usd ? *usd : std::numeric_limits<double>::infinity();
}

void draw_cheapest(std::vector<InstanceStanding>& all, const std::vector<WhatIfPoint>& points,
                   const WhatIfQuestion& q) {
  boost::random::mt19937_64 engine(kStandingSeed);
  std::map<std::string, double> of_family;
  std::vector<int> wins(all.size(), 0);
  for (int draw = 0; draw < kStandingDraws; ++draw) {
    of_family.clear();
    std::size_t cheapest = all.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const WhatIfPoint& p = points[at(all[i].point)];
      const auto [common, is_new] = of_family.try_emplace(all[i].family, 0.0);
      if (is_new) common->second = boost::random::normal_distribution<double>()(engine);
      const double own = boost::random::normal_distribution<double>()(engine);
      if (!p.run.usd) continue;
      const double usd = price_of_token(p, q) * stretched(p.run.forecast, common->second, own);
      if (usd < least) {
        least = usd;
        cheapest = i;
      }
    }
    if (cheapest < all.size()) ++wins[cheapest];
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].cheapest = static_cast<double>(wins[i]) / kStandingDraws;
}

/// Sets the price of a node and hour at which a token costs as much as on the cheapest other type.
void set_break_even(std::vector<InstanceStanding>& all, const std::vector<WhatIfPoint>& points,
                    const WhatIfQuestion& q) {
  for (InstanceStanding& one : all) {
    double least = std::numeric_limits<double>::infinity();
    for (const InstanceStanding& other : all) {
      if (&other == &one) continue;
      const double usd = price_of_token(points[at(other.point)], q);
      if (usd >= least) continue;
      least = usd;
      one.against = other.instance;
    }
    const WhatIfPoint& p = points[at(one.point)];
    const double tokens = q.asks_for_tokens() ? p.run.tokens_50 : q.tokens;
    const Seconds term = p.run.bill ? p.run.bill->term : Seconds{};
    const Seconds paid = term.value > 0 ? std::ceil(p.run.time / term) * term : p.run.time;
    const double node_hours = p.nodes * paid.value / kHour;
    if (least < std::numeric_limits<double>::infinity() && node_hours > 0)
      one.break_even = least * tokens / kGiga / node_hours;
  }
}

std::string usd_text(double usd) {
  return usd >= 1000 ? grouped(usd) : fmt::format("{:.2f}", usd);
}

const InstanceStanding* standing_of(const std::vector<InstanceStanding>& all, const std::string& instance) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const InstanceStanding& s) { return s.instance == instance; });
  return found == all.end() ? nullptr : &*found;
}

/// Compares the recommended cluster with the cheapest of the other types' clusters.
std::string compared_with(const WhatIfResult& result, const WhatIfPoint& chosen, const WhatIfQuestion& q) {
  const InstanceStanding* own = standing_of(result.standings, chosen.instance);
  const InstanceStanding* other = own ? standing_of(result.standings, own->against) : nullptr;
  if (other == nullptr) return "";
  const WhatIfPoint& p = result.points[at(other->point)];
  return fmt::format(", against {} on {} x {}{}", usd_text(price_of_token(p, q)), p.nodes, p.instance,
                     p.keeps(q) ? "" : ", which misses the limits");
}

/// Words on the type that is likelier to be the cheapest though its median is not; "" if none is.
std::string likelier_words(const WhatIfResult& result, const WhatIfQuestion& q, const InstanceStanding& own) {
  const std::vector<InstanceStanding>& all = result.standings;
  const auto most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return (a.price ? a.cheapest : -1) < (b.price ? b.cheapest : -1);
  });
  const double shown = std::round(100 * most->cheapest);
  const auto usd = [&](const InstanceStanding& one) {
    return price_of_token(result.points[at(one.point)], q);
  };
  if (shown <= std::round(100 * own.cheapest) || usd(*most) < usd(own)) return "";
  return fmt::format(" ({} {:.0f} %: what it costs is less sure)", most->instance, shown);
}

}  // namespace

std::optional<double> usd_per_gigatoken(const RunAnswer& run, double tokens) {
  const double all = run.tokens_50 > 0 ? run.tokens_50 : tokens;
  if (!run.usd || !(all > 0)) return std::nullopt;
  return *run.usd / all * kGiga;
}

std::vector<InstanceStanding> standings(const std::vector<WhatIfPoint>& points, const WhatIfQuestion& q) {
  std::vector<InstanceStanding> all;
  for (const topology::Instance& type : q.instances) {
    const int best = best_of(points, q, type.name);
    if (best < 0) continue;
    InstanceStanding one;
    one.instance = type.name;
    one.family = type.family;
    one.point = best;
    one.price = paid_price(type, q.prices);
    one.others = other_prices(type, q.prices.pricing);
    all.push_back(std::move(one));
  }
  draw_cheapest(all, points, q);
  set_break_even(all, points, q);
  return all;
}

std::string because(const WhatIfResult& result, const WhatIfQuestion& q) {
  if (result.recommended < 0) return "";
  const WhatIfPoint& p = result.points[at(result.recommended)];
  const auto usd = usd_per_gigatoken(p.run, q.tokens);
  std::string text = fmt::format("Take {} x {}, {}", p.nodes, p.instance, result.reason);
  if (usd) text += fmt::format(": {} USD per billion tokens{}", usd_text(*usd), compared_with(result, p, q));
  text += ". ";
  const InstanceStanding* own = standing_of(result.standings, p.instance);
  std::string sure;
  const auto priced = std::count_if(result.standings.begin(), result.standings.end(),
                                    [](const InstanceStanding& one) { return one.price.has_value(); });
  if (usd && own != nullptr && priced > 1)
    sure = fmt::format("its type is {:.0f} % likely to be the cheapest{}", 100 * own->cheapest,
                       likelier_words(result, q, *own));
  if (q.deadline && !q.asks_for_tokens())
    sure += fmt::format("{}it is {:.0f} % likely to be done in time", sure.empty() ? "" : ", and ",
                        100 * p.run.probability_in_time());
  if (sure.empty())
    sure = fmt::format("a step takes {:.3g} s, 90 % between {:.3g} and {:.3g}", p.plan->report.step.value,
                       p.plan->report.low.value, p.plan->report.high.value);
  sure[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sure[0])));
  return text + sure + ", at the prices and parameters assumed.";
}

}  // namespace trnplan::planner
