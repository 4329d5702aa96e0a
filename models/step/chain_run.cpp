#include <map>

#include "models/step/step_parts.h"
#include "models/step/step_program.h"
#include "sim/executor.h"
#include "sim/program.h"

namespace trnplan::models {

ChainRun run_chain(const Fabric& fabric, const Items& chain, double slowdown) {
  sim::Program program;
  program.add_device({});
  program.add_device({});
  if (slowdown > 1) program.add_slowdown(0, 1, slowdown);
  const sim::FlowId nothing = program.add_flow({});
  std::map<Fabric::Id, sim::ResourceId> resources;
  constexpr std::uint32_t kJoin = 0xffffffffu;
  const auto join = [&] { program.add_transfer({0, 1}, nothing, {}, kJoin); };
  bool background = false;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Item& item = chain[i];
    if (item.background && i > 0 && !chain[i - 1].background) join();
    background = background || item.background;
    const bool forks = item.overlapped && i + 1 < chain.size();
    if (forks) join();
    if (item.is_transfer()) {
      std::vector<sim::Weight> weights;
      for (const auto& [id, bytes] : item.load) {
        const auto [it, fresh] = resources.try_emplace(id);
        if (fresh) it->second = program.add_resource({}, fabric.capacity(id));
        weights.push_back({it->second, bytes});
      }
      program.add_transfer({forks || item.background ? 1u : 0u},
                           program.add_flow(std::move(weights), item.scale), item.length,
                           static_cast<std::uint32_t>(i));
    } else {
      program.add_work(0, item.length, static_cast<std::uint32_t>(i));
    }
    if (i > 0 && chain[i - 1].overlapped) join();
  }
  if (background) join();
  const sim::Run run = sim::execute(program);
  ChainRun out;
  out.length = run.end;
  out.spans.resize(chain.size());
  for (sim::TaskId t = 0; t < program.tasks().size(); ++t) {
    const std::uint32_t item = program.tasks()[t].tag;
    if (item == kJoin) continue;
    const bool overlapped = program.task_devices()[program.tasks()[t].first_device] == 1;
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
