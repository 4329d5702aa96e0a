#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/step/step_parts.h"
#include "models/step/step_program.h"
#include "sim/executor.h"
#include "sim/fair_share.h"
#include "sim/program.h"
#include "sim/sides.h"

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

/// Adds an item that takes `beyond` its own length to the path of a chain.
void add_to_path(ChainRun& out, const Item& item, SimTime beyond, double slowdown) {
  out.attribution.add(item.fixed);
  attribute_beyond(out.attribution, item, beyond, slowdown);
}

/// Items of which some overlap the work after them. Nothing if an item is in the background or overlaps a transfer, or
/// if it takes a run to see what of two ends comes first.
std::optional<ChainRun> run_in_beats(const Fabric& fabric, const Items& chain, double slowdown) {
  constexpr SimTime kEnd{std::numeric_limits<std::int64_t>::max()};
  ChainRun out;
  out.spans.reserve(chain.size());
  std::vector<sim::LoneTransfer> meanwhile;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Item& item = chain[i];
    const bool forks = runs_with_next(chain, i);
    const bool fits = forks ? item.is_transfer() : meanwhile.empty() || !item.is_transfer();
    if (item.background || !fits) return std::nullopt;
    const SimTime beyond = transfer_alone(fabric, item), start = out.length;
    if (forks) {
      meanwhile.push_back({item.length, beyond});
      continue;
    }
    const auto transfer = [&](std::size_t m) { return meanwhile[m]; };
    const sim::Sides sides =
        sim::sides_at(item.length, std::max(slowdown, 1.0), meanwhile.size(), transfer, start, kEnd);
    const bool works = meanwhile.empty() || sides.end > sides.engine_since;
    if (sides.tied || (!meanwhile.empty() && sides.end == sides.engine_since)) return std::nullopt;
    SimTime at = start;
    for (std::size_t m = 0; m < meanwhile.size(); ++m) {
      const SimTime before = at;
      at += meanwhile[m].latency + meanwhile[m].flow;
      out.spans.push_back({before, at, true});
      if (!works) add_to_path(out, chain[i - meanwhile.size() + m], meanwhile[m].flow, slowdown);
    }
    const SimTime end = sides.end + beyond;
    out.spans.push_back({start, end, false});
    if (works) add_to_path(out, item, end - start - item.length, slowdown);
    out.length = std::max(at, end);
    meanwhile.clear();
  }
  return out;
}

}  // namespace

ChainRun run_chain(const Fabric& fabric, const Items& chain, double slowdown) {
  if (auto run = run_in_beats(fabric, chain, slowdown)) return std::move(*run);
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
    const bool forks = runs_with_next(chain, i);
    const bool follows = i > 0 && runs_with_next(chain, i - 1);  // a phase of the same collective
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
    add_to_path(out, item, beyond_fixed(program, run, t), slowdown);
  }
  return out;
}

}  // namespace trnplan::models
