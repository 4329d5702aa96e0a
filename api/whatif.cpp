#include "api/whatif.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/contradictions.h"
#include "api/known_runs.h"
#include "api/observations.h"
#include "api/risk.h"
#include "api/training_loop.h"
#include "io/catalog/catalog.h"
#include "io/catalog/reliability.h"
#include "models/framework/framework.h"
#include "planner/check/rules.h"
#include "planner/plan/target.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "text/parse.h"

namespace trnplan::api {

namespace {

/// Each is a search.
constexpr std::size_t kMostPoints = 64;

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

/// Reads options that CLI11 knows as texts, and keeps all their faults.
class Reader {
 public:
  /// "4..128" doubles and ends with 128; "4,8,16" lists; both may be mixed.
  std::vector<int> nodes(const std::string& text) {
    std::set<int> all;
    for (const std::string& part : parts_of(text)) {
      const auto some = parse_doubling(part, topology::kMostNodes);
      if (!some) {
        fault("--nodes", in_quotes(part) + " is no number or range of nodes",
              "write 4..128 or 4,8,16, with numbers from 1 to " + std::to_string(topology::kMostNodes));
        continue;
      }
      all.insert(some->begin(), some->end());
    }
    return {all.begin(), all.end()};
  }

  /// 0 where they are asked for: `limits` says how long the run may last.
  double tokens(const std::string& text, double of_job, bool limits) {
    if (text.empty() && (of_job > 0 || limits)) return of_job;
    if (text.empty()) {
      fault("--tokens", "neither this nor training.tokens of the job is stated, nor a deadline or a budget",
            "write for example --tokens 2T, or --deadline 30d for the tokens that are reached");
      return 0;
    }
    const auto value = parse_count(text);
    if (!value || *value < 1)
      fault("--tokens", in_quotes(text) + " is no count of tokens", "write for example 2T");
    return value.value_or(0);
  }

  std::optional<Seconds> deadline(const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto value = parse_duration(text);
    if (!value) fault("--deadline", in_quotes(text) + " is no duration", "write for example 30d, 36h or 6w");
    return value;
  }

  std::optional<double> budget(const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto value = parse_count(text);
    if (!value)
      fault("--budget", in_quotes(text) + " is no amount of USD", "write for example 500000 or 2.5M");
    return value;
  }

  std::vector<topology::Instance> instances(const std::string& text, const models::Job& job,
                                            const io::Catalog& catalog) {
    if (text.empty() && !job.space.instances.empty()) return job.space.instances;
    if (text.empty()) return {job.cluster.instance};
    std::vector<topology::Instance> all;
    std::set<std::string> seen;
    const std::vector<std::string> known = catalog.instances();
    for (const std::string& name : parts_of(text)) {
      if (!seen.insert(name).second) {
        fault("--instances", in_quotes(name) + " is given twice", "list each type once");
      } else if (name == job.cluster.instance.name) {
        all.push_back(job.cluster.instance);  // as the job's neuron-ls file shows it
      } else if (std::find(known.begin(), known.end(), name) != known.end()) {
        all.push_back(catalog.instance(name));
      } else {
        const std::string near = nearest(name, known);
        fault("--instances", "unknown instance type " + in_quotes(name),
              near.empty() ? "see catalog/instances" : "did you mean " + in_quotes(near) + "?");
      }
    }
    return all;
  }

  void fault(const char* key, std::string problem, std::string fix) {
    faults_.push_back({{"command line", 0, 0}, key, std::move(problem), std::move(fix)});
  }
  void finish() {
    if (!faults_.empty()) throw InputError(std::move(faults_));
  }

