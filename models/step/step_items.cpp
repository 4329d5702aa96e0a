#include "models/step/step_items.h"

#include <algorithm>

#include "models/collective/collective_runtime.h"

namespace trnplan::models {

namespace {

void add_ticks(std::int64_t& sum, std::int64_t ticks) {
  sum = (SimTime{sum} + SimTime{ticks}).ps;
}

/// Adds `times` as much of each place; most have none.
template <std::size_t N>
void add_places(std::array<std::int64_t, N>& sums, const std::array<std::int64_t, N>& more,
                std::int64_t times) {
  for (std::size_t i = 0; i < N; ++i) {
    if (more[i] != 0) add_ticks(sums[i], (SimTime{more[i]} * times).ps);
  }
}

}  // namespace

SimTime Attribution::total() const {
  SimTime t;
  for (const std::int64_t ps : category) t += SimTime{ps};
  return t;
}

void Attribution::add(std::string_view name, Category c, Parameter p, SimTime t) {
  if (t.ps == 0) return;
  add_ticks(category[static_cast<std::size_t>(c)], t.ps);
  add_ticks(parameter[p.place()], t.ps);
  const auto it = std::find_if(operators.begin(), operators.end(),
                               [&](const OperatorTicks& o) { return o.name == name; });
  if (it == operators.end()) {
    operators.push_back({name, t});
  } else {
    it->time += t;
  }
}

void Attribution::add(const Attribution& other, std::int64_t times) {
  if (times == 0) return;
  add_places(category, other.category, times);
  add_places(parameter, other.parameter, times);
  add_places(also, other.also, times);
  for (const OperatorTicks& o : other.operators) {
    const auto it = std::find_if(operators.begin(), operators.end(),
                                 [&](const OperatorTicks& mine) { return mine.name == o.name; });
    if (it == operators.end()) {
      operators.push_back({o.name, o.time * times});
    } else {
      it->time += o.time * times;
    }
  }
}

void attribute_beyond(Attribution& attribution, const Item& item, SimTime beyond, double slowdown) {
  attribution.add(item.name, item.transfer_category, item.transfer_parameter, beyond);
  if (item.is_transfer() || beyond.ps == 0 || slowdown <= 1) return;
  add_ticks(attribution.also[common::overlap_slowdown.place()],
            to_sim_time(to_seconds(beyond) / (slowdown - 1)).ps);
}

SimTime stretched(const Item& item, double factor) {
  if (factor == 1) return item.length;
  const auto ticks = [&](Category c) { return item.fixed.category[static_cast<std::size_t>(c)]; };
  const SimTime slow{ticks(Category::compute) + ticks(Category::optimizer)};
  return item.length + to_sim_time(to_seconds(slow) * factor) - slow;
}

void attribute_stretch(Attribution& attribution, const Item& item, SimTime stretch,
                       const ParameterSchema& schema) {
  if (stretch.ps == 0) return;
  const auto most = std::max_element(item.fixed.parameter.begin(), item.fixed.parameter.end());
  attribution.add(item.name, item.transfer_category,
                  schema.at(static_cast<std::size_t>(most - item.fixed.parameter.begin())), stretch);
}

Item work_item(std::string_view name, Category c, Parameter p, Seconds s, Parameter also) {
  Item item;
  item.name = name;
  item.length = to_sim_time(s);
  item.fixed.add(name, c, p, item.length);
  if (also) item.fixed.also[also.place()] = item.length.ps;
  item.transfer_category = c;
  return item;
}

Items transfer_items(const Fabric& fabric, std::string_view name, Category c, const Collective& collective,
                     const Call& call) {
  Items items;
  const RuntimeParameters& by = fabric.runtime().parameters();
  for (const Phase& phase : collective.phases) {
    Item item;
    item.name = name;
    item.call = call;
    item.call.phase = items.size();
    if (items.empty()) item.fixed.add(name, c, by.start, to_sim_time(collective.alpha * call.repeat));
    item.fixed.add(name, c, by.step, to_sim_time(phase.hops * call.repeat));
    item.fixed.add(name, c, by.between, to_sim_time(phase.network * call.repeat));
    item.length = item.fixed.total();
    item.load = phase.load;
    for (auto& [id, bytes] : item.load) bytes *= call.repeat;
    item.scale = phase.scale * call.repeat;
    item.transfer_category = c;
    const Phase::Busiest most = phase.busiest(fabric);
    item.transfer_parameter = most.parameter;
    item.alone = most.transfer * call.repeat;
    to_sim_time(item.alone);  // throws where the bytes have no path
    items.push_back(std::move(item));
  }
  return items;
}

SimTime uncontended(const Items& items) {
  SimTime t;
  for (const Item& item : items) t += item.uncontended();
  return t;
}

SimTime uncontended(const Fabric& fabric, const Collective& collective, int repeat) {
  if (collective.phases.empty()) return {};
  SimTime t = to_sim_time(collective.alpha * repeat);
  for (const Phase& phase : collective.phases) {
    t += to_sim_time(phase.hops * repeat) + to_sim_time(phase.network * repeat) +
         to_sim_time(phase.transfer(fabric) * repeat);
  }
  return t;
}

}  // namespace trnplan::models
