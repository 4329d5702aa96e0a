#include "planner/search/candidates.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/search/candidate_part.h"
#include "units/index.h"
#include "units/parallel.h"

namespace trnplan::planner {

using models::Job;
using models::Strategy;

struct Candidates::State {
  Job job;
  topology::ChipGraph graph;
  Bytes limit;
  const Target* target;
  std::vector<std::unique_ptr<CandidatePart>> parts;

  State(Job j, const Target* t)
      : job(std::move(j)), graph(job.cluster.instance), limit(job.cluster.instance.core.memory), target(t) {}
  CandidatePart& part_of(const Candidate& c) { return *parts[at(c.part)]; }
};

Candidates::Candidates(Job job, const models::Profile& profile, bool accept_doubt, double fit_probability,
                       int threads, const std::function<bool()>& stop, Keep keep, const Target* target)
    : state_(std::make_unique<State>(std::move(job), target)) {
  State& state = *state_;
  // Most legal strategies may have the same degrees: pipelines are distributed over the threads in turn.
  std::map<std::array<int, 3>, std::vector<int>> members;
  std::map<int, int> turns;  // by pipeline-parallel degree
  Space space = space_of(state.job, target, stop);
  complete = space.complete;
  inexpressible = space.inexpressible;
  beyond_target = space.beyond_target;
  all.reserve(space.strategies.size());
  std::array<int, 3> degrees{};  // of the last one, whose part is `part`: neighbours share them
  std::vector<int>* part = nullptr;
  for (Strategy& s : space.strategies) {
    const std::array<int, 3> own{s.tensor_parallel, s.context_parallel, s.pipeline_parallel};
    if (part == nullptr || own != degrees) {
      const int turn = turns.try_emplace(s.pipeline_parallel, static_cast<int>(turns.size())).first->second;
      part = &members[{s.tensor_parallel, s.context_parallel, turn % std::max(1, threads)}];
      degrees = own;
    }
    part->push_back(static_cast<int>(all.size()));
    all.push_back({std::move(s)});
  }
  std::vector<const std::vector<int>*> work;
  for (auto m = members.rbegin(); m != members.rend(); ++m) {  // degrees at which large models fit come first
    for (const int i : m->second) all[at(i)].part = static_cast<int>(work.size());
    work.push_back(&m->second);
    state.parts.push_back(std::make_unique<CandidatePart>(state.job, profile, state.graph, fit_probability,
                                                          target, beyond_target));
  }
  parallel_for(static_cast<int>(work.size()), threads, [&](int p) {
    for (const int i : *work[at(p)]) {
      if (stop && stop()) {
        all[at(i)].feasibility = Feasibility::unseen;
        continue;
      }
      state.parts[at(p)]->classify(all[at(i)], accept_doubt);
    }
    if (keep == Keep::open) state.parts[at(p)]->forget();
  });
  if (keep == Keep::open) drop_closed();
}

void Candidates::drop_closed() {
  std::erase_if(all, [&](const Candidate& c) {
    if (c.feasibility == Feasibility::legal || c.feasibility == Feasibility::unseen) return false;
    ++(c.feasibility == Feasibility::too_large ? dropped.too_large : dropped.refused);
    return true;
  });
  all.shrink_to_fit();
}

void Candidates::take_legal(const Candidates& legal) {
  auto next = legal.all.begin();
  for (Candidate& c : all) {
    if (c.feasibility != Feasibility::legal) continue;
    while (next != legal.all.end() && next->feasibility != Feasibility::legal) ++next;
    if (next == legal.all.end()) return;
    c = *next++;
  }
}

bool Candidates::find_legal(bool accept_doubt, int& tries, const std::function<bool()>& stop) {
  for (auto c = all.rbegin(); c != all.rend() && tries > 0 && !stop(); ++c) {
    if (c->feasibility != Feasibility::unseen) continue;
    --tries;
    state_->part_of(*c).classify(*c, accept_doubt);
    if (c->feasibility == Feasibility::legal) return true;
  }
  return false;
}

Candidates::~Candidates() = default;
Candidates::Candidates(Candidates&&) noexcept = default;

const Job& Candidates::job() const {
  return state_->job;
}

const Target* Candidates::target() const {
  return state_->target;
}

Job Candidates::job_of(const Strategy& s) const {
  Job job = state_->job;
  job.training.global_batch = planner::batch_of(job, s);
  return job;
}

int Candidates::batch_of(const Strategy& s) const {
  return planner::batch_of(state_->job, s);
}

const topology::ChipGraph& Candidates::graph() const {
  return state_->graph;
}

Bytes Candidates::limit() const {
  return state_->limit;
}

void Candidates::refine(Candidate& c, Bytes limit) {
  if (c.refined) return;
  CandidatePart& part = state_->part_of(c);
  part.refine(c, limit.value > 0 ? limit : part.limit());
}

bool Candidates::fits(const Candidate& c, Bytes limit) {
  return state_->part_of(c).fits(c.strategy, limit);
}

bool Candidates::may_fit(const Candidate& c, Bytes limit) {
  return state_->part_of(c).may_fit(c.strategy, limit);
}

Seconds Candidates::bound(const Candidate& c) {
  return state_->part_of(c).bound(c.strategy);
}

std::optional<Candidates::Automatic> Candidates::automatic(const Candidate& c) {
  if (c.strategy.pipeline_cuts.empty()) return std::nullopt;
  Automatic out{c.strategy, c.bound};
  out.strategy.pipeline_cuts.clear();
  try {
    out.bound = std::max(c.bound, state_->part_of(c).bound_of_cuts(out.strategy));
  } catch (const std::overflow_error&) {
    // beyond the simulation clock, where it is no plan
  }
  return out;
}

std::vector<Violation> Candidates::violations(const Candidate& c) {
  std::vector<Violation> found = state_->part_of(c).violations(c.strategy);
  if (found.empty() && c.feasibility == Feasibility::refused) found.push_back(beyond_the_clock());
  return found;
}

const topology::PlacementVerdict& Candidates::verdict(const Candidate& c) {
  return state_->part_of(c).verdict_of(c.strategy);
}

}  // namespace trnplan::planner
