// The strategies of one cluster, sorted out: what breaks a rule, what does not fit, and a bound for the rest.
#pragma once

#include <functional>
#include <memory>
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
  bool refined = false;  ///< cuts are chosen and `bound` is that of the strategy, not of any cuts
  int part = 0;          ///< which of Candidates' caches knows it
  Seconds bound{};       ///< legal: never above what the step takes
};

/// Which strategies stay known once they are classified: all, or those that may still be a plan.
enum class Keep { all, open };

/// Strategies that are no longer known, by feasibility.
struct Dropped {
  int refused = 0, too_large = 0;  ///< refused: or doubtful
};

/// Threads: refine() and what else changes the caches from one thread at a time.
class Candidates {
 public:
  /// Enumerates the strategies of `job`'s cluster and classifies them on `threads` threads; each stage is to
  /// fit with `fit_probability` (models::FitTest). Keeps a reference to `profile`. `stop`, called from all
  /// threads, may be empty; once it is true, strategies not looked at yet stay `unseen`, and those not enumerated are missing. With Keep::open, for
  /// clusters that are compared, `all` has the legal and the unseen ones alone, and nothing else is
  /// remembered. Cost: microseconds a strategy, milliseconds a layout. Memory: some 200 bytes a strategy while
  /// they are classified, half of that for those that stay, and what the bounds remember of layouts. Rules of
  /// `target` hold, and what it cannot express is left out and counted, where it can express anything; null:
  /// neither.
  Candidates(models::Job job, const models::Profile& profile, bool accept_doubt, double fit_probability,
             int threads, const std::function<bool()>& stop = {}, Keep keep = Keep::all,
             const Target* target = nullptr);
  Candidates(models::Job, models::Profile&&, bool, double, int, const std::function<bool()>& = {},
             Keep = Keep::all, const Target* = nullptr) = delete;
  ~Candidates();
  Candidates(Candidates&&) noexcept;

  std::vector<Candidate> all;  ///< in canonical order
  Dropped dropped;             ///< what is not in `all`
  int inexpressible = 0;       ///< strategies left out, because the target cannot say them
  bool beyond_target = false;  ///< it can say none; then none is left out
  bool complete = true;        ///< `stop` did not end the enumeration

  /// What `legal` knows of the same cluster's legal strategies: their cuts and bounds.
  void take_legal(const Candidates& legal);

  /// Looks at `unseen` strategies, those of the highest degrees first, until one is legal, `stop`, or `tries`, which
  /// counts down, is 0. True when one is.
  bool find_legal(bool accept_doubt, int& tries, const std::function<bool()>& stop);

  const models::Job& job() const;
  const Target* target() const;
  /// With the global batch that the strategy uses.
  models::Job job_of(const models::Strategy& s) const;
  int batch_of(const models::Strategy& s) const;
  const topology::ChipGraph& graph() const;

  /// What a stage may take: a core's memory.
  Bytes limit() const;

  /// Chooses the cuts of a strategy that fits into `limit` with the asked probability (0 = limit()).
  void refine(Candidate& c, Bytes limit = {});
  /// True when some cuts make every stage fit into `limit` with the asked probability.
  bool fits(const Candidate& c, Bytes limit);
  /// Bound of any cuts; also of what is too large.
  Seconds bound(const Candidate& c);

  /// Rules about numbers, what is not modelled, replica groups: why it was refused or is doubtful.
  std::vector<Violation> violations(const Candidate& c);
  const topology::PlacementVerdict& verdict(const Candidate& c);

 private:
  void drop_closed();

  struct State;
  std::unique_ptr<State> state_;
};

/// True when some strategy of the job is legal and fits. Cost: as Candidates without bounds, until the first
/// is found. False once `stop` is true, as of first_feasible_batch() 0.
bool feasible(const models::Job& job, const models::Profile& profile, bool accept_doubt,
              double fit_probability, const Target* target = nullptr, const std::function<bool()>& stop = {});

/// False where no legal strategy that fits has more tokens a second, by bounds alone, so that true is no promise. Cost: a
/// tenth of a search where false; where true often less.
bool may_reach(const models::Job& job, const models::Profile& profile, bool accept_doubt,
               double fit_probability, double tokens_per_second, const Target* target = nullptr);

/// The first of the global batches with which that is so; 0 when there is none.
int first_feasible_batch(const models::Job& job, const models::Profile& profile, bool accept_doubt,
                         double fit_probability, const std::vector<int>& batches,
                         const Target* target = nullptr, const std::function<bool()>& stop = {});

}  // namespace trnplan::planner
