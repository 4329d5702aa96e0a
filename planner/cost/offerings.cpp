#include "planner/cost/offerings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "units/quantity.h"

namespace trnplan::planner {

namespace {

/// Costs that differ by less count as equal.
constexpr double kEqual = 1e-9;
/// Prices of a token around the best one, whose bounds are tried for each state.
constexpr int kPrices = 24;

/// A chain of blocks that ends with `block`; -1 for none.
struct State {
  double usd = 0, tokens = 0;
  int parent = -1, block = -1;
};

/// The solver. Blocks are numbered from 1 by their end; position k says that blocks 1 .. k are decided.
class Chains {
 public:
  Chains(const std::vector<Block>& blocks, double tokens, std::size_t most_states)
      : all_(blocks), tokens_(tokens), most_states_(most_states) {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].tokens > 0 && blocks[i].end > blocks[i].start) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(blocks[a].end, a) < std::pair(blocks[b].end, b);
    });
    std::vector<double> ends;
    for (const std::size_t i : order_) ends.push_back(blocks[i].end);
    followers_.resize(order_.size() + 1);
    before_.push_back(0);
    for (std::size_t k = 1; k <= order_.size(); ++k) {
      const auto at = std::upper_bound(ends.begin(), ends.end(), of(k).start) - ends.begin();
      before_.push_back(static_cast<std::size_t>(at));
      followers_[static_cast<std::size_t>(at)].push_back(k);
    }
  }

  Purchase solve() {
    farthest_ = suffix([](const Block& b) { return -b.tokens; });
    if (-farthest_[0] < tokens_ * (1 - kEqual)) return chain([](const Block& b) { return -b.tokens; });
    relax();
    return search();
  }

 private:
  const Block& of(std::size_t k) const { return all_[order_[k - 1]]; }

  /// Least sum of `value` over chains of blocks that may follow position k, for each k; the empty one is 0.
  template <class Value>
  std::vector<double> suffix(const Value& value) const {
    std::vector<double> least(order_.size() + 1, 0);
    for (std::size_t k = order_.size() + 1; k-- > 0;) {
      if (k < order_.size()) least[k] = least[k + 1];
      for (const std::size_t j : followers_[k]) least[k] = std::min(least[k], value(of(j)) + least[j]);
    }
    return least;
  }

  /// The chain with that least sum.
  template <class Value>
  Purchase chain(const Value& value) const {
    const std::vector<double> least = suffix(value);
    std::vector<std::size_t> taken;
    for (std::size_t k = 0; k <= order_.size();) {
      std::size_t next = 0;
      for (const std::size_t j : followers_[k])
        if (least[k] < 0 && value(of(j)) + least[j] == least[k]) next = j;
      if (next > 0) taken.push_back(next);
      k = next > 0 ? next : k + 1;
    }
    return purchase_of(taken);
  }

  Purchase purchase_of(const std::vector<std::size_t>& taken) const {
    Purchase p;
    for (const std::size_t k : taken) {
      p.blocks.push_back(order_[k - 1]);
      p.usd += of(k).usd;
      p.tokens += of(k).tokens;
    }
    p.enough = reaches(p.tokens);
    return p;
  }

  bool reaches(double tokens) const { return tokens >= tokens_ * (1 - kEqual); }

  /// Leaves out blocks without which the chain still reaches the tokens, the most expensive first.
  Purchase trimmed(Purchase p) const {
    for (;;) {
      std::size_t worst = p.blocks.size();
      for (std::size_t i = 0; i < p.blocks.size(); ++i) {
        const Block& b = all_[p.blocks[i]];
        if (reaches(p.tokens - b.tokens) && (worst == p.blocks.size() || b.usd > all_[p.blocks[worst]].usd))
          worst = i;
      }
      if (worst == p.blocks.size()) return p;
      p.usd -= all_[p.blocks[worst]].usd;
      p.tokens -= all_[p.blocks[worst]].tokens;
      p.blocks.erase(p.blocks.begin() + static_cast<std::ptrdiff_t>(worst));
    }
  }

  void offer(const Purchase& p) {
    if (p.enough && (!best_.enough || p.usd < best_.usd)) best_ = p;
  }

  /// Raises the price of a token until the cheapest chain reaches the tokens, and keeps the bounds around it.
  void relax() {
    offer(trimmed(chain([](const Block& b) { return -b.tokens; })));
    double low = 0, high = 0;
    for (std::size_t k = 1; k <= order_.size(); ++k) high = std::max(high, of(k).usd / of(k).tokens);
    high = high > 0 ? 2 * high : 1;
    for (int i = 0; i < 60; ++i) {
      const double price = (low + high) / 2;
      const Purchase p = chain([&](const Block& b) { return b.usd - price * b.tokens; });
      if (p.enough) offer(trimmed(p));
      (p.enough ? high : low) = price;
    }
    for (int i = 0; i < kPrices; ++i) {
      // Densest at the best price: the factors 1 +- 0.7^j, and 0.
      const double apart = std::pow(0.7, i / 2) * (i % 2 == 0 ? 1 : -1);
      const double price = high * std::max(0.0, 1 + apart);
      prices_.push_back(price);
    }
    prices_.push_back(high);
    for (const double price : prices_)
      bounds_.push_back(suffix([&](const Block& b) { return b.usd - price * b.tokens; }));
  }

  /// USD below which no completion of such a state at position k costs.
  double bound(double usd, double tokens, std::size_t k) const {
    double most = 0;
    for (std::size_t i = 0; i < prices_.size(); ++i)
      most = std::max(most, prices_[i] * (tokens_ - tokens) + bounds_[i][k]);
    return usd + most;
  }

  bool promising(double usd, double tokens, std::size_t k) const {
    return reaches(tokens - farthest_[k]) && bound(usd, tokens, k) < best_.usd * (1 - kEqual);
  }

  Purchase search() {
    best_.bound = bound(0, 0, 0);
    states_.push_back({});
    std::vector<std::vector<int>> at(order_.size() + 1);
    at[0] = {0};
    std::size_t kept = 1;
    for (std::size_t k = 1; k <= order_.size(); ++k) {
      std::vector<int> taken;
      for (const int s : at[before_[k]]) {
        const State& from = states_[static_cast<std::size_t>(s)];
        const State next{from.usd + of(k).usd, from.tokens + of(k).tokens, s, static_cast<int>(k)};
        if (reaches(next.tokens)) {
          if (next.usd < best_.usd) best_ = complete(next);
          continue;
        }
        if (!promising(next.usd, next.tokens, k)) continue;
        taken.push_back(static_cast<int>(states_.size()));
        states_.push_back(next);
      }
      at[k] = merged(at[k - 1], taken, k);
      kept += at[k].size();
      if (states_.size() + kept > most_states_) return best_;
    }
    best_.bound = best_.usd;
    best_.proven = true;
    return best_;
  }

  /// The Pareto set of both at position k: states that cost more have more tokens. Both are in that order.
  std::vector<int> merged(const std::vector<int>& carried, const std::vector<int>& taken,
                          std::size_t k) const {
    std::vector<int> both(carried.size() + taken.size());
    std::merge(carried.begin(), carried.end(), taken.begin(), taken.end(), both.begin(), [&](int a, int b) {
      const State &x = states_[static_cast<std::size_t>(a)], &y = states_[static_cast<std::size_t>(b)];
      return x.usd != y.usd ? x.usd < y.usd : x.tokens > y.tokens;
    });
    std::vector<int> front;
    double most = -1;
    for (const int s : both) {
      const State& x = states_[static_cast<std::size_t>(s)];
      if (x.tokens <= most || !promising(x.usd, x.tokens, k)) continue;
      most = x.tokens;
      front.push_back(s);
    }
    return front;
  }

  Purchase complete(const State& last) const {
    std::vector<std::size_t> taken;
    for (State s = last; s.block >= 0; s = states_[static_cast<std::size_t>(s.parent)])
      taken.push_back(static_cast<std::size_t>(s.block));
    std::reverse(taken.begin(), taken.end());
    Purchase p = purchase_of(taken);
    p.enough = true;
    p.bound = best_.bound;
    return p;
  }

  const std::vector<Block>& all_;
  double tokens_;
  std::size_t most_states_;
  std::vector<std::size_t> order_;                   ///< usable blocks, by their end
  std::vector<std::size_t> before_;                  ///< blocks that end by the start of block k
  std::vector<std::vector<std::size_t>> followers_;  ///< blocks with that `before_`
  std::vector<double> farthest_;                     ///< minus the most tokens that may follow
  std::vector<double> prices_;
  std::vector<std::vector<double>> bounds_;
  std::vector<State> states_;
  Purchase best_;
};

