#include "models/timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "models/memory.h"
#include "models/schedule.h"
#include "models/step_parts.h"
#include "models/step_program.h"

namespace trnplan::models {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// Kinds of resources that have a counter.
constexpr std::array<Fabric::Kind, 3> kCounted{Fabric::Kind::link, Fabric::Kind::memory,
                                               Fabric::Kind::nic_out};
constexpr std::array<const char*, 3> kCounterNames{"busiest link", "busiest memory path", "busiest NIC"};

std::size_t counter_of(Fabric::Kind kind) {
  switch (kind) {
    case Fabric::Kind::link:
      return 0;
    case Fabric::Kind::memory:
      return 1;
    default:
      return 2;
  }
}

class Writer {
 public:
  Writer(const StepParts& parts, Layout& layout, const Memory& memory, std::size_t most_slices)
      : p_(parts), memory_(memory), step_(make_program(parts, layout, parts.must_expand)) {
    out_.micro_batches = p_.micro_batches;
    for (int s = 0; s < p_.stages; ++s) {
      compute_.push_back(track(s, "compute", false, ""));
      if (p_.overlaps()) engine_.push_back(track(s, "collectives", false, ""));
      for (const char* name : kCounterNames) use_.push_back(track(s, name, true, "1"));
      memory_track_.push_back(track(s, "memory of a core", true, "bytes"));
    }
    std::size_t per_micro_batch = 1;
    for (int s = 0; s < p_.stages; ++s) {
      for (const Chunk& c : p_.work(s).chunks) {
        for (const Pass* pass : {&c.forward, &c.backward, &c.weights}) per_micro_batch += operators_of(*pass);
      }
    }
    out_.detailed_micro_batches =
        static_cast<int>(std::min<std::size_t>(at(p_.micro_batches), most_slices / per_micro_batch));
  }

  Timeline run() {
    const sim::Run run = sim::execute(step_.program);
    out_.end = run.end;
    find_micro_batches();
    const sim::Program& program = step_.program;
    for (sim::TaskId t = 0; t < program.tasks().size(); ++t) {
      const StepProgram::Source& source = step_.of(t);
      if (source.item == nullptr) continue;  // queues that wait for each other
      if (source.item->call.scope == Scope::pipeline) {
        message(t, source, run);
      } else {
        task(t, source, run);
      }
    }
    counter_samples();
    memory_samples();
    std::stable_sort(out_.slices.begin(), out_.slices.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.start, a.track, b.end) < std::tuple(b.start, b.track, a.end);
    });
    std::stable_sort(out_.samples.begin(), out_.samples.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    return std::move(out_);
  }

 private:
  std::uint32_t track(int stage, std::string name, bool counter, std::string unit) {
    out_.tracks.push_back({stage, std::move(name), counter, std::move(unit)});
    return static_cast<std::uint32_t>(out_.tracks.size() - 1);
  }

  static std::size_t operators_of(const Pass& pass) {
    std::size_t sum = 1;
    for (const Chain& c : pass.chains) sum += c.items->size() * at(c.times);
    return sum;
  }

  /// The micro-batches of each stage's passes, in the order in which they are computed.
  void find_micro_batches() {
    using Kind = StageAction::Kind;
    for (int s = 0; s < p_.stages; ++s) {
      const auto order = p_.chunks() > 1 ? interleaved(s, p_.stages, p_.chunks(), p_.micro_batches)
                         : p_.blocking() ? one_f_one_b(s, p_.stages, p_.micro_batches)
                                         : zero_bubble(s, p_.stages, p_.micro_batches);
      for (const StageAction& a : order) {
        const char* label = a.kind == Kind::forward    ? "forward"
                            : a.kind == Kind::backward ? "backward"
                            : a.kind == Kind::weights  ? "weights"
                                                       : nullptr;
        if (label != nullptr) order_[{s, a.chunk, label}].push_back(a.micro_batch);
      }
    }
  }

  int micro_batch_of(const StepProgram::Source& source) {
    if (!source.pass) return -1;
    const std::vector<int>& order = order_[{source.stage, source.chunk, source.label}];
    if (p_.must_expand) return -1;  // an operator is a task then; its pass is not told apart
    return order.at(seen_[{source.stage, source.chunk, source.label}]++);
  }

  void slice(std::uint32_t track, SimTime start, SimTime end, const Item& item, std::string_view name,
             int micro_batch) {
    out_.slices.push_back(
        {track, start, end, name, to_string(item.transfer_category), micro_batch, 0, false});
  }

  void task(sim::TaskId t, const StepProgram::Source& source, const sim::Run& run) {
    const int micro_batch = micro_batch_of(source);
    const bool everywhere = source.item == &p_.barrier;
    for (int s = everywhere ? 0 : source.stage; s < (everywhere ? p_.stages : source.stage + 1); ++s) {
      const sim::Task& task = step_.program.tasks()[t];
      const bool beside =
          task.device_count > 0 && p_.overlaps() &&
          step_.program.task_devices()[task.first_device] >= static_cast<sim::DeviceId>(p_.stages);
      slice(beside ? engine_[at(s)] : compute_[at(s)], run.started[t], run.ended[t], *source.item,
            source.pass && !p_.must_expand ? source.label : source.item->name, micro_batch);
      use_samples(s, *source.item, run.started[t] + task.fixed, run.ended[t]);
    }
    if (!source.pass || p_.must_expand) return;
    const Chunk& chunk = p_.work(source.stage).chunks[at(source.chunk)];
    const std::string_view label = source.label;
    const bool forward = label == "forward";
    const Pass& pass = forward ? chunk.forward : label == "weights" ? chunk.weights : chunk.backward;
    if (micro_batch < out_.detailed_micro_batches) operators(source.stage, pass, run.started[t], micro_batch);
    alive_.push_back({run.ended[t], source.stage, forward ? 1 : label == "backward" ? -1 : 0});
  }

