// The strategies of one cluster, classified: those that break a rule, those that do not fit, and the rest
// with a bound.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/job/job.h"
#include "models/memory/memory.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"
#include "topology/chip_graph.h"
#include "topology/verdict.h"

namespace trnplan::planner {

enum class Feasibility { legal, refused, doubtful, too_large, unseen };  ///< unseen: stopped before

struct Candidate {
  models::Strategy strategy;  ///< with pipeline cuts once refined
  Feasibility feasibility = Feasibility::legal;
  bool refined = false;  ///< cuts are chosen, and `bound` is that of these cuts, not of any
  int part = 0;          ///< index of the cache in Candidates that knows it
  Seconds bound{};       ///< if legal: at most the time of the step
};

/// Strategies that are kept after classification: all, or those that may still become a plan.
enum class Keep { all, open };

/// Numbers of strategies that are not kept, by feasibility.
struct Dropped {
  int refused = 0, too_large = 0;  ///< `refused` counts the doubtful too
};

/// Threads: refine() and all else that changes the caches, from one thread at a time.
class Candidates {
 public:
  /// Enumerates the strategies of `job`'s cluster and classifies them on `threads` threads. Each stage must
  /// fit with `fit_probability` (models::FitTest). Keeps a reference to `profile`. `stop`, called from all
  /// threads, may be empty; once it is true, strategies not classified yet stay `unseen`, and those not
  /// enumerated are missing. With Keep::open, for clusters that are compared, `all` has the legal and the
  /// unseen strategies alone, and nothing else is remembered. Rules of `target` hold. Strategies that it
  /// cannot express are left out and counted, unless it can express none; null: neither. Cost: microseconds a
  /// strategy, milliseconds a layout. Memory: some 200 bytes a strategy during classification, half of that
  /// for those that stay, and the bounds' caches of layouts.
  Candidates(models::Job job, const models::Profile& profile, bool accept_doubt, double fit_probability,
             int threads, const std::function<bool()>& stop = {}, Keep keep = Keep::all,
             const Target* target = nullptr);
  Candidates(models::Job, models::Profile&&, bool, double, int, const std::function<bool()>& = {},
             Keep = Keep::all, const Target* = nullptr) = delete;
  ~Candidates();
  Candidates(Candidates&&) noexcept;

  std::vector<Candidate> all;  ///< in canonical order
  Dropped dropped;             ///< strategies not in `all`
  int inexpressible = 0;       ///< strategies left out, because the target cannot express them
  bool beyond_target = false;  ///< the target can express none; then none is left out
  bool complete = true;        ///< `stop` did not end the enumeration

  /// Takes the cuts and bounds of the same cluster's legal strategies from `legal`.
  void take_legal(const Candidates& legal);

  /// Classifies `unseen` strategies, those of the highest degrees first, until one is legal, `stop` is true,
  /// or `tries`, which counts down, is 0. True if one is legal.
  bool find_legal(bool accept_doubt, int& tries, const std::function<bool()>& stop);

  const models::Job& job() const;
  const Target* target() const;
  /// The job with the global batch that the strategy uses.
  models::Job job_of(const models::Strategy& s) const;
  int batch_of(const models::Strategy& s) const;
  const topology::ChipGraph& graph() const;

  /// Memory limit of a stage: a core's memory.
  Bytes limit() const;

  /// Chooses the cuts of a strategy that fits into `limit` (0 = limit()) with the fit probability.
  void refine(Candidate& c, Bytes limit = {});
  /// True if some cuts make every stage fit into `limit` with the fit probability.
  bool fits(const Candidate& c, Bytes limit);
  /// False only if fits() is; costs less.
  bool may_fit(const Candidate& c, Bytes limit);
  /// Bound of any cuts, also for a strategy that is too large.
  Seconds bound(const Candidate& c);

  /// The candidate without cuts by hand, and a time that its step takes at least: no less than the bound of the refined
  /// candidate. Absent if that has no cuts by hand.
  struct Automatic {
    models::Strategy strategy;
    Seconds bound;
  };
  std::optional<Automatic> automatic(const Candidate& c);

  /// Violations for which it was refused or is doubtful: rules about numbers, parts that are not modelled,
  /// replica groups.
  std::vector<Violation> violations(const Candidate& c);
  const topology::PlacementVerdict& verdict(const Candidate& c);

 private:
  void drop_closed();

  struct State;
  std::unique_ptr<State> state_;
};

/// True if some strategy of the job is legal and fits; false once `stop` is true. Cost: that of Candidates
/// without bounds, until the first is found.
bool feasible(const models::Job& job, const models::Profile& profile, bool accept_doubt,
              double fit_probability, const Target* target = nullptr, const std::function<bool()>& stop = {});

/// False if no legal strategy that fits has more tokens a second, by bounds alone; true is no guarantee.
/// Cost: a tenth of a search where false; where true often less.
bool may_reach(const models::Job& job, const models::Profile& profile, bool accept_doubt,
               double fit_probability, double tokens_per_second, const Target* target = nullptr);

/// The first of `batches` for which feasible() is true; 0 if there is none, or once `stop` is true.
int first_feasible_batch(const models::Job& job, const models::Profile& profile, bool accept_doubt,
                         double fit_probability, const std::vector<int>& batches,
                         const Target* target = nullptr, const std::function<bool()>& stop = {});

}  // namespace trnplan::planner