 private:
  std::vector<Diagnostic> faults_;
};

planner::Preference preference_of(const std::string& word) {
  if (word == "cheapest") return planner::Preference::cheapest;
  if (word == "fastest") return planner::Preference::fastest;
  return word == "smallest" ? planner::Preference::smallest : planner::Preference::fitting;
}

planner::WhatIfQuestion question_of(const WhatIfRequest& o, const models::Job& job,
                                    const io::Catalog& catalog) {
  Reader read;
  planner::WhatIfQuestion q;
  q.nodes = read.nodes(o.nodes);
  const bool limits = !o.deadline.empty() || !o.budget.empty() || job.deadline.value > 0 || job.budget > 0;
  q.tokens = read.tokens(o.tokens, job.training.tokens, limits);
  q.deadline = read.deadline(o.deadline);
  q.budget = read.budget(o.budget);
  q.instances = read.instances(o.instances, job, catalog);
  if ((o.storage_gib > 0) != (o.storage_price > 0)) {
    read.fault("--storage-gib", "a line for storage needs its size and its price",
               "give both --storage-gib and --storage-usd-per-gib-month, or neither");
  }
  if (q.instances.size() > 1 && o.usd_per_node_hour) {
    read.fault("--usd-per-node-hour", "one price is stated for several instance types",
               "ask for one type at a time");
  }
  if (q.nodes.size() * q.instances.size() > kMostPoints) {
    read.fault("--nodes", std::to_string(q.nodes.size() * q.instances.size()) + " clusters are asked for",
               "ask for at most " + std::to_string(kMostPoints));
  }
  read.finish();
  q.scaling = o.scaling == "weak" ? planner::Scaling::weak : planner::Scaling::strong;
  q.recovery = o.recovery == "manual" ? planner::Recovery::manual : planner::Recovery::automatic;
  q.preference = preference_of(o.prefer);
  q.asynchronous = o.asynchronous;
  q.checkpoint_steps = o.checkpoint_steps;
  q.allow_doubtful = o.allow_doubtful;
  q.prices = {planner::pricing_from(o.pricing).value_or(planner::Pricing::on_demand), o.usd_per_node_hour,
              o.storage_gib, o.storage_price, o.other_price};
  return q;
}

/// What the job leaves free is asked for here by options; its limits hold for the run with its failures.
void take_over(models::Job& job, planner::WhatIfQuestion& q) {
  if (job.space.batch_per_node > 0) q.scaling = planner::Scaling::weak;
  if (!q.deadline && job.deadline.value > 0) q.deadline = job.deadline;
  if (!q.budget && job.budget > 0) q.budget = job.budget;
  job.space.nodes.clear();
  job.space.instances.clear();
  job.space.batch_per_node = 0;
  job.objective = models::Objective::step_time;
  job.deadline = {};
  job.budget = 0;
}

planner::Reliability load_reliability(const io::Catalog& catalog, const WhatIfRequest& o) {
  planner::Reliability r = io::reliability_from(
      o.reliability.empty() ? read_document(catalog.file("reliability.json")) : read_document(o.reliability));
  if (o.storage_speed) {
    r.value(planner::ReliabilityParameter::storage_throughput) = {*o.storage_speed * 1e9, 0, "command line"};
  }
  return r;
}

/// What is known of a type before anything is searched.
struct Type {
  models::Profile profile;  ///< of its own kind of machine
  std::vector<TrainingLoop> loops;
};
using Types = std::map<std::string, Type>;

/// The job on a loop of its machine, as `plan` takes it, whose choice of the loop holds there alone.
class Asked {
 public:
  explicit Asked(const io::JobReading& reading)
      : pins_loop_(reading.places.contains("pin.framework")),
        precision_stated_(reading.places.contains("training.precision")) {}

  [[nodiscard]] std::vector<TrainingLoop> loops(const io::Catalog& catalog, models::Job job,
                                                const topology::Instance& type) const {
    job.cluster.instance = type;
    return loops_on(catalog, job, pins_loop_);
  }
  [[nodiscard]] models::Job on(const TrainingLoop& loop, const models::Job& job,
                               const models::Profile& profile) const {
    return on_loop(job, loop, profile, precision_stated_);
  }

 private:
  bool pins_loop_, precision_stated_;
};

/// Every cluster with every loop of its machine.
std::vector<JobChoice> choices_of(const models::Job& job, const planner::WhatIfQuestion& q,
                                  const Types& types, const Asked& asked) {
  std::vector<JobChoice> all;
  for (const topology::Instance& instance : q.instances) {
    const Type& type = types.at(instance.name);
    for (const int nodes : q.nodes) {
      models::Job on = job;
      on.cluster.instance = instance;
      on.cluster.nodes = nodes;
      for (const TrainingLoop& loop : type.loops)
        all.push_back({asked.on(loop, on, type.profile), loop.target});
    }
  }
  return all;
}

/// Tokens a second that are expected of what is recommended; a plan that does not work earns none.
double worth(const planner::SearchResult& found) {
  if (found.plans.empty()) return -1;
  const planner::Plan& plan = found.plans[found.recommended];
  return plan.report.tokens_per_second * plan.works.value_or(1);
}

/// What `plan` is told of each point's loop, and once for each type what no target writes.
class LoopTeller {
 public:
  LoopTeller(const models::Job& job, const std::vector<topology::Instance>& instances, const Types& types,
             const Asked& asked, Remarks& remarks)
      : job_(job), instances_(instances), types_(types), asked_(asked), remarks_(remarks) {}

  void tell(planner::WhatIfPoint& p) {
    if (!p.plan) return;
    const Type& type = types_.at(p.instance);
    const TrainingLoop& loop =
        *std::find_if(type.loops.begin(), type.loops.end(),
                      [&](const TrainingLoop& l) { return l.framework == p.plan->strategy.framework; });
    if (loop.target != nullptr) p.target = loop.named ? loop.target->name() : std::string_view();
    const std::optional<std::string> why = unwritten(loop, type, p);
    if (!why || !told_.insert(p.instance).second) return;
    remarks_.add(fmt::format("{} x {}: the plan is of all strategies: {}", p.nodes, p.instance, *why));
  }

