#include "models/step/task_writer.h"

#include <algorithm>
#include <utility>

#include "units/index.h"

namespace trnplan::models {

namespace {

using sim::TaskId;

constexpr sim::ResourceId kNoResource = 0xffffffffu;
constexpr std::size_t kKinds = 3;  ///< of passes: forward, backward, weights

std::size_t mix(std::size_t h, std::size_t v) {
  return (h ^ v) * 0x9e3779b97f4a7c15u;
}

/// A number that tells tasks of one kind apart.
std::size_t number_of(const task::PassPart& t) {
  return static_cast<std::size_t>(t.stage) * 4 + static_cast<std::size_t>(t.kind) +
         (static_cast<std::size_t>(t.chunk) << 32);
}
std::size_t number_of(const task::Message& t) {
  return static_cast<std::size_t>(t.boundary) * 4 + (t.up ? 2 : 0) + (t.activation ? 1 : 0);
}
std::size_t number_of(const task::Barrier&) {
  return 0;
}
template <class OfStage>
std::size_t number_of(const OfStage& t) {
  return static_cast<std::size_t>(t.stage);
}

std::size_t place_of(int boundary, bool a, bool b) {
  return at(boundary) * 4 + (a ? 2 : 0) + (b ? 1 : 0);
}

SimTime times(SimTime t, double factor) {
  return factor == 1 ? t : to_sim_time(to_seconds(t) * factor);
}

}  // namespace

std::size_t TaskWriter::TagHash::operator()(const Source& source) const {
  const std::size_t number = std::visit([](const auto& what) { return number_of(what); }, source.what);
  return mix(mix(mix(0, reinterpret_cast<std::size_t>(source.item)), source.what.index()), number);
}

TaskWriter::TaskWriter(const StepParts& parts, Layout& layout, Detail detail, bool series)
    : p_(parts),
      layout_(layout),
      detail_(detail),
      series_(series),
      expanded_(static_cast<std::size_t>(parts.stages), detail == Detail::operators || parts.gathers_ahead()),
      passes_(at(parts.parts_of_model()) * kKinds * 2),
      launches_(at(parts.stages)),
      holds_(parts.boundaries.size() * 4),
      meetings_(holds_.size()),
      messages_(holds_.size()) {
  for (int s = 0; s < p_.stages; ++s) {
    for (int lane = 0; lane < layout_.lanes(s); ++lane) out.program.add_device({});
  }
  const auto queues = static_cast<sim::DeviceId>(out.program.devices().size());
  const double factor = p_.slowdown();
  const auto add_engines = [&](bool slow) {
    const auto first = static_cast<sim::DeviceId>(out.program.devices().size());
    for (sim::DeviceId d = 0; d < queues; ++d) {
      const sim::DeviceId engine = out.program.add_device({});
      if (slow && factor > 1) out.program.add_slowdown(d, engine, factor);
    }
    return first;
  };
  if (p_.overlaps()) engines_ = add_engines(true);
  if (p_.has_background()) backgrounds_ = add_engines(true);
  // Where collectives of layers slow the work, reductions add no further slowdown.
  if (p_.reduces_early()) reducers_ = add_engines(!p_.overlaps_throughout());
  resource_of_.assign(layout_.fabric().size(), kNoResource);
  nothing_ = out.program.add_flow({});
  start_late();
}

/// Makes all queues of the lanes that start late do so.
void TaskWriter::start_late() {
  const auto queues = static_cast<sim::DeviceId>(p_.stages * layout_.lanes(0));
  for (int stage = 0; stage < p_.stages; ++stage) {
    for (int lane = 0; lane < layout_.lanes(stage); ++lane) {
      const Item* late = layout_.late(stage, lane);
      if (late == nullptr) continue;
      std::vector<sim::DeviceId> all;
      for (sim::DeviceId d = device(stage, lane); d < out.program.devices().size(); d += queues)
        all.push_back(d);
      out.program.add_transfer(all, nothing_, late->length, tag({late, task::LateStart{stage}}));
    }
  }
}

/// The tag of a source: its index in `sources`; equal sources share one.
std::uint32_t TaskWriter::tag(const Source& source) {
  const auto [it, fresh] = tags_.try_emplace(source, static_cast<std::uint32_t>(out.sources.size()));
  if (fresh) out.sources.push_back(source);
  return it->second;
}

sim::FlowId TaskWriter::flow_of(const Layout::Share& share) {
  if (share.load.empty()) return nothing_;
  const auto [it, fresh] = flows_.try_emplace(&share);
  if (!fresh) return it->second;
  std::vector<sim::Weight> weights;
  weights.reserve(share.load.size());
  for (const auto& [id, bytes] : share.load) {
    sim::ResourceId& r = resource_of_[id];
    if (r == kNoResource) {
      r = out.program.add_resource({}, layout_.fabric().capacity(id));
      out.resources.push_back(id);
    }
    weights.push_back({r, bytes});
  }
  return it->second = out.program.add_flow(std::move(weights), share.scale);
}

template <class Write>
void TaskWriter::write_or_repeat(Written& written, const Write& write) {
  if (written.first < written.beyond) return out.program.add_again(written.first, written.beyond);
  written.first = tasks();
  write();
  written.beyond = tasks();
}

template <class Write>
void TaskWriter::write_or_vary(Written& written, const Write& write) {
  if (!factors_.empty()) return write();
  write_or_repeat(written, write);
}

void TaskWriter::work(int stage, const Item& item, const Source& source) {
  const std::uint32_t t = tag(source);
  for (int lane = 0; lane < layout_.lanes(stage); ++lane) {
    out.program.add_work(device(stage, lane), stretched(item, layout_.factor(stage, lane) * factor(lane)), t);
  }
}

void TaskWriter::launch(int stage) {
  write_or_vary(launches_[at(stage)], [&] {
    work(stage, p_.message_launch, {&p_.message_launch, task::Launch{stage}});
  });
}

void TaskWriter::hold(int stage, const MessageEnd& end) {
  write_or_vary(holds_[place_of(end.boundary, end.activation, end.above)], [&] {
    const Item& item = p_.hold(end.boundary, end.activation);
    const std::uint32_t t = tag({&item, task::Hold{stage}});
    for (int lane = 0; lane < layout_.lanes(stage); ++lane)
      out.program.add_work(device(stage, lane), times(layout_.hold(end, lane), factor(lane)), t);
  });
}

void TaskWriter::transfer(int stage, const Item& item, const Source& source, sim::DeviceId engine) {
  const std::uint32_t t = tag(source);
  for (const Layout::Share& share : layout_.shares(stage, item)) {
    devices_.clear();
    for (const int lane : share.lanes) devices_.push_back(device(stage, lane) + engine);
    out.program.add_transfer(devices_, flow_of(share), item.length, t);
  }
}

/// Makes the compute queue and an engine of each lane wait for each other.
void TaskWriter::join(int stage, sim::DeviceId other) {
  const std::uint32_t t = tag({nullptr, task::Join{stage}});
  for (int lane = 0; lane < layout_.lanes(stage); ++lane) {
    const sim::DeviceId d = device(stage, lane);
    out.program.add_transfer({d, d + other}, nothing_, {}, t);
  }
}

void TaskWriter::chain(int stage, const Items& items, Source source) {
  bool background = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    source.item = &item;
    if (item.background && (i == 0 || !items[i - 1].background)) join(stage, backgrounds_);
    background = background || item.background;
    const bool forks = runs_with_next(items, i);
    const bool follows = i > 0 && runs_with_next(items, i - 1);  // a phase of the same collective
    if (forks && !follows) join(stage, engines_);
    if (item.is_transfer()) {
      transfer(stage, item, source, item.background ? backgrounds_ : forks ? engines_ : 0);
    } else {
      work(stage, item, source);
    }
    if (follows && !forks) join(stage, engines_);
  }
  if (background) join(stage, backgrounds_);
}