/// Tokens of a purchase that are reached with `probability`.
struct Walk {
  const OfferingsQuestion& q;
  const OfferingsResult& r;
  double latest;

  const OfferedCluster& cluster(std::size_t offer) const { return r.clusters[r.cluster_of[offer]]; }

  double tokens(std::size_t offer, double probability) const {
    const OfferedCluster& c = cluster(offer);
    if (!c.point.plan) return 0;
    return c.point.run.forecast.tokens_in(useful_time(q.offers[offer], c, latest), probability);
  }

  double sum(double probability) const {
    double all = 0;
    for (const std::size_t i : r.purchase.blocks) all += tokens(i, probability);
    return all;
  }

  /// The largest probability with which they are enough.
  double enough() const {
    double low = 0, high = 1;
    for (int i = 0; i < 50; ++i) {
      const double middle = (low + high) / 2;
      (sum(middle) >= q.run.tokens ? low : high) = middle;
    }
    return low;
  }

  std::optional<double> done(double probability) const {
    double missing = q.run.tokens * (1 - kEqual);
    for (const std::size_t i : r.purchase.blocks) {
      const OfferedCluster& c = cluster(i);
      const double rate = c.point.run.forecast.tokens_in(Seconds(1), probability);
      for (const OfferedSpan& span : q.offers[i].spans) {
        Offer one = q.offers[i];
        one.spans = {span};
        const double reached = rate * useful_time(one, c, latest).value;
        if (reached >= missing) return span.start + c.starts.value + missing / rate;
        missing -= reached;
      }
    }
    return std::nullopt;
  }
};

}  // namespace

