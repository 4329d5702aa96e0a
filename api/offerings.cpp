#include "api/offerings.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "api/predictor.h"
#include "api/whatif_question.h"
#include "io/input/offerings_reader.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::api {

namespace {

/// The catalogue's machine of an offer, whose type is that of one host.
std::optional<topology::Instance> machine_of(const planner::Offer& o, const models::Job& job,
                                             const io::Catalog& catalog) {
  if (job.cluster.instance.name == o.instance) return job.cluster.instance;
  std::optional<topology::Instance> found;
  for (const std::string& name : catalog.instances()) {
    if (name == o.instance) return catalog.instance(name);
    topology::Instance type = catalog.instance(name);
    const bool shorter = !found || name.size() < found->name.size();
    if (type.ec2_type == o.instance && o.instances % type.hosts == 0 && shorter) found = std::move(type);
  }
  return found;
}

/// Machines and numbers of nodes of the offers, each once.
struct Clusters {
  std::vector<planner::OfferedCluster> all;
  std::vector<std::size_t> of_offer;

  Clusters() = default;
  Clusters(const std::vector<planner::Offer>& offers, const models::Job& job, const io::Catalog& catalog) {
    std::map<std::pair<std::string, int>, std::size_t> index;
    for (const planner::Offer& o : offers) {
      const auto [at, is_new] = index.try_emplace({o.instance, o.instances}, all.size());
      of_offer.push_back(at->second);
      if (!is_new) continue;
      planner::OfferedCluster c;
      c.instance = machine_of(o, job, catalog);
      c.point.instance = c.instance ? c.instance->name : o.instance;
      c.point.nodes = c.instance ? o.instances / c.instance->hosts : o.instances;
      if (!c.instance) c.point.why = "the catalogue has no such type";
      if (c.instance && c.point.nodes > topology::kMostNodes) {
        c.instance.reset();
        c.point.why = fmt::format("more than {} nodes", topology::kMostNodes);
      }
      all.push_back(std::move(c));
    }
  }

  std::vector<topology::Instance> types() const {
    std::vector<topology::Instance> types;
    std::set<std::string> seen;
    for (const planner::OfferedCluster& c : all)
      if (c.instance && seen.insert(c.instance->name).second) types.push_back(*c.instance);
    return types;
  }
  std::vector<int> nodes() const {
    std::set<int> nodes;
    for (const planner::OfferedCluster& c : all)
      if (c.instance) nodes.insert(c.point.nodes);
    return {nodes.begin(), nodes.end()};
  }
};

void refuse_others(const WhatIfRequest& o) {
  std::vector<Diagnostic> faults;
  const auto refuse = [&](const char* option, bool stated) {
    if (stated)
      faults.push_back(
          {{"command line", 0, 0}, option, "the offers state it", "leave it out with --offerings"});
  };
  refuse("--nodes", !o.nodes.empty());
  refuse("--instances", !o.instances.empty());
  refuse("--price", !o.price.empty());
  refuse("--usd-per-node-hour", o.usd_per_node_hour.has_value());
  refuse("--discount", !o.discount.empty());
  refuse("--term", !o.term.empty());
  refuse("--upfront", !o.upfront.empty());
  refuse("--pricing", o.pricing != WhatIfRequest().pricing);
  if (o.prefer != WhatIfRequest().prefer)
    faults.push_back({{"command line", 0, 0},
                      "--prefer",
                      "offers are chosen by what they cost",
                      "leave it out with --offerings"});
  if (!o.scenario.empty())
    faults.push_back(
        {{"command line", 0, 0}, "--scenario", "offers are chosen for an ideal machine", "leave it out"});
  if (!faults.empty()) throw InputError(std::move(faults));
}

[[noreturn]] void refuse(const std::string& file, const char* key, std::string problem, std::string fix) {
  throw InputError(Diagnostic{{file, 0, 0}, key, std::move(problem), std::move(fix)});
}

}  // namespace

OfferingsAnswered whatif_offerings(const WhatIfRequest& request, Remarks& remarks) {
  refuse_others(request);
  WhatIfRequest o = request;
  io::ReadOffers read = io::offers_from(read_document(o.offerings, {.bytes = 16u << 20}));
  for (const std::string& odd : read.remarks) remarks.add(odd);
  o.job.options.own_nodes = o.job.options.own_instances = true;
  o.nodes = "1";
  o.pricing = to_string(planner::Pricing::capacity_block);
  OfferingsAnswered a;
  Clusters clusters;
  const auto ask = [&](io::JobReading& reading, const io::Catalog& catalog) {
    clusters = Clusters(read.offers, reading.job, catalog);
    a.question.run = question_of(o, reading.job, catalog, remarks);
    a.question.run.instances = clusters.types();
    a.question.run.nodes = clusters.nodes();
    if (a.question.run.nodes.empty())
      refuse(o.offerings, "", "no offer is of a type in the catalogue", "trnplan instances lists the types");
    if (clusters.all.size() > kMostPoints)
      refuse(o.offerings, "", fmt::format("{} kinds of clusters are offered", clusters.all.size()),
             fmt::format("give offers of at most {} types and counts", kMostPoints));
    take_over(reading.job, a.question.run);
    if (a.question.run.asks_for_tokens())
      refuse("command line", "--tokens", "offers are chosen for a number of tokens, which is not stated",
             "write for example --tokens 2T");
    reading.job.space.instances = a.question.run.instances;
    reading.job.space.nodes = a.question.run.nodes;
  };
  const ResolvedJob resolved = resolve(o, {.compares = true, .amend = ask}, remarks);
  a.reliability = load_reliability(resolved.catalog(), o);
  a.job = resolved.job();
  a.job.space.instances.clear();
  a.job.space.nodes.clear();
  const Predictor predictor(resolved, o.risk);
  const auto recommend = [&](const models::Job& at, const models::Profile&,
                             const planner::SearchOptions& options) {
    return predictor.recommend(at, options).search;
  };
  for (planner::OfferedCluster& c : clusters.all) {
    if (!c.instance) continue;
    c.point = planner::cluster_point(a.job, a.question.run, *c.instance, c.point.nodes,
                                     resolved.profile_on(*c.instance), a.reliability, recommend);
    if (c.point.plan) set_lost_times(c, a.reliability);
  }
  a.question.offers = std::move(read.offers);
  if (!o.confidence.empty()) a.question.confidence = *a.question.run.confidence;
  a.result = planner::choose_offers(a.question, std::move(clusters.all), std::move(clusters.of_offer));
  return a;
}

}  // namespace trnplan::api
