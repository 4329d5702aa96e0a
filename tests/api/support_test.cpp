// support compared with plan on the same pair: a yes that plan refuses, a no that it plans, a target that it
// cannot write for.
#include "api/support.h"

#include <algorithm>
#include <optional>

#include "api/plan.h"
#include "targets/registry.h"
#include "tests/folder.h"
#include "text/diagnostic.h"

using namespace trnplan;

namespace {

struct Pair {
  const char *model, *instance;
};

/// What plan answers, within a second where it searches; nullopt: the job is refused.
std::optional<api::PlanResult> planned(const Pair& pair, const std::string& target, bool searches = true) {
  api::PlanRequest request;
  request.job.job = pair.model;
  request.job.options.instance = pair.instance;
  request.target = target;
  request.time_limit = searches ? 1 : 0;
  Remarks unsaid;
  try {
    return api::plan(request, unsaid);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// A plan, or a refusal for another reason than that such steps have no time.
bool can_be_planned(const std::optional<api::PlanResult>& result) {
  if (!result) return false;
  if (!result->search.plans.empty() || !result->search.infeasible) return true;
  const auto& rules = result->search.infeasible->rules;
  return std::none_of(rules.begin(), rules.end(), [](const auto& r) { return r.why.rule == "not-modelled"; });
}

}  // namespace

TEST_CASE("support says yes where plan does", "[api]") {
  const TestFolder folder;
  const Pair pairs[] = {
      {"llama3-8b", "trn1.32xlarge"}, {"llama3-8b", "trn3-gen1-ultraserver"},
      {"bert-large", "trn2.3xlarge"}, {"bert-large", "trn1.32xlarge"},
      {"gpt3-6.7b", "p5.48xlarge"},   {"mixtral-8x7b", "trn2.48xlarge"},
      {"llama2-70b", "trn1.2xlarge"}, {"llama3.1-8b", "trn2u-ultraserver"},
      {"bert-large", "p4d.24xlarge"},
  };
  for (const Pair& pair : pairs) {
    CAPTURE(pair.model, pair.instance);
    const api::SupportResult result = api::support({pair.model, pair.instance});
    REQUIRE(result.pairs.size() == 1);
    const api::Support& s = result.pairs.front();
    CAPTURE(s.why_not);
    CHECK(s.planned == can_be_planned(planned(pair, "", s.planned)));
    CHECK(s.why_not.empty() == (s.planned && s.timed));
    CHECK((s.launched.empty() || !s.written().empty()));
    if (!s.planned) continue;
    for (const api::SupportedTarget& target : s.targets) {
      CAPTURE(target.name, target.why_not);
      const auto with = planned(pair, target.name);
      if (with) CHECK(target.why_not.empty() == !with->search.beyond_target);
    }
  }
}

TEST_CASE("support lists targets that train on the machine alone, and takes a type for a model's place",
          "[api]") {
  const TestFolder folder;
  const api::SupportResult all = api::support({"", "p5.48xlarge"}), type = api::support({"p5.48xlarge", ""});
  REQUIRE(all.pairs.size() == type.pairs.size());
  CHECK(all.pairs.size() > 10);
  const topology::Instance machine = io::Catalog::standard().instance("p5.48xlarge");
  for (const api::Support& s : all.pairs)
    for (const api::SupportedTarget& t : s.targets) {
      REQUIRE(targets::find(t.name) != nullptr);
      CHECK(targets::find(t.name)->trains_on(machine.traits));
    }
  CHECK_THROWS_AS(api::support({"llama9", ""}), InputError);
  CHECK_THROWS_AS(api::support({"llama3-8b", "trn9"}), InputError);
}
