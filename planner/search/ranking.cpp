#include "planner/search/ranking.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace trnplan::planner {

namespace {

using Entry = std::pair<Score, Place>;

struct Ranked {
  Score score;
  Place place;
  Plan plan;
  bool operator<(const Ranked& o) const {
    return std::tie(score, plan.strategy, place) < std::tie(o.score, o.plan.strategy, o.place);
  }
};

std::array<int, 4> layout_of(const models::Strategy& s) {
  return {s.tensor_parallel, s.pipeline_parallel, s.context_parallel, s.data_parallel};
}

std::vector<Plan> plans_of(std::vector<Ranked> ranked) {
  std::vector<Plan> plans;
  for (Ranked& r : ranked) plans.push_back(std::move(r.plan));
  return plans;
}

}  // namespace

std::vector<Plan> Ranking::best_of(const std::vector<Place>& open, std::size_t most, bool constrained) {
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const Place& p : open) queue.emplace(known_.score(p), p);
  std::vector<Ranked> best;
  const auto beaten = [&](const Score& bound) { return best.size() == most && bound > best.back().score; };
  bool done = false;
  while (!done && !queue.empty()) {
    if (clock_.interrupted() ||
        (!best.empty() && clock_.stop_now())) {  // a time limit leaves at least one plan
      note_gap(best.empty() ? nullptr : &best.front().score, queue.top().first);
      break;
    }
    std::vector<Entry> batch;
    while (!queue.empty() && batch.size() < at(known_.threads())) {
      const auto [bound, place] = queue.top();
      if (!batch.empty() && clock_.stop_now()) break;
      if (beaten(bound)) {
        done = true;
        break;
      }
      queue.pop();
      Candidate& c = known_.candidate(place);
      if (!c.refined) {
        known_.clusters[at(place.first)].refine(c);
        queue.emplace(known_.score(place), place);
        continue;
      }
      if (constrained && known_.misses_limits(place)) continue;
      batch.emplace_back(bound, place);
    }
    known_.simulate_all(batch);
    for (const auto& [bound, place] : batch) {
      if (beaten(bound)) {
        done = true;
        break;
      }
      const std::optional<Plan>& plan = known_.needed(place);
      if (!plan || (constrained && !known_.keeps_limits(*plan))) continue;
      Ranked ranked{known_.score(place, *plan), place, *plan};
      best.insert(std::upper_bound(best.begin(), best.end(), ranked), std::move(ranked));
      if (best.size() > most) best.pop_back();
    }
    report(queue.size(), best.empty() ? nullptr : &best.front().plan,
           queue.empty() ? Seconds{} : known_.candidate(queue.top().second).bound);
  }
  return plans_of(std::move(best));
}

void Ranking::note_gap(const Score* best, const Score& bound) {
  const bool proven = best != nullptr && *best <= bound;
  if (!proving_ || proven) return;
  result_.complete = false;
  const bool comparable = best != nullptr && best->first == bound.first && bound.second > 0;
  if (comparable) result_.gap = std::max(result_.gap, best->second / bound.second - 1);
}

void Ranking::report(std::size_t open, const Plan* best, Seconds bound) const {
  if (!options_.progress || !proving_) return;
  SearchProgress p;
  p.simulated = known_.simulated();
  p.open = static_cast<int>(open);
  if (best != nullptr) p.best = best->report.step;
  p.bound = bound;
  options_.progress(p);
}

std::vector<Plan> Ranking::best_of_layouts(int cluster) {
  const std::size_t most = at(std::max(0, options_.layouts));
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const Place& p : known_.legal_of(cluster)) queue.emplace(known_.score(p), p);
  std::map<std::array<int, 4>, Ranked> best;  // by layout
  const auto beaten = [&](const Entry& e) {
    const auto known = best.find(layout_of(known_.candidate(e.second).strategy));
    return known != best.end() && e.first > known->second.score;
  };
  const auto done = [&](const Score& bound) {
    if (best.size() < most) return false;
    std::vector<Score> scores;
    for (const auto& [layout, ranked] : best) scores.push_back(ranked.score);
    std::nth_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(most - 1), scores.end());
    return bound > scores[most - 1];
  };
  while (most > 0 && !queue.empty() && !done(queue.top().first)) {
    if (clock_.stop_now()) {
      if (!clock_.interrupted())
        result_.cut_short.emplace_back("other layouts are missing, or are not the best of their kind");
      break;
    }
    std::vector<Entry> batch;
    while (!queue.empty() && batch.size() < at(known_.threads())) {
      const Entry next = queue.top();
      if (done(next.first) || clock_.stop_now()) break;
      queue.pop();
      Candidate& c = known_.candidate(next.second);
      if (beaten(next)) continue;
      if (!c.refined) {
        known_.clusters[at(cluster)].refine(c);
        queue.emplace(known_.score(next.second), next.second);
      } else if (!known_.misses_limits(next.second)) {
        batch.push_back(next);
      }
    }
    known_.simulate_all(batch);
    for (const Entry& e : batch) {
      if (beaten(e) || done(e.first)) continue;
      const std::optional<Plan>& plan = known_.needed(e.second);
      if (!plan || !known_.keeps_limits(*plan)) continue;
      Ranked ranked{known_.score(e.second, *plan), e.second, *plan};
      const auto [known, fresh] = best.try_emplace(layout_of(plan->strategy), ranked);
      if (!fresh && ranked < known->second) known->second = std::move(ranked);
    }
  }
  std::vector<Ranked> all;
  for (auto& [layout, ranked] : best) all.push_back(std::move(ranked));
  std::sort(all.begin(), all.end());
  if (all.size() > most) all.resize(most);
  return plans_of(std::move(all));
}

}  // namespace trnplan::planner
