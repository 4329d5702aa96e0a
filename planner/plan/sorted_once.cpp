#include "planner/plan/sorted_once.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace trnplan::planner {

using models::Strategy;

namespace {

/// True if the fields that strategies are ordered by first are equal.
bool same_degrees(const Strategy& a, const Strategy& b) {
  return a.tensor_parallel == b.tensor_parallel && a.pipeline_parallel == b.pipeline_parallel &&
         a.virtual_pipeline == b.virtual_pipeline && a.context_parallel == b.context_parallel &&
         a.expert_parallel == b.expert_parallel && a.expert_tensor_parallel == b.expert_tensor_parallel &&
         a.data_parallel == b.data_parallel && a.micro_batch == b.micro_batch;
}

using Run = std::span<Strategy>;

/// Appends the strategies of `runs` to `all`, sorted, without duplicates.
void add_once(std::vector<Strategy>& all, std::span<const Run> runs, std::vector<Strategy*>& order) {
  order.clear();
  for (const Run& run : runs) {
    for (Strategy& s : run) order.push_back(&s);
  }
  std::sort(order.begin(), order.end(), [](const Strategy* a, const Strategy* b) { return *a < *b; });
  const std::size_t before = all.size();
  for (Strategy* s : order) {
    if (all.size() == before || all.back() != *s) all.push_back(std::move(*s));
  }
}

}  // namespace

std::vector<Strategy> sorted_once(std::vector<Strategy> found) {
  std::vector<Run> runs;
  for (auto s = found.begin(); s != found.end();) {
    const auto end = std::find_if_not(s, found.end(), [&](const Strategy& t) { return same_degrees(*s, t); });
    runs.emplace_back(s, end);
    s = end;
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.front() < b.front(); });
  std::vector<Strategy> all;
  all.reserve(found.size());
  std::vector<Strategy*> order;
  for (auto run = runs.begin(); run != runs.end();) {
    const auto end = std::find_if_not(run, runs.end(),
                                      [&](const Run& r) { return same_degrees(run->front(), r.front()); });
    add_once(all, {run, end}, order);
    run = end;
  }
  return all;
}

}  // namespace trnplan::planner