Purchase cheapest_blocks(const std::vector<Block>& blocks, double tokens, std::size_t most_states) {
  return Chains(blocks, tokens, most_states).solve();
}

Seconds useful_time(const Offer& offer, const OfferedCluster& c, double latest_end) {
  const bool block = offer.service == Offer::Service::capacity_block;
  double all = 0;
  for (const OfferedSpan& span : offer.spans) {
    const double end = std::min(latest_end, span.end - (block ? kBlockEnds.value : 0));
    all += std::max(0.0, end - span.start - (c.starts + c.stops).value);
  }
  return Seconds(all);
}

void set_lost_times(OfferedCluster& c, const Reliability& r) {
  using P = ReliabilityParameter;
  const double write = (c.point.run.checkpoint / r.storage(c.point.nodes)).value;
  c.starts = Seconds(r[P::restart] + r[P::load_ratio] * write);
  c.stops = Seconds(write);
}

OfferingsResult choose_offers(const OfferingsQuestion& q, std::vector<OfferedCluster> clusters,
                              std::vector<std::size_t> cluster_of) {
  OfferingsResult r;
  r.clusters = std::move(clusters);
  r.cluster_of = std::move(cluster_of);
  double first = kInfinity;
  for (const Offer& o : q.offers) first = std::min(first, o.start());
  const Walk walk{q, r, q.run.deadline ? first + q.run.deadline->value : kInfinity};
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < q.offers.size(); ++i) {
    const Offer& o = q.offers[i];
    blocks.push_back({o.start(), o.end(), o.usd, walk.tokens(i, q.confidence)});
    if (r.clusters[r.cluster_of[i]].point.plan) ++r.usable;
  }
  // Of choices that cost the same to a millionth, one that ends earlier is taken.
  constexpr double kTie = 1e-6;
  double last = first;
  for (const Block& b : blocks) last = std::max(last, b.end);
  for (Block& b : blocks) b.usd *= 1 + kTie * (b.end - first) / (last - first);
  r.purchase = cheapest_blocks(blocks, q.run.tokens);
  r.purchase.usd = 0;
  for (const std::size_t i : r.purchase.blocks) r.purchase.usd += q.offers[i].usd;
  r.purchase.bound = r.purchase.proven ? r.purchase.usd : std::min(r.purchase.bound, r.purchase.usd);
  r.done = walk.enough();
  r.done_50 = walk.done(0.5);
  r.done_surely = walk.done(q.confidence);
  r.keeps_budget = !q.run.budget || r.purchase.usd <= *q.run.budget;
  return r;
}

}  // namespace trnplan::planner
