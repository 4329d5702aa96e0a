#include "cli/text/refused_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "cli/text/strategy_differences.h"
#include "cli/text/text.h"
#include "cli/text/wrap.h"
#include "models/framework/framework.h"
#include "models/job/sharding_words.h"

namespace trnplan::cli {

using models::Strategy;
using planner::Refusal;

namespace {

constexpr std::size_t kRefusedInShort = 2;
constexpr double kNearMiss = 1.25;  ///< largest ratio of peak to limit that a setting of the layout may fix

/// First clauses, each ended by a colon: the facts without their consequences.
std::string first_clauses(const std::string& message, int clauses) {
  std::size_t end = message.find(": ");
  for (int i = 1; i < clauses && end != std::string::npos; ++i) end = message.find(": ", end + 2);
  return message.substr(0, std::min(end, message.find(" (the runtime")));
}

std::string why_not(const Refusal& r) {
  const std::string id = fmt::format(" [{}]", r.why.rule);
  if (r.memory && r.memory->worst().peak() > r.memory->limit) return "needs " + of_memory(*r.memory) + id;
  if (r.memory)
    return fmt::format("only {} likely to fit{}", probability_text(r.memory->fit_probability), id);
  if (r.why.rule != "replica-group") return r.why.message + id;
  return fmt::format("{}{}: {}", r.why.doubtful ? "may be refused" : "refused", id,
                     first_clauses(r.why.message, r.why.doubtful ? 1 : 2));
}

/// Part of the strategy that the refusal is about, with sharding and attention where the best one's differ.
std::string refused_words(const Refusal& r, const Strategy& best) {
  if (r.memory) {
    const bool alike = r.strategy.sharding == best.sharding;
    const char* attention = r.strategy.flash_attention == best.flash_attention ? ""
                            : best.flash_attention                             ? ", plain attention"
                                                                               : ", flash attention";
    return layout_words(r.strategy) + (alike ? "" : models::sharding_words(r.strategy)) + attention + ", " +
           recompute_words(r.strategy);
  }
  return r.why.rule == "replica-group" ? degree_words(r.strategy) : layout_words(r.strategy);
}

/// The same, with what differs from a plan of this answer that would read alike.
std::string refused_words(const Refusal& r, const Answer& a) {
  std::string text = refused_words(r, a.result.recommended_plan()->strategy);
  const auto alike = [&](const Strategy& s) {
    return layout_words(s) == layout_words(r.strategy) &&
           (!r.memory || recompute_words(s) == recompute_words(r.strategy));
  };
  const auto name_apart = [&](const Strategy& s) {
    if (r.why.rule == "replica-group" || !alike(s)) return;
    for (const std::string& word : strategy_differences(r.strategy, s))
      if (text.find(word) == std::string::npos) text += ", " + word;
  };
  for (const planner::Plan* p : {&a.result.plans.front(), a.result.recommended_plan()})
    name_apart(p->strategy);
  for (const planner::Tie& t : a.ties) name_apart(t.plan.strategy);
  return text;
}

/// Distance of a refusal from common first attempts.
int distance_from_plain(const Refusal& r) {
  constexpr int kFar = 3;  // as far as three rarely used settings
  const Strategy& s = r.strategy;
  return kFar * is_far(r) + (s.pipeline_parallel > 1) + (s.context_parallel > 1) + (s.virtual_pipeline > 1) +
         (s.expert_parallel > 1) + s.recompute.rms_norm + s.recompute.activation_multiply + !s.zero1;
}

}  // namespace

bool is_far(const Refusal& r) {
  return r.memory && r.memory->worst().peak() > kNearMiss * r.memory->limit;
}

std::vector<const Refusal*> nearest_refusals(const std::vector<Refusal>& list, std::size_t most,
                                             int of_one_rule) {
  std::vector<const Refusal*> order, chosen;
  for (const Refusal& r : list) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::tuple(distance_from_plain(*a), a->lower_bound) <
           std::tuple(distance_from_plain(*b), b->lower_bound);
  });
  std::set<std::tuple<int, int, int, int, std::string>> seen;
  std::map<std::string, int> of_rule;
  for (const Refusal* r : order) {
    const Strategy& s = r->strategy;
    if (chosen.size() >= most || of_rule[r->why.rule] >= of_one_rule) continue;
    if (!seen.emplace(s.tensor_parallel, s.pipeline_parallel, s.data_parallel, s.context_parallel,
                      r->why.rule)
             .second)
      continue;
    ++of_rule[r->why.rule];
    chosen.push_back(r);
  }
  return chosen;
}

std::string refused_text(const Answer& a) {
  std::string text;
  for (const Refusal* r : nearest_refusals(a.result.refused, kRefusedInShort, 1)) {
    text += entry(text.empty() ? "Ruled out" : "",
                  item(fmt::format("{}: {}", refused_words(*r, a), why_not(*r))));
  }
  for (const Refusal* r : nearest_refusals(a.result.doubtful, 1, 1)) {
    text +=
        entry("Doubtful", item(fmt::format("{}: {} (--allow-doubtful)", refused_words(*r, a), why_not(*r))));
  }
  return text;
}

}  // namespace trnplan::cli