/// Adds a reduction that starts when all tasks on the queues from `since` on, and all earlier reductions,
/// have ended.
void TaskWriter::reduce(int stage, const Items& items, TaskId since) {
  if (items.empty()) return;
  std::vector<TaskId> made(at(layout_.lanes(stage)));
  last_of_lanes(stage, since, made);
  for (const Item& item : items) {
    const std::uint32_t t = tag({&item, task::Reduction{stage}});
    for (const Layout::Share& share : layout_.shares(stage, item)) {
      devices_.clear();
      for (const int lane : share.lanes) devices_.push_back(device(stage, lane) + reducers_);
      const TaskId reduction = out.program.add_transfer(devices_, flow_of(share), item.length, t);
      if (&item != &items.front()) continue;
      for (const int lane : share.lanes)
        out.program.add_dependency(made[static_cast<std::size_t>(lane)], reduction);
    }
  }
}

void TaskWriter::wait_for_reductions(int stage) {
  join(stage, reducers_);
}

void TaskWriter::gather(int stage, const Items& items) {
  for (const Item& item : items) {
    const std::uint32_t t = tag({&item, task::Reduction{stage}});
    for (const Layout::Share& share : layout_.shares(stage, item)) {
      devices_.clear();
      for (const int lane : share.lanes) devices_.push_back(device(stage, lane) + reducers_);
      out.program.add_transfer(devices_, flow_of(share), item.length, t);
    }
  }
}