  void operators(int stage, const Pass& pass, SimTime at_time, int micro_batch) {
    if (pass.launch) {
      slice(compute_[at(stage)], at_time, at_time + pass.launch->length, *pass.launch, pass.launch->name,
            micro_batch);
      at_time += pass.launch->length;
    }
    for (const Chain& c : pass.chains) {
      for (int i = 0; i < c.times; ++i, at_time += c.run->length) {
        for (std::size_t k = 0; k < c.items->size(); ++k) {
          const Item& item = (*c.items)[k];
          const ChainRun::Span& span = c.run->spans[k];
          if (span.start == span.end) continue;
          slice(span.beside ? engine_[at(stage)] : compute_[at(stage)], at_time + span.start,
                at_time + span.end, item, item.name, micro_batch);
          use_samples(stage, item, at_time + span.start + item.length, at_time + span.end);
        }
      }
    }
  }

  /// A transfer keeps its busiest resources in use from `start` to `end`.
  void use_samples(int stage, const Item& item, SimTime start, SimTime end) {
    if (item.load.empty() || end <= start) return;
    std::array<double, kCounted.size()> use{};
    for (const auto& [id, bytes] : item.load) {
      double& most = use[counter_of(p_.fabric.kind(id))];
      most = std::max(most, Bytes(bytes) / p_.fabric.capacity(id) / to_seconds(end - start));
    }
    for (std::size_t k = 0; k < use.size(); ++k) {
      if (use[k] == 0) continue;
      uses_.push_back({use_[at(stage) * kCounted.size() + k], start, end, std::min(1.0, use[k])});
    }
  }

  /// Of transfers at the same time, the one that uses its resource most.
  void counter_samples() {
    struct Change {
      SimTime at;
      std::uint32_t track;
      bool starts;
      double value;
    };
    std::vector<Change> changes;
    for (const Use& u : uses_) {
      changes.push_back({u.start, u.track, true, u.value});
      changes.push_back({u.end, u.track, false, u.value});
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::tuple(a.track, a.at) < std::tuple(b.track, b.at);
    });
    std::multiset<double> now;
    double shown = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Change& c = changes[i];
      if (c.starts) {
        now.insert(c.value);
      } else {
        now.erase(now.find(c.value));
      }
      const bool last = i + 1 == changes.size() || changes[i + 1].track != c.track;
      if (!last && changes[i + 1].at == c.at) continue;
      const double most = now.empty() ? 0 : *now.rbegin();
      if (most != shown) out_.samples.push_back({c.track, c.at, most});
      shown = last ? 0 : most;
    }
  }

  void message(sim::TaskId t, const StepProgram::Source& source, const sim::Run& run) {
    const int boundary = -1 - source.stage;
    const bool up = std::string_view(source.label) == "activation";
    const int below = boundary, above = (boundary + 1) % p_.stages;
    const std::uint64_t flow = ++flows_;
    const bool blocking = p_.blocking();
    for (const int s : {below, above}) {
      const bool receives = (s == above) == up;
      out_.slices.push_back({compute_[at(s)], run.started[t], blocking ? run.ended[t] : run.started[t],
                             receives ? (up ? "receive activation" : "receive gradient") : source.item->name,
                             to_string(Category::pipeline), -1, flow, receives});
      if (!blocking) {
        out_.slices.back().start = receives ? run.ended[t] : run.started[t];
        out_.slices.back().end = out_.slices.back().start;
      }
      use_samples(s, *source.item, run.started[t] + step_.program.tasks()[t].fixed, run.ended[t]);
    }
  }

  /// Weights and states are always there; activations come with each forward and go with its backward.
  void memory_samples() {
    std::stable_sort(alive_.begin(), alive_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    std::vector<int> in_flight(at(p_.stages), 0);
    const auto sample = [&](int s, SimTime when) {
      const StageMemory& m = memory_.stages[at(s)];
      const double states = (m.parameters + m.gradients + m.optimizer + m.runtime).value;
      const double each =
          m.in_flight > 0 && m.instant != PeakInstant::optimizer ? m.activations.value / m.in_flight : 0;
      out_.samples.push_back({memory_track_[at(s)], when, states + each * in_flight[at(s)]});
    };
    for (int s = 0; s < p_.stages; ++s) sample(s, {});
    for (const Alive& a : alive_) {
      if (a.change == 0) continue;
      in_flight[at(a.stage)] += a.change;
      sample(a.stage, a.at);
    }
    for (int s = 0; s < p_.stages; ++s) sample(s, out_.end);
  }

  struct Use {
    std::uint32_t track;
    SimTime start, end;
    double value;
  };
  struct Alive {
    SimTime at;
    int stage, change;
  };
  using PassKey = std::tuple<int, int, std::string_view>;

  const StepParts& p_;
  const Memory& memory_;
  StepProgram step_;
  Timeline out_;
  std::vector<std::uint32_t> compute_, engine_, use_, memory_track_;
  std::map<PassKey, std::vector<int>> order_;
  std::map<PassKey, std::size_t> seen_;
  std::vector<Alive> alive_;
  std::vector<Use> uses_;
  std::uint64_t flows_ = 0;
};

}  // namespace

Timeline timeline(const StepModel& model, const Job& job, const Strategy& strategy, const Profile& profile,
                  std::size_t most_slices) {
  const std::unique_ptr<Layout> layout = lane_per_stage(model.parts());
  const Memory memory = memory_of(job, strategy, profile);
  return Writer(model.parts(), *layout, memory, most_slices).run();
}

}  // namespace trnplan::models
