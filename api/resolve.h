// Resolves a request: the job with its machines, their profiles, the stacks of software that may train it,
// and the limits of the run. Every command, the Python package and the report start from a ResolvedJob, which
// never changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/inputs.h"
#include "api/stacks.h"
#include "io/catalog/catalog.h"
#include "io/input/readers.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/confidence/observations.h"
#include "planner/cost/run_forecast.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Request of a command for a job.
struct Asked {
  JobInput job;
  /// Stack that trains it; "" = that of software.framework, else the catalogue's choice.
  std::string target;
  std::string profile;  ///< of the catalogue, or a .json file; "" = the catalogue's for the machine
  /// Changes of the hardware, "core.memory=32GiB" (io/catalog/hardware_settings.h).
  std::vector<std::string> hardware = {};
};

/// Purpose for which a job is resolved.
struct ResolveOptions {
  /// One strategy is considered: other keys that the job leaves open keep their values.
  bool one_strategy = false;
  /// True if that strategy states its training loop, so the stack is no assumption.
  bool loop_stated = false;
  /// Refuses a job that no strategy makes legal, or whose stack trains on none of its machines. If false, the
  /// answer states what is broken.
  bool refuses = true;
  /// Clusters are compared, and their profiles may differ.
  bool compares = false;
  /// Files will be written: refuses a key that the stack cannot express.
  bool writes = false;
  /// Used for predictions instead of the requested profile; may be null.
  std::shared_ptr<const models::Profile> profile;
  /// Applies a command's own options to the job; may be empty.
  std::function<void(io::JobReading&, const io::Catalog&)> amend;
};

/// The job on one cluster, or on its open ones, as one stack trains it.
struct ResolvedStack {
  models::Job job;
  Stack stack;
  std::shared_ptr<const models::Profile> profile;  ///< of the machine, in its measured network; never null
};
using StackRef = std::shared_ptr<const ResolvedStack>;

class ResolvedJob {
 public:
  /// Throws InputError with every fault of a kind. Adds remarks on assumptions, each with the option that
  /// changes it.
  ResolvedJob(io::Catalog catalog, io::JobReading reading, const Asked& asked, const ResolveOptions& options,
              Remarks& remarks);

  [[nodiscard]] const io::Catalog& catalog() const { return catalog_; }
  /// The job as stated. Its deadline and budget are in run() if they refuse no plan.
  [[nodiscard]] const models::Job& job() const { return reading_.job; }
  [[nodiscard]] const planner::RunQuestion& run() const { return run_; }
  [[nodiscard]] const std::vector<planner::Observation>& observations() const { return observations_; }
  [[nodiscard]] const models::Profile& profile_on(const topology::Instance& machine) const;

  /// `at`, this job on one of its machines, as each stack of the machine trains it. At least one; the default
  /// comes first.
  [[nodiscard]] std::vector<StackRef> stacks(const models::Job& at) const;
  /// Stack that runs the strategy.
  [[nodiscard]] StackRef stack_of(const models::Job& at, const models::Strategy& strategy) const;
  /// Adds a remark if the strategy names another training loop than that of the stack that the job states.
  void remark_other_loop(const models::Strategy& strategy, Remarks& remarks) const;

 private:
  struct Machine {
    std::shared_ptr<const models::Profile> profile;
    std::vector<Stack> stacks;
  };

  [[nodiscard]] const Machine& machine(const topology::Instance& type) const;
  /// Throws InputError if a measured all-reduce tells nothing of the network.
  [[nodiscard]] std::shared_ptr<const models::Profile> profile_of(const models::Job& on_stack) const;
  [[nodiscard]] StackRef on(const models::Job& at, const Stack& stack) const;
  void resolve_machines(const Asked& asked, const ResolveOptions& options, Remarks& remarks);
  void refuse(const Asked& asked, const ResolveOptions& options);
  void remark_choice(const ResolveOptions& options, Remarks& remarks) const;
  /// Adds a remark for each release that is assumed, and each measured network that is not used, because the
  /// profile has learnt steps there.
  void remark_sites(Remarks& remarks) const;

  io::Catalog catalog_;
  io::JobReading reading_;
  StackChoice choice_;
  planner::RunQuestion run_;
  std::vector<planner::Observation> observations_;
  std::map<std::string, Machine> machines_;  ///< by the type's name
};

/// A job that is known already, from a config or a plan.json: all that it states holds. Throws InputError.
[[nodiscard]] ResolvedJob resolve(models::Job job, const Asked& asked, const ResolveOptions& options,
                                  Remarks& remarks);
/// Reads the job and resolves it. Throws InputError.
[[nodiscard]] ResolvedJob resolve(const Asked& asked, const ResolveOptions& options, Remarks& remarks);

}  // namespace trnplan::api