 private:
  [[nodiscard]] std::optional<std::string> unwritten(const TrainingLoop& loop, const Type& type,
                                                     const planner::WhatIfPoint& p) const {
    if (loop.target == nullptr)
      return fmt::format("no target writes the training loop {} there",
                         models::framework_of(p.plan->strategy).name());
    const models::Job on = asked_.on(loop, on_cluster(job_, instances_, *p.plan), type.profile);
    return planner::inexpressible(*loop.target, on, p.plan->strategy);
  }

  const models::Job& job_;
  const std::vector<topology::Instance>& instances_;
  const Types& types_;
  const Asked& asked_;
  Remarks& remarks_;
  std::set<std::string> told_;
};

}  // namespace

models::Job on_cluster(models::Job job, const std::vector<topology::Instance>& types,
                       const planner::Plan& plan) {
  job.space.instances = types;
  return planner::settled(std::move(job), plan);
}

WhatIfAnswered whatif(const WhatIfRequest& o, Remarks& remarks) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile stated = load_profile(catalog, o.profile);
  JobInput argument = o.job;
  argument.options.own_nodes = true;
  argument.options.own_instances = !o.instances.empty();
  io::JobReading reading = load_job(argument, catalog, remarks);
  planner::WhatIfQuestion question = question_of(o, reading.job, catalog);
  take_over(reading.job, question);
  const planner::Reliability reliability = load_reliability(catalog, o);
  const Asked asked(reading);
  Types types;
  for (const topology::Instance& i : question.instances) {
    Type& type = types[i.name];
    type.profile = stated;
    if (planner::times_steps_on(i)) {
      type.profile = profile_for(catalog, stated, o.profile_given, i, remarks);
      remark_family(catalog, type.profile, i, remarks);
    }
    type.loops = asked.loops(catalog, reading.job, i);
  }
  refuse_contradictions(o.job.job, reading, choices_of(reading.job, question, types, asked));
  if (reading.job.pin.data_parallel)
    remarks.add(
        "pin.data_parallel holds for the job's own cluster only; elsewhere it follows from the nodes");
  const auto own = types.find(reading.job.cluster.instance.name);
  const models::Profile& profile = own == types.end() ? stated : own->second.profile;
  remark_release(profile, reading.job.software, remarks);
  const KnownRisk risk(catalog, load_observations(o.profile), reading.job.architecture,
                       asks_for_gpus(reading.job, question.instances));
  const auto recommend = [&](const models::Job& job, const models::Profile&,
                             const planner::SearchOptions& options) {
    const Type& type = types.at(job.cluster.instance.name);
    const auto with = [&](const TrainingLoop& loop) {
      planner::SearchOptions own = options;
      own.target = loop.target;
      return own;
    };
    // What is taken may be slower than what another loop reaches, so all are searched where one may reach it.
    if (options.least_tokens_per_second > 0 &&
        std::none_of(type.loops.begin(), type.loops.end(), [&](const TrainingLoop& loop) {
          return planner::may_reach(asked.on(loop, job, type.profile), type.profile, with(loop));
        }))
      return planner::SearchResult();
    const auto search = [&](const TrainingLoop& loop, bool why_nothing) {
      const models::Job on = asked.on(loop, job, type.profile);
      const planner::RiskAdvisor advisor = risk.advisor(on, type.profile, o.risk);
      planner::SearchOptions advised = with(loop);
      advised.advisor = &advisor;
      advised.why_nothing = why_nothing;
      advised.least_tokens_per_second = 0;
      planner::SearchResult found = planner::search(on, type.profile, advised);
      if (!found.plans.empty()) risk.tell(found.plans[found.recommended], on, type.profile);
      return found;
    };
    // What one loop lacks is told where no other has a plan.
    const bool several = type.loops.size() > 1;
    planner::SearchResult best;
    for (const TrainingLoop& loop : type.loops) {
      planner::SearchResult found = search(loop, options.why_nothing && !several);
      if (worth(found) > worth(best) || !several) best = std::move(found);
    }
    if (best.plans.empty() && several && options.why_nothing) best = search(type.loops.front(), true);
    return best;
  };
  planner::WhatIfResult result = planner::whatif(reading.job, question, profile, reliability, recommend);
  LoopTeller loops(reading.job, question.instances, types, asked, remarks);
  for (planner::WhatIfPoint& p : result.points) loops.tell(p);
  if (result.would_do) loops.tell(*result.would_do);
  if (result.reaches) loops.tell(*result.reaches);
  const planner::WhatIfPoint* named = result.would_do ? &*result.would_do : nullptr;
  if (result.recommended >= 0) named = &result.points[static_cast<std::size_t>(result.recommended)];
  if (named != nullptr) {
    const std::string beyond = beyond_the_fit(
        fmt::format("{} x {}", named->nodes, named->instance).c_str(), types.at(named->instance).profile,
        on_cluster(reading.job, question.instances, *named->plan), named->plan->strategy);
    if (!beyond.empty()) remarks.add(beyond);
  }
  return {std::move(result), question, reading.job, reliability};
}

}  // namespace trnplan::api
