// What would help a run that misses its limits, asked again as a question of its own.
#include "planner/cost/remedies.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/planner/reliability.h"
#include "tests/seeds.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

WhatIfQuestion short_of_time(double confidence) {
  WhatIfQuestion q;
  q.instances = {test_catalog().instance("trn1.32xlarge")};
  q.nodes = {4};
  q.tokens = 1e11;
  q.deadline = Seconds(10 * kDay);
  q.confidence = confidence;
  q.prices.usd_per_node_hour = 10;
  return q;
}

/// The search as an advisor makes it: short runs have plans that are slower and work more probably, and some numbers of
/// nodes have better plans than powers of two. Its strategies are too many for every number of nodes to be judged.
SearchResult advised_search(const models::Job& job, const models::Profile& profile, const SearchOptions& o) {
  SearchOptions all = o;
  all.least_tokens_per_second = 0;
  SearchResult found = search(job, profile, all);
  const bool brief = job.training.tokens < 3e11;
  for (Plan& p : found.plans) {
    const double factor = brief ? 1.06 : 1;
    p.report.tokens_per_second /= factor;
    for (Seconds* s : {&p.report.step, &p.report.low, &p.report.high}) *s = *s * factor;
    p.works = (brief ? 0.96 : 0.93) - 0.02 * (job.cluster.nodes % 7);
  }
  found.counts.enumerated = 1'000'000;
  return found;
}

/// The question with the option of a hint.
WhatIfQuestion followed(WhatIfQuestion q, const std::string& option) {
  std::istringstream words(option);
  for (std::string name, value; words >> name;) {
    if (name == "--async-checkpoints") q.asynchronous = true;
    if (name != "--deadline" && name != "--budget" && name != "--tokens") continue;
    words >> value;
    const double x = std::stod(value);
    if (name == "--deadline") q.deadline = Seconds(x * kDay);
    if (name == "--budget") q.budget = x;
    if (name == "--tokens") q.tokens = x * (value.back() == 'T' ? 1e12 : 1e9);
  }
  return q;
}

}  // namespace

// A hint that is followed and answered with "none" again: of a cluster that the changed question does not try, or of a
// plan that it does not choose. Nodes are solved for, and stated.
TEST_CASE("a hint that is followed finds a cluster", "[once][planner][whatif]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 12)));
  const bool stated = seed % 3 == 0, by_budget = seed % 2 == 0;
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  WhatIfQuestion q = short_of_time(0.8);
  q.nodes.clear();
  if (stated) q.nodes = {12, 16, 20};
  q.most_nodes = 72;
  q.sampling.draws = 60;
  q.tokens = (1 + seed % 5) * 2e11;
  q.deadline = Seconds((1.0 + seed % 4) * kDay);
  if (by_budget) q.budget = 2000.0 * (1 + seed % 3);
  CAPTURE(seed);
  const WhatIfResult none = whatif(job, q, datasheet(), round_numbers(), advised_search);
  REQUIRE(none.recommended < 0);
  CHECK(std::any_of(none.helps.begin(), none.helps.end(),
                    [](const WhatHelps& h) { return h.option.starts_with("--tokens"); }));
  for (const WhatHelps& h : none.helps) {
    CAPTURE(h.option);
    const WhatIfQuestion asked = followed(q, h.option);
    const WhatIfResult r = whatif(job, asked, datasheet(), round_numbers(), advised_search);
    if (h.probability >= 0.8) CHECK(r.recommended >= 0);
    WhatIfQuestion same = asked;
    same.nodes = {h.nodes};
    const WhatIfResult one = whatif(job, same, datasheet(), round_numbers(), advised_search);
    CHECK(one.points.at(0).run.probability_in_limits() == Approx(h.probability).epsilon(1e-9));
    CHECK(one.points.at(0).run.usd.value() == Approx(h.usd.value()).epsilon(1e-9));
  }
}

// An advice that does not do what it says. Each changes the question, so the question is asked again: the cluster is
// then as likely as said, and is recommended where the confidence is reached.
TEST_CASE("what would help does so when it is asked", "[planner][whatif]") {
  const models::Job job = job_of("llama3-8b", 4, 8192, 1024);
  const double confidence = GENERATE(0.5, 0.9);
  const WhatIfQuestion q = short_of_time(confidence);
  const WhatIfResult none = whatif(job, q, datasheet(), round_numbers());
  REQUIRE(none.recommended < 0);
  REQUIRE(none.likeliest == 0);
  REQUIRE(none.helps.size() >= 2);
  int asked = 0;
  for (const WhatHelps& h : none.helps) {
    CAPTURE(h.option);
    WhatIfQuestion changed = q;
    if (h.option.starts_with("--deadline "))
      changed.deadline = Seconds(std::stod(h.option.substr(11)) * kDay);
    if (h.option.starts_with("--tokens ")) changed.tokens = std::stod(h.option.substr(9)) * 1e9;
    if (h.option == "--async-checkpoints") changed.asynchronous = true;
    const WhatIfResult r = whatif(job, changed, datasheet(), round_numbers());
    CHECK(r.points.at(0).run.probability_in_limits() == Approx(h.probability).epsilon(1e-9));
    CHECK(h.probability > none.points.at(0).run.probability_in_limits());
    REQUIRE(h.usd.has_value() == r.points.at(0).run.usd.has_value());
    if (h.usd) CHECK(*h.usd == Approx(*r.points.at(0).run.usd).epsilon(1e-9));
    if (h.option == "--async-checkpoints") continue;
    CHECK(r.recommended == 0);
    ++asked;
  }
  CHECK(asked == 2);
}

TEST_CASE("nothing is said to help where nothing is missing or nothing is bound", "[planner][whatif]") {
  const models::Job job = job_of("llama3-8b", 4, 8192, 1024);
  WhatIfQuestion q = short_of_time(0.5);
  q.deadline = Seconds(1000 * kDay);
  CHECK(whatif(job, q, datasheet(), round_numbers()).helps.empty());
  q.deadline.reset();
  CHECK(whatif(job, q, datasheet(), round_numbers()).helps.empty());
}
