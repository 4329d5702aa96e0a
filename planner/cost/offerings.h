// Blocks of capacity that are for sale, and the cheapest ones that finish a run: EC2 Capacity Blocks and
// SageMaker training plans.
//
// A run goes on in one block at a time. Blocks do not overlap; at the begin of each span of one the job
// starts and loads its checkpoint, and before its end it writes one, so a change of block, with or without a
// gap, costs a checkpoint and a restart. The work of a span, with L its length, is
//
//   tokens(p) = (L - end - start - write) x rate x exp(-z(p) w / z(0.95))      planner/cost/run_forecast.h
//
// The doubt of rate is common to all blocks of a purchase, since the model and the parameters are: their
// tokens at one probability add up, and the sum is reached with that probability.
//
// The choice is min sum of USD over chains of blocks that do not overlap, with sum of tokens >= those of the
// run: a knapsack cover over intervals. It is solved exactly by a dynamic programme over blocks by their end,
// whose states are the Pareto set of (USD, tokens), bounded below by Lagrangian relaxation: with a price m of
// a token, USD + m (missing tokens) + the least sum of (USD - m tokens) over chains that may still follow.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planner/cost/whatif.h"

namespace trnplan::planner {

/// Instances are taken away from this long before a Capacity Block ends (EC2 User Guide, "Work with Capacity
/// Blocks": termination begins thirty minutes before).
inline constexpr Seconds kBlockEnds{1800};
/// Probability with which a purchase finishes the run.
inline constexpr double kOfferConfidence = 0.95;

/// Times are seconds since 1970-01-01 UTC.
struct OfferedSpan {
  double start = 0, end = 0;
};

/// One offer: all of its spans are bought for one fee.
struct Offer {
  enum class Service { capacity_block, training_plan };
  Service service = Service::capacity_block;
  std::string id;
  std::string instance;            ///< EC2 type, without SageMaker's "ml."
  int instances = 0;               ///< hosts
  std::string zone;                ///< may be empty
  double usd = 0;                  ///< paid up front
  std::vector<OfferedSpan> spans;  ///< at least one, ascending, not overlapping

  double start() const { return spans.front().start; }
  double end() const { return spans.back().end; }
};

/// An offer as the solver sees it.
struct Block {
  double start = 0, end = 0, usd = 0;
  double tokens = 0;  ///< at the wanted probability
};

struct Purchase {
  std::vector<std::size_t> blocks;  ///< indices, in the order of time
  double usd = 0, tokens = 0;
  double bound = 0;     ///< USD below which no purchase finishes the run
  bool enough = false;  ///< false: no purchase reaches the tokens; this one gets farthest
  bool proven = false;  ///< `bound` equals `usd`, to 1e-9 of it
};

/// The cheapest chain of blocks with at least so many tokens. Deterministic. Cost: usually milliseconds for
/// 1,000 blocks; beyond `most_states` states the best purchase so far is returned, with its bound.
[[nodiscard]] Purchase cheapest_blocks(const std::vector<Block>& blocks, double tokens,
                                       std::size_t most_states = 4'000'000);

/// A run of `tokens` on what is offered.
struct OfferingsQuestion {
  std::vector<Offer> offers;
  double confidence = kOfferConfidence;
  WhatIfQuestion run;  ///< `tokens` above 0; `deadline` counts from the earliest start of an offer
};

/// The best strategy on the machines of some offers.
struct OfferedCluster {
  std::optional<topology::Instance> instance;  ///< absent if the catalogue has none
  WhatIfPoint point;                           ///< its `why` says what is wrong
  Seconds starts{}, stops{};                   ///< time lost at the begin and before the end of a span
};

struct OfferingsResult {
  std::vector<OfferedCluster> clusters;  ///< one for each type and number of nodes
  std::vector<std::size_t> cluster_of;   ///< of each offer
  Purchase purchase;                     ///< indices of offers
  double done = 0;                       ///< probability that the run is done within them
  /// Time of its end, at the median and with the confidence; nullopt if the purchase does not reach it.
  std::optional<double> done_50, done_surely;
  std::size_t usable = 0;  ///< offers on which the job has a plan
  bool keeps_budget = true;

  bool recommends() const { return purchase.enough && keeps_budget; }
};

/// The time of an offer's spans in which the run gets on.
[[nodiscard]] Seconds useful_time(const Offer& offer, const OfferedCluster& cluster, double latest_end);

/// Chooses among the offers; `clusters` and `cluster_of` are given.
[[nodiscard]] OfferingsResult choose_offers(const OfferingsQuestion& question,
                                            std::vector<OfferedCluster> clusters,
                                            std::vector<std::size_t> cluster_of);

/// The time lost to a start with the load of a checkpoint, and to writing one, at the medians.
void set_lost_times(OfferedCluster& cluster, const Reliability& reliability);

}  // namespace trnplan::planner