void TaskWriter::first_forward(int stage, int chunk, Source source) {
  const StageWork& w = p_.work(stage);
  const auto parts_of = [&](int of) {
    std::vector<const Chain*> parts;
    for (const Chain& c : w.chunks[static_cast<std::size_t>(of)].forward.chains)
      parts.insert(parts.end(), static_cast<std::size_t>(c.times), &c);
    return parts;
  };
  const std::vector<const Chain*> parts = parts_of(chunk);
  if (chunk == 0 && !parts.empty()) gather(stage, w.ahead.of(parts.front()->part));
  if (const auto& launch = w.chunks[static_cast<std::size_t>(chunk)].forward.launch) {
    source.item = &*launch;
    work(stage, *launch, source);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (chunk == 0 || i == 0) join(stage, reducers_);
    if (chunk == 0 && i + 1 < parts.size()) gather(stage, w.ahead.of(parts[i + 1]->part));
    chain(stage, *parts[i]->items, source);
  }
  const bool more = chunk + 1 < p_.chunks();
  if (more) {
    for (const Chain* part : parts_of(chunk + 1)) gather(stage, w.ahead.of(part->part));
  }
  expanded_[static_cast<std::size_t>(stage)] = detail_ == Detail::operators || more;
}

void TaskWriter::pass(int stage, const Pass& pass, Source source, const BesidePass* early) {
  if (early != nullptr) {
    expanded_[static_cast<std::size_t>(stage)] = true;
    return write_pass(stage, pass, source, early);
  }
  const auto& part = *source.as<task::PassPart>();
  const std::size_t chunk = at(stage * p_.chunks() + part.chunk), kind = static_cast<std::size_t>(part.kind);
  const bool expanded = expanded_[static_cast<std::size_t>(stage)];
  write_or_vary(passes_[(chunk * kKinds + kind) * 2 + (expanded ? 1 : 0)],
                [&] { write_pass(stage, pass, source, nullptr); });
}

void TaskWriter::write_pass(int stage, const Pass& pass, Source source, const BesidePass* early) {
  if (detail_ == Detail::passes && !expanded_[at(stage)]) {
    for (int lane = 0; lane < layout_.lanes(stage); ++lane) {
      source.item = &layout_.whole(stage, lane, pass);
      const double now = factor(lane);
      const SimTime length = now == 1 ? source.item->length : layout_.length(stage, lane, pass, now);
      out.program.add_work(device(stage, lane), length, tag(source));
    }
    return;
  }
  if (early == nullptr && series_ && can_be_series(stage, pass)) return write_series(stage, pass, source);
  if (pass.launch) {
    source.item = &*pass.launch;
    work(stage, *pass.launch, source);
  }
  for (const Chain& c : pass.chains) {
    Written written;
    for (int i = 0; i < c.times; ++i) {
      const TaskId start = tasks();
      write_or_repeat(written, [&] { chain(stage, items_of(stage, c), source); });
      if (early != nullptr) reduce(stage, early->of(c.part), start);
    }
  }
}

/// A chain's operators; joined unless reductions or gathers of the stage meet them.
const Items& TaskWriter::items_of(int stage, const Chain& chain) const {
  return chain.joined && !expanded_[at(stage)] ? *chain.joined : *chain.items;
}

/// True if a pass can be a series of one lane: each transfer is one, none is in the background, and what
/// overlaps is one.
bool TaskWriter::can_be_series(int stage, const Pass& pass) {
  const auto fits = [&](const Item& item) {
    return !item.background &&
           (item.is_transfer() ? layout_.shares(stage, item).size() == 1 : !item.overlapped);
  };
  return layout_.lanes(stage) == 1 &&
         std::all_of(pass.chains.begin(), pass.chains.end(), [&](const Chain& c) {
           const Items& items = items_of(stage, c);
           return std::all_of(items.begin(), items.end(), fits);
         });
}

/// Adds what chain() adds, as a series.
void TaskWriter::write_series(int stage, const Pass& pass, Source source) {
  const double times = layout_.factor(stage, 0);
  std::vector<std::vector<sim::Element>> beats;
  const auto element_of = [&](const Item& item) {
    source.item = &item;
    const std::uint32_t t = tag(source);
    if (!item.is_transfer()) return sim::Element{stretched(item, times), sim::Task::kNoFlow, t};
    return sim::Element{item.length, flow_of(layout_.shares(stage, item).front()), t};
  };
  if (pass.launch) beats.push_back({element_of(*pass.launch)});
  for (const Chain& c : pass.chains) {
    const std::size_t first = beats.size();
    std::vector<sim::Element> meanwhile;
    const Items& items = items_of(stage, c);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (runs_with_next(items, i)) {
        meanwhile.push_back(element_of(items[i]));
        continue;
      }
      beats.push_back({element_of(items[i])});
      beats.back().insert(beats.back().end(), meanwhile.begin(), meanwhile.end());
      meanwhile.clear();
    }
    const std::size_t each = beats.size() - first;
    for (int i = 1; i < c.times; ++i) {
      for (std::size_t b = 0; b < each; ++b) beats.push_back(std::vector(beats[first + b]));
    }
  }
  if (!beats.empty()) out.program.add_series(device(stage, 0), device(stage, 0) + engines_, beats);
}

