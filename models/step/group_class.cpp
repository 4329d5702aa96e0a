#include "models/step/group_class.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "models/step/launched_work.h"

namespace trnplan::models {

SimTime GroupClass::time(const Call& call, const Groups& groups) {
  if (groups.empty()) return {};
  const auto [it, fresh] = times_.try_emplace(call);
  if (fresh) {
    try {
      const Collective c = collective(layout_.fabric, call.op, groups, call.bytes, loads_[&groups]);
      it->second = uncontended(layout_.fabric, c, call.repeat);
    } catch (...) {
      times_.erase(it);
      throw;
    }
  }
  return it->second;
}

SimTime GroupClass::time(const Operator& o) {
  return o.process_group == ProcessGroup::none ? to_sim_time(o.seconds)
                                               : time({o.process_group, o.op, o.bytes, o.repeat, 0});
}

SimTime GroupClass::time(const OperatorList& list, double slowdown) {
  if (std::any_of(list.begin(), list.end(), [](const Operator& o) { return o.background; }))
    return length_of(list, slowdown);
  SimTime t, busy;
  LaunchedWork launched;
  for (std::size_t i = 0; i < list.size();) {
    if (list[i].of_pass) {
      ++i;
      continue;
    }
    if (list[i].waits > 0) {
      const SimTime wait = to_sim_time(to_seconds(busy) * list[i++].waits);
      t += wait;
      busy += wait;
      continue;
    }
    if (list[i].host.value > 0) {
      t += to_sim_time(launched.beyond(busy, list[i++].host));
      continue;
    }
    std::size_t end = i;
    while (end < list.size() && list[end].overlapped) ++end;
    if (end == i) {
      const SimTime alone = time(list[i++]);
      t += alone;
      busy += alone;
      continue;
    }
    end = std::min(end + 1, list.size());  // with the work that it overlaps
    const OperatorList part(list.begin() + static_cast<std::ptrdiff_t>(i),
                            list.begin() + static_cast<std::ptrdiff_t>(end));
    t += length_of(part, slowdown);
    if (!part.back().overlapped) busy += time(part.back());
    i = end;
  }
  return t;
}

SimTime GroupClass::length_of(const OperatorList& part, double slowdown) {
  std::vector<double> key{slowdown};
  for (const Operator& o : part) {
    // Names, categories and shapes change no time. A new field does not compile until it is considered here.
    const auto& [name, category, seconds, parameter, also, flops, product, attention, process_group, op,
                 bytes, repeat, overlapped, weights, background, instructions, waits, counted, host,
                 of_pass] = o;
    (void)of_pass;  // left out of parts
    const std::initializer_list<double> more = {static_cast<double>(process_group),
                                                static_cast<double>(op),
                                                static_cast<double>(overlapped),
                                                static_cast<double>(background),
                                                static_cast<double>(repeat),
                                                bytes.value,
                                                seconds.value,
                                                waits,
                                                host.value};
    key.insert(key.end(), more);
  }
  const auto known = lengths_.find(key);
  if (known != lengths_.end()) return known->second;
  const SimTime length = run_chain(layout_.fabric, operator_items_.of(part), slowdown).length;
  return lengths_.emplace(std::move(key), length).first->second;
}

}  // namespace trnplan::models
