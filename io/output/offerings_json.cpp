#include "io/output/offerings_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "text/utc_time.h"

namespace trnplan::io {

namespace {

using planner::OfferedCluster;
using planner::OfferingsQuestion;
using planner::OfferingsResult;

struct ShownOffer {
  const planner::Offer* of;
  int cluster;
};

struct ShownOfferings {
  const OfferingsResult* result;
  const OfferingsQuestion* question;
  std::string model, reliability;
};

std::vector<ShownOffer> bought(const ShownOfferings& o) {
  std::vector<ShownOffer> all;
  for (const std::size_t i : o.result->purchase.blocks)
    all.push_back({&o.question->offers[i], static_cast<int>(o.result->cluster_of[i])});
  return all;
}

std::optional<std::string> iso(const std::optional<double>& time) {
  return time ? std::optional(utc_iso(*time)) : std::nullopt;
}

/// A getter for values of a cluster with a plan.
template <class Get>
auto planned(Get get) {
  return [get](const OfferedCluster& c) {
    return c.point.plan ? std::optional(std::invoke(get, c.point)) : std::nullopt;
  };
}

}  // namespace

template <>
const Record<ShownOffer>& record() {
  const auto of = [](auto get) { return path(&ShownOffer::of, get); };
  static const Record<ShownOffer> described(
      "Offer", "An offer that is bought.",
      {{"id", of(&planner::Offer::id)},
       {"service", of([](const planner::Offer& o) {
          return o.service == planner::Offer::Service::capacity_block ? "capacity_block" : "training_plan";
        }),
        "`capacity_block` (EC2) or `training_plan` (SageMaker)"},
       {"instance", of(&planner::Offer::instance), "type of one host"},
       {"instances", of(&planner::Offer::instances)},
       {"zone", of(&planner::Offer::zone)},
       {"start", of([](const planner::Offer& o) { return utc_iso(o.start()); })},
       {"end", of([](const planner::Offer& o) { return utc_iso(o.end()); })},
       {"usd", of(&planner::Offer::usd)},
       {"cluster", &ShownOffer::cluster, "index into `clusters`"}});
  return described;
}

template <>
const Record<OfferedCluster>& record() {
  static const Record<OfferedCluster> described(
      "OfferedCluster", "A type and number of nodes that is offered.",
      {{"instance", path(&OfferedCluster::point, &planner::WhatIfPoint::instance)},
       {"nodes", path(&OfferedCluster::point, &planner::WhatIfPoint::nodes)},
       {"strategy", planned([](const planner::WhatIfPoint& p) { return placed(*p.plan); }), "as in a plan"},
       {"tokens_per_second",
        planned([](const planner::WhatIfPoint& p) { return p.plan->report.tokens_per_second; })},
       {"goodput", planned([](const planner::WhatIfPoint& p) { return p.run.goodput.goodput; })},
       {"works_probability",
        [](const OfferedCluster& c) { return c.point.plan ? c.point.plan->works : std::nullopt; }},
       {"why", path(&OfferedCluster::point, &planner::WhatIfPoint::why), "there is no plan"}});
  return described;
}

template <>
const Record<ShownOfferings>& record() {
  using O = ShownOfferings;
  const auto result = [](auto get) { return path(&O::result, get); };
  const auto question = [](auto get) { return path(&O::question, get); };
  const auto purchase = [&](auto get) { return result(path(&OfferingsResult::purchase, get)); };
  static const Record<O> described(
      "OfferingsResult", "The offers to buy for a run.",
      {{"model", &O::model},
       {"tokens", question([](const OfferingsQuestion& q) { return q.run.tokens; })},
       {"confidence", question(&OfferingsQuestion::confidence), "with which the tokens must be reached"},
       {"reliability", &O::reliability},
       {"offers", question([](const OfferingsQuestion& q) { return static_cast<int>(q.offers.size()); }),
        "in the file"},
       {"usable", result([](const OfferingsResult& r) { return static_cast<int>(r.usable); }),
        "of these: on which the job has a plan"},
       {"recommended", result(&OfferingsResult::recommends),
        "`buy` finishes the run with the confidence, within the budget"},
       {"buy", &bought, "in the order of time; if no choice is enough, the one that gets farthest"},
       {"usd", purchase(&planner::Purchase::usd), "of all of `buy`, up front"},
       {"usd_bound", purchase(&planner::Purchase::bound), "no choice that is enough costs less"},
       {"proven", purchase(&planner::Purchase::proven), "none is cheaper: `usd_bound` is `usd`"},
       {"tokens_surely", purchase(&planner::Purchase::tokens), "reached by `buy` with the confidence"},
       {"done_probability", result(&OfferingsResult::done), "that `buy` finishes the run, if the plans work"},
       {"done_50", result([](const OfferingsResult& r) { return iso(r.done_50); }),
        "the end of the run at the median; `null` if it is not reached"},
       {"done_surely", result([](const OfferingsResult& r) { return iso(r.done_surely); }),
        "likewise with the confidence"},
       {"clusters", result(&OfferingsResult::clusters)}});
  return described;
}

std::string offerings_json(const OfferingsResult& result, const OfferingsQuestion& question,
                           const models::Job& job, const std::string& reliability) {
  return document_of(ShownOfferings{&result, &question, job.architecture.name, reliability});
}

const Description& offerings_document() {
  return record<ShownOfferings>().description();
}

}  // namespace trnplan::io
