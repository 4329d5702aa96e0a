#include "sim/foresight.h"

#include <algorithm>
#include <limits>

#include "sim/fair_share.h"

namespace trnplan::sim {

Foresight::Foresight(const Program& p, const Constraints& constraints) : program_(&p) {
  if (!constraints.recur()) return;
  courses_.resize(p.devices().size());
  for (DeviceId d = 0; d < courses_.size(); ++d) lane_.push_back(d);
  for (const Series& s : p.series()) {
    const bool uses_engine = s.tasks != s.beats;
    if (!uses_engine) continue;
    courses_[s.engine].is_engine = true;
    lane_[s.engine] =
        lane_[s.engine] == s.engine || lane_[s.engine] == s.device ? s.device : Constraints::kSeveral;
  }
  find_owners(constraints);
  const auto flows = static_cast<FlowId>(p.flows().size());
  alone_.reserve(flows);
  for (FlowId f = 0; f < flows; ++f) alone_.push_back(find_alone(constraints, f));
  find_series();
}

/// By majority (R. Boyer, J. Moore, MJRTY, 1981).
void Foresight::find_owners(const Constraints& constraints) {
  std::vector<bool> slows(courses_.size());
  for (const Program::Slowdown& s : program_->slowdowns()) slows[s.transfers] = true;
  owner_.assign(constraints.capacity.size(), Constraints::kUnused);
  std::vector<std::size_t> lead(owner_.size());  // of the owner's tasks over those of others
  for (FlowId f = 0; f < program_->flows().size(); ++f) {
    if (!has_course(constraints.device(f))) continue;
    const DeviceId d = lane_[constraints.device(f)];
    if (!has_course(d) || slows[d]) continue;
    const std::size_t tasks = constraints.tasks(f);
    for (const filling::Part& part : constraints.parts(f)) {
      DeviceId& owner = owner_[part.resource];
      std::size_t& over = lead[part.resource];
      if (owner == d) {
        over += tasks;
      } else if (over >= tasks) {
        over -= tasks;
      } else {
        owner = d;
        over = tasks - over;
      }
    }
  }
}

/// Computes it as FlowNetwork and Transfers do.
SimTime Foresight::find_alone(const Constraints& constraints, FlowId f) const {
  const auto parts = constraints.parts(f);
  if (parts.empty()) return {};
  if (!has_course(constraints.device(f))) return kUnknown;
  double level = std::numeric_limits<double>::infinity();
  for (const filling::Part& part : parts) {
    if (owner_[part.resource] != lane_[constraints.device(f)]) return kUnknown;
    level = std::min(level, part.level);
  }
  const double ticks = filling::ticks_at(filling::rate_at(level, constraints.scale(f)), 1);
  return filling::end_after({}, ticks).value_or(kUnknown);
}

void Foresight::find_series() {
  start_.resize(program_->beats().size());
  length_.resize(start_.size());
  end_.resize(program_->elements().size());
  for (const Series& s : program_->series()) {
    SimTime start;
    bool known = true;
    factor_.push_back(find_factor(s));
    for (std::uint32_t b = s.first_beat; b < s.first_beat + s.beats; ++b) {
      start_[b] = start;
      if (find_beat(factor_.back(), b, start)) {
        start += length_[b];
      } else {
        length_[b] = kUnknown;
        known = false;
      }
    }
    known_.push_back(known);
  }
}

/// Sets the length of a beat and the ends of its elements; false if they are not known.
bool Foresight::find_beat(double factor, std::uint32_t b, SimTime start) {
  const Beat& beat = program_->beats()[b];
  const Element& main = program_->elements()[beat.first];
  const SimTime alone = alone_of(main);
  if (alone == kUnknown || (beat.count > 1 && (alone != SimTime{} || factor == 0))) return false;
  SimTime at = start;
  for (std::uint32_t e = beat.first + 1; e < beat.first + beat.count; ++e) {
    const SimTime of_engine = alone_of(program_->elements()[e]);
    if (of_engine == kUnknown) return false;
    end_[e] = at += program_->elements()[e].fixed + of_engine;
  }
  SimTime end = start + main.fixed + alone;
  if (beat.count > 1) {
    const SimTime never{std::numeric_limits<std::int64_t>::max()};
    const Sides sides = this->sides(beat, factor, start, never);
    if (sides.tied || sides.end == at) return false;
    end = sides.end;
  }
  end_[beat.first] = end;
  length_[b] = std::max(end, at) - start;
  return true;
}

/// The factor by which the engine of a series slows its device; 0 if it slows another.
double Foresight::find_factor(const Series& series) const {
  double factor = 1;
  for (const Program::Slowdown& s : program_->slowdowns()) {
    if (s.transfers != series.engine) continue;
    if (s.work != series.device) return 0;
    factor = s.factor;
  }
  return factor;
}

Sides Foresight::sides(const Beat& beat, double factor, SimTime start, SimTime now) const {
  const Element* elements = program_->elements().data() + beat.first;
  const auto transfer = [&](std::size_t i) {
    return LoneTransfer{elements[i + 1].fixed, alone_of(elements[i + 1])};
  };
  const bool works = elements[0].flow == Task::kNoFlow;
  return sides_at(elements[0].fixed, works ? factor : 1, beat.count - 1, transfer, start, now);
}

}  // namespace trnplan::sim