void TaskWriter::meeting(const Items& items, const task::Message& message) {
  const int boundary = message.boundary;
  write_or_vary(meetings_[place_of(boundary, message.up, message.activation)], [&] {
    for (const Item& item : items) {
      const std::uint32_t t = tag({&item, message});
      for (const Layout::Share& share : layout_.pair_shares(boundary, item)) {
        const int lanes = layout_.lanes(boundary);
        devices_.clear();
        for (const int lane : share.lanes) {
          devices_.push_back(lane < lanes ? device(boundary, lane) : device(boundary + 1, lane - lanes));
        }
        add_message(share, item, t);
      }
    }
  });
}

TaskId TaskWriter::add_message(const Layout::Share& share, const Item& item, std::uint32_t tag) {
  const double now = factor(share.lanes.front() % layout_.lanes(0));
  if (now == 1) return out.program.add_transfer(devices_, flow_of(share), item.length, tag);
  sim::Flow flow = out.program.flows()[flow_of(share)];
  for (sim::Weight& w : flow.weights) w.bytes *= now;
  return out.program.add_transfer(devices_, out.program.add_flow(std::move(flow.weights), flow.scale * now),
                                  times(item.length, now), tag);
}

/// Adds messages without what they wait for.
void TaskWriter::write_messages(const Items& items, const task::Message& message, WrittenMessages& written) {
  const auto [boundary, up, activation] = message;
  written.ends.clear();
  for (const Item& item : items) {
    const std::uint32_t t = tag({&item, message});
    for (const Layout::Share& share : layout_.pair_shares(boundary, item)) {
      const int lanes = layout_.lanes(boundary);
      const int lower = share.lanes.front() % lanes, upper = share.lanes.back() % lanes;
      devices_.clear();
      add_message(share, item, t);
      written.ends.emplace_back(up ? lower : upper, up ? upper : lower);
    }
  }
}

void TaskWriter::message(const Items& items, const task::Message& message, std::span<const TaskId> before,
                         std::span<const TaskId> after) {
  WrittenMessages& written = messages_[place_of(message.boundary, message.up, message.activation)];
  TaskId sent = tasks();
  write_or_vary(written, [&] { write_messages(items, message, written); });
  for (const auto& [from, to] : written.ends) {
    out.program.add_dependency(before[at(from)], sent);
    out.program.add_dependency(sent, after[at(to)]);
    ++sent;
  }
}

void TaskWriter::barrier(const Item& item) {
  std::vector<sim::DeviceId> all;
  for (int s = 0; s < p_.stages; ++s) {
    for (int lane = 0; lane < layout_.lanes(s); ++lane) all.push_back(device(s, lane));
  }
  out.program.add_transfer(all, nothing_, item.length, tag({&item, task::Barrier{}}));
}

namespace {

/// Sets `tasks`, for each lane of a stage, from device `first` on, to the first in which it takes part of
/// those that `next` goes through, until there is none.
template <class Next>
void of_lanes(const sim::Program& program, sim::DeviceId first, std::span<TaskId> tasks, const Next& next) {
  std::fill(tasks.begin(), tasks.end(), sim::Run::kNone);
  std::size_t left = tasks.size();
  for (TaskId t = next(); left > 0 && t != sim::Run::kNone; t = next()) {
    const sim::Task& task = program.tasks()[t];
    for (std::uint32_t i = 0; i < task.device_count; ++i) {
      const sim::DeviceId d = program.task_devices()[task.first_device + i];
      if (d < first || d >= first + tasks.size() || tasks[d - first] != sim::Run::kNone) continue;
      tasks[d - first] = t;
      --left;
    }
  }
}

}  // namespace

void TaskWriter::last_of_lanes(int stage, TaskId start, std::span<TaskId> tasks) const {
  TaskId end = this->tasks();
  of_lanes(out.program, device(stage, 0), tasks, [&] { return end > start ? --end : sim::Run::kNone; });
}

void TaskWriter::first_of_lanes(int stage, TaskId start, std::span<TaskId> tasks) const {
  TaskId next = start;
  of_lanes(out.program, device(stage, 0), tasks,
           [&] { return next < this->tasks() ? next++ : sim::Run::kNone; });
}

}  // namespace trnplan::models
