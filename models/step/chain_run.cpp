#include <algorithm>
#include <map>

#include "models/step/step_parts.h"
#include "models/step/step_program.h"
#include "sim/executor.h"
#include "sim/fair_share.h"
#include "sim/program.h"

namespace trnplan::models {

namespace {

/// The transfer of an item alone; zero for work.
SimTime transfer_alone(const Fabric& fabric, const Item& item) {
  double scale = item.scale;
  if (scale == 0) {
    for (const auto& [id, bytes] : item.load) scale = std::max(scale, bytes);
  }
  sim::LoneFlow flow(scale);
  for (const auto& [id, bytes] : item.load) flow.use(bytes, fabric.capacity(id).value);
  return flow.length();
}

/// Items of which none overlaps another run one after the other.
ChainRun run_in_turn(const Fabric& fabric, const Items& chain, double slowdown) {
  ChainRun out;
  out.spans.reserve(chain.size());
  for (const Item& item : chain) {
    const SimTime beyond = transfer_alone(fabric, item), start = out.length;
    out.length += item.length + beyond;
    out.spans.push_back({start, out.length, false});
    out.attribution.add(item.fixed);
    attribute_beyond(out.attribution, item, beyond, slowdown);
  }
  return out;
}

}  // namespace

ChainRun run_chain(const Fabric& fabric, const Items& chain, double slowdown) {
  if (std::none_of(chain.begin(), chain.end(), [](const Item& i) { return i.overlapped || i.background; }))
    return run_in_turn(fabric, chain, slowdown);
  sim::Program program;
  for (int device = 0; device < 3; ++device) program.add_device({});
  for (const sim::DeviceId engine : {1u, 2u}) {
    if (slowdown > 1) program.add_slowdown(0, engine, slowdown);
  }
  const sim::FlowId nothing = program.add_flow({});
  std::map<Fabric::Id, sim::ResourceId> resources;
  constexpr std::uint32_t kJoin = 0xffffffffu;
  const auto join = [&](sim::DeviceId engine) { program.add_transfer({0, engine}, nothing, {}, kJoin); };
  bool background = false;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Item& item = chain[i];
    if (item.background && i > 0 && !chain[i - 1].background) join(2);
    background = background || item.background;
    const bool forks = item.overlapped && i + 1 < chain.size();
    const bool follows = i > 0 && chain[i - 1].overlapped;  // a phase of the same collective
    if (forks && !follows) join(1);
    if (item.is_transfer()) {
      std::vector<sim::Weight> weights;
      for (const auto& [id, bytes] : item.load) {
        const auto [it, fresh] = resources.try_emplace(id);
        if (fresh) it->second = program.add_resource({}, fabric.capacity(id));
        weights.push_back({it->second, bytes});
      }
      program.add_transfer({item.background ? 2u
                            : forks         ? 1u
                                            : 0u},
                           program.add_flow(std::move(weights), item.scale), item.length,
                           static_cast<std::uint32_t>(i));
    } else {
      program.add_work(0, item.length, static_cast<std::uint32_t>(i));
    }
    if (follows && !forks) join(1);
  }
  if (background) join(2);
  const sim::Run run = sim::execute(program);
  ChainRun out;
  out.length = run.end;
  out.spans.resize(chain.size());
  for (sim::TaskId t = 0; t < program.tasks().size(); ++t) {
    const std::uint32_t item = program.tasks()[t].tag;
    if (item == kJoin) continue;
    const bool overlapped = program.task_devices()[program.tasks()[t].first_device] != 0;
    out.spans[item] = {run.started[t], run.ended[t], overlapped};
  }
  for (const sim::TaskId t : run.critical_path()) {
    if (program.tasks()[t].tag == kJoin) continue;
    const Item& item = chain[program.tasks()[t].tag];
    out.attribution.add(item.fixed);
    attribute_beyond(out.attribution, item, beyond_fixed(program, run, t), slowdown);
  }
  return out;
}

}  // namespace trnplan::models
