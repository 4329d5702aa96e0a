#include "api/whatif.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/plan_folder.h"
#include "api/predictor.h"
#include "api/prices.h"
#include "api/scenario_step.h"
#include "api/whatif_question.h"
#include "io/catalog/catalog.h"
#include "io/catalog/reliability.h"
#include "io/input/instance_names.h"
#include "io/input/job_input.h"
#include "io/input/measured_network.h"
#include "io/input/scenario_text.h"
#include "planner/check/rules.h"
#include "planner/plan/target.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "text/parse.h"

namespace trnplan::api {

namespace {

/// The EC2 types whose steps can be timed, each machine once: no other settings of one.
std::vector<topology::Instance> timed_types(const io::Catalog& catalog) {
  std::vector<topology::Instance> all;
  for (const std::string& name : catalog.instances()) {
    topology::Instance type = catalog.instance(name);
    const bool setting = type.hosts == 1 && type.ec2_type != name;
    if (!type.ec2_type.empty() && !setting && planner::times_steps_on(type)) all.push_back(std::move(type));
  }
  return all;
}

/// Reads options that CLI11 takes as texts, and collects all their faults.
class Reader {
 public:
  /// "4..128" doubles up to 128; "4,8,16" lists; both may be mixed.
  std::vector<int> nodes(const std::string& text) {
    std::set<int> all;
    for (const std::string& part : comma_parts(text)) {
      const auto some = parse_doubling(part, topology::kMostNodes);
      if (!some) {
        fault("--nodes", in_quotes(part) + " is not a number or range of nodes",
              "write 4..128 or 4,8,16, with numbers from 1 to " + std::to_string(topology::kMostNodes));
        continue;
      }
      all.insert(some->begin(), some->end());
    }
    return {all.begin(), all.end()};
  }

  /// 0 if tokens are the question: `limits` states how long the run may last.
  double tokens(const std::string& text, double of_job, bool limits) {
    if (text.empty() && (of_job > 0 || limits)) return of_job;
    if (text.empty()) {
      fault("--tokens", "neither this nor training.tokens of the job is stated, nor a deadline or a budget",
            "write for example --tokens 2T, or --deadline 30d to see how many tokens are reached");
      return 0;
    }
    const auto value = parse_count(text);
    if (!value || *value < 1)
      fault("--tokens", in_quotes(text) + " is not a count of tokens", "write for example 2T");
    return value.value_or(0);
  }

  std::optional<Seconds> deadline(const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto value = parse_duration(text);
    if (!value || value->value <= 0)
      fault("--deadline", in_quotes(text) + " is not a duration", "write for example 30d, 36h or 6w");
    return value;
  }

  std::optional<double> budget(const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto value = parse_usd(text);
    if (!value) fault("--budget", in_quotes(text) + " is not an amount of USD", kUsdFix);
    return value;
  }

  std::vector<topology::Instance> instances(const std::string& text, const models::Job& job,
                                            const io::Catalog& catalog, Remarks& remarks) {
    if (text == "all") return timed_types(catalog);
    if (text.empty() && !job.space.instances.empty()) return job.space.instances;
    if (text.empty()) return {job.cluster.instance};
    std::vector<topology::Instance> all;
    std::set<std::string> seen;
    for (const std::string& part : comma_parts(text)) {
      if (part == job.cluster.instance.name && seen.insert(part).second) {
        all.push_back(job.cluster.instance);  // as in the job's neuron-ls file
        continue;
      }
      const io::NamedType type = io::type_called(part, catalog);
      if (type.name.empty()) {
        fault("--instances", "unknown instance type " + in_quotes(part),
              io::instance_fix(part, catalog.instances()));
      } else if (!seen.insert(type.name).second) {
        fault("--instances", in_quotes(part) + " is given twice", "list each type once");
      } else {
        all.push_back(type.name == job.cluster.instance.name ? job.cluster.instance
                                                             : catalog.instance(type.name));
      }
      if (const std::string note = io::also_called(part, type); !note.empty()) remarks.add(note);
    }
    return all;
  }

  std::optional<double> confidence(const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto value = parse_share(text);
    if (!value || !(*value > 0 && *value < 1)) {
      fault("--confidence", in_quotes(text) + " is not a probability between 0 and 1",
            "write for example 90% or 0.9");
      return std::nullopt;
    }
    return value;
  }

  void fault(const char* key, std::string problem, std::string fix) {
    faults_.push_back({{"command line", 0, 0}, key, std::move(problem), std::move(fix)});
  }
  std::vector<Diagnostic>& faults() { return faults_; }
  void finish() {
    if (!faults_.empty()) throw InputError(std::move(faults_));
  }

 private:
  std::vector<Diagnostic> faults_;
};

/// True if the job is a file or folder that states its cluster, as a model alone does not.
bool states_nodes(const WhatIfRequest& o, const io::Catalog& catalog) {
  const io::JobSource source = io::job_source(o.job.job, catalog, o.job.texts);
  return source == io::JobSource::job || source == io::JobSource::nxdt;
}

/// A measured all-reduce with the nodes that it was measured on: where one number of nodes is asked about, these; where
/// none is, the job says. Throws InputError where it is not clear.
std::string measured_on(const std::string& all_reduce, const std::string& nodes) {
  const bool open = all_reduce.find('@') == std::string::npos && io::parse_all_reduce(all_reduce);
  if (!open || nodes.empty()) return all_reduce;
  const std::vector<int> all = Reader().nodes(nodes);
  if (all.size() == 1 && all.front() > 1) return all_reduce + "@" + fmt::to_string(all.front());
  if (all.size() < 2) return all_reduce;
  throw InputError(Diagnostic{{io::kCommandLine, 0, 0},
                              "--all-reduce-gbps",
                              "on how many of these nodes it was measured is not stated",
                              "write them behind it: " + printable(all_reduce, 40) + "@32"});
}

/// Remark on what of a scenario plans are made for, and what slows them.
void remark_scenario(const WhatIfRequest& o, models::Job job, const planner::WhatIfQuestion& q,
                     Remarks& remarks) {
  const int nodes = q.solves_for_nodes() ? q.most_nodes : q.nodes.front();
  std::string measured;
  bool for_spine = false;
  for (const topology::Instance& type : q.instances) {
    job.cluster = {type, nodes};
    if (plans_for_spine(job))
      for_spine = true;
    else
      measured = type.name;
  }
  models::Scenario rest = scenario_on(o.scenario, job.cluster, o.job.texts);
  const bool on_spine = std::exchange(rest.spine, 1) != 1;
  const char* machine = !on_spine || !for_spine ? "an ideal machine"
                        : rest.is_ideal()       ? "a machine with that spine"
                                                : "a machine with that spine and nothing else slow";
  std::string but;
  if (on_spine && !measured.empty())
    but = for_spine ? ", on " + measured + ", whose network was measured, those of an ideal one"
                    : ", as the network of " + measured + " was measured";
  remarks.add(
      fmt::format("plans are those of {}{}; their steps are with --scenario {}", machine, but, o.scenario));
}

/// The nodes of the job, and of one number twice and four times as many.
std::vector<int> nodes_around(const models::Job& job) {
  if (!job.space.nodes.empty()) return job.space.nodes;
  std::vector<int> all;
  for (int nodes = job.cluster.nodes; nodes <= std::min(4 * job.cluster.nodes, topology::kMostNodes);
       nodes *= 2)
    all.push_back(nodes);
  return all;
}

planner::Preference preference_of(const std::string& word) {
  if (word == "cheapest") return planner::Preference::cheapest;
  if (word == "fastest") return planner::Preference::fastest;
  return word == "smallest" ? planner::Preference::smallest : planner::Preference::fitting;
}

}  // namespace

planner::WhatIfQuestion question_of(const WhatIfRequest& o, const models::Job& job,
                                    const io::Catalog& catalog, Remarks& remarks) {
  Reader read;
  planner::WhatIfQuestion q;
  if (!o.nodes.empty()) q.nodes = read.nodes(o.nodes);
  const bool limits = !o.deadline.empty() || !o.budget.empty() || job.deadline.value > 0 || job.budget > 0;
  q.tokens = read.tokens(o.tokens, job.training.tokens, limits);
  if (const std::string few = planner::why_too_few_tokens(q.tokens, job.training); q.tokens > 0 && !few.empty())
    read.fault("--tokens", few, "write for example 2T");
  q.deadline = read.deadline(o.deadline);
  q.budget = read.budget(o.budget);
  q.confidence = read.confidence(o.confidence);
  q.instances = read.instances(o.instances, job, catalog, remarks);
  const bool wrong_tokens = !o.tokens.empty() && q.asks_for_tokens();  // said already
  if (q.nodes.empty() && o.nodes.empty() && !wrong_tokens && (q.asks_for_tokens() || !limits)) {
    if (states_nodes(o, catalog)) {
      q.nodes = nodes_around(job);
      if (job.space.nodes.empty())
        remarks.add(fmt::format("assumed --nodes {}, the job's {} and more", fmt::join(q.nodes, ","),
                                job.cluster.nodes),
                    "assumed");
    } else {
      read.fault("--nodes", "neither the nodes to compare nor what they are solved from is stated",
                 "write for example --nodes 4..128, or --tokens 2T with --deadline 60d or --budget 2.5M");
    }
  }
  if (q.nodes.empty() && !q.confidence) q.confidence = kSolvedFor;
  if ((o.storage_gib > 0) != (o.storage_price > 0)) {
    read.fault("--storage-gib", "a price of storage needs its size and its price per GiB",
               "give both --storage-gib and --storage-usd-per-gib-month, or neither");
  }
  if (q.instances.size() > 1 && o.usd_per_node_hour) {
    read.fault("--usd-per-node-hour", "one price is stated for several instance types",
               "state one each: --price TYPE=USD/h,TYPE=USD/h");
  }
  if (q.nodes.size() * q.instances.size() > kMostPoints) {
    read.fault("--nodes", std::to_string(q.nodes.size() * q.instances.size()) + " clusters are asked for",
               "ask for at most " + std::to_string(kMostPoints));
  }
  q.prices = price_options(o, q.instances, catalog, read.faults());
  read.finish();
  q.scaling = o.scaling == "weak" ? planner::Scaling::weak : planner::Scaling::strong;
  q.recovery = o.recovery == "manual" ? planner::Recovery::manual : planner::Recovery::automatic;
  q.preference = preference_of(o.prefer);
  q.asynchronous = o.asynchronous;
  q.checkpoint_steps = o.checkpoint_steps;
  q.allow_doubtful = o.allow_doubtful;
  q.scenario = o.scenario;
  q.threads = 0;
  return q;
}

void take_over(models::Job& job, planner::WhatIfQuestion& q) {
  if (job.space.batch_per_node > 0) q.scaling = planner::Scaling::weak;
  if (!q.deadline && job.deadline.value > 0) q.deadline = job.deadline;
  if (!q.budget && job.budget > 0) q.budget = job.budget;
  without_limits(job);
}

planner::Reliability load_reliability(const io::Catalog& catalog, const WhatIfRequest& o) {
  std::optional<Node> own;
  if (!o.reliability.empty()) own = read_document(o.reliability);
  planner::Reliability r = io::reliability_or_usual(own, catalog);
  if (o.storage_speed) {
    r.value(planner::ReliabilityParameter::storage_throughput) = {*o.storage_speed * 1e9, 0, "command line"};
  }
  if (o.failure_rate) {
    models::Value& rate = r.value(planner::ReliabilityParameter::failure_rate);
    rate = {*o.failure_rate, rate.log_sd, "command line"};
    r.rate_of_node = true;
  }
  return r;
}

namespace {

/// The first type of the list; "" without one that is known.
std::string first_type(const std::string& instances) {
  const std::vector<std::string> parts = comma_parts(instances);
  if (parts.empty() || instances == "all") return "";
  return io::type_called(parts.front(), io::Catalog::standard()).name;
}

/// States for each point whether its plan can be written, and once per type why not.
class WriterTeller {
 public:
  WriterTeller(const ResolvedJob& resolved, const std::vector<topology::Instance>& instances,
               std::string_view named, Remarks& remarks)
      : resolved_(resolved), instances_(instances), named_(named), remarks_(remarks) {}

  void tell(planner::WhatIfPoint& p) {
    if (!p.plan) return;
    const StackRef on =
        resolved_.stack_of(on_cluster(resolved_.job(), instances_, *p.plan), p.plan->strategy);
    const planner::Target* target = on->stack.target;
    const std::optional<std::string> why =
        target == nullptr ? fmt::format("no target writes the training loop {} there", name_of(on->stack))
                          : why_no_folder(*target, on->job, p.plan->strategy);
    if (!why) p.target = named_;
    if (!why || !told_.insert(p.instance).second) return;
    remarks_.add(fmt::format("{} x {}: no config or script is written: {}", p.nodes, p.instance, *why),
                 "target");
  }

 private:
  const ResolvedJob& resolved_;
  const std::vector<topology::Instance>& instances_;
  std::string_view named_;  ///< the request's target
  Remarks& remarks_;
  std::set<std::string> told_;
};

}  // namespace

models::Job on_cluster(models::Job job, const std::vector<topology::Instance>& types,
                       const planner::Plan& plan) {
  job.space.instances = types;
  return planner::as_planned(std::move(job), plan);
}

void without_limits(models::Job& job) {
  job.space.nodes.clear();
  job.space.instances.clear();
  job.space.batch_per_node = 0;
  job.objective = models::Objective::step_time;
  job.deadline = {};
  job.budget = 0;
}

std::vector<std::string> paths_of(const WhatIfRequest& o) {
  return {o.job.job,
          o.profile,
          o.reliability,
          o.offerings,
          is_price_file(o.price) ? o.price : "",
          io::is_scenario_file(o.scenario) ? o.scenario : ""};
}

WhatIfAnswered whatif(const WhatIfRequest& request, Remarks& remarks) {
  WhatIfRequest o = request;
  o.job.options.own_nodes = true;
  o.job.options.all_reduce = measured_on(o.job.options.all_reduce, o.nodes);
  o.job.options.own_instances = !o.instances.empty();
  o.job.options.first_instance = first_type(o.instances);
  planner::WhatIfQuestion question;
  const auto ask = [&](io::JobReading& reading, const io::Catalog& catalog) {
    // The kind of a folder's price holds for a price stated of its nodes, and for terms, too.
    const auto& chosen = reading.job.cluster.instance.chosen;
    const bool usual = planner::pricing_from(o.pricing) == planner::Pricing::usual;
    const bool own = o.instances.empty() ||
                     io::type_called(o.instances, catalog).name == reading.job.cluster.instance.name;
    if (usual && chosen && !chosen->is_stated() && own) o.pricing = chosen->kind;
    question = question_of(o, reading.job, catalog, remarks);
    take_over(reading.job, question);
    if (question.budget) refuse_unpriced(reading, question.instances, question.prices);
    if (!o.scenario.empty()) check_scenario(o.scenario, question, o.job.texts);
    reading.job.space.instances = question.instances;
    reading.job.space.nodes = question.nodes;
  };
  const ResolvedJob resolved = resolve(o, {.compares = true, .amend = ask}, remarks);
  const planner::Reliability reliability = load_reliability(resolved.catalog(), o);
  models::Job job = resolved.job();
  job.space.instances.clear();  // the question contains them
  job.space.nodes.clear();
  if (job.pin.data_parallel)
    remarks.add(
        "pin.data_parallel applies to the job's own cluster only; elsewhere it follows from the nodes");
  for (const topology::Instance& type : question.instances) {
    if (!job.all_reduce || type.name == job.all_reduce->instance) continue;
    remarks.add(io::network_is_assumed(job.all_reduce->instance, type.name));
  }
  const Predictor predictor(resolved, o.risk);
  std::mutex progress;
  const auto recommend = [&](const models::Job& at, const models::Profile&,
                             const planner::SearchOptions& options) {
    if (o.progress) {
      const std::lock_guard lock(progress);
      o.progress(at.cluster.instance.name, at.cluster.nodes);
    }
    models::Scenario scenario = scenario_on(o.scenario, at.cluster, o.job.texts);
    const models::Job seen = with_spine(at, scenario);
    Recommendation found = predictor.recommend(seen, options);
    planner::SearchResult& search = found.search;
    if (scenario.is_ideal() || search.plans.empty()) return std::move(search);
    planner::Plan& plan = search.plans[search.recommended];
    const models::Job on = planner::as_planned(found.stack->job, plan);
    slow_down(plan, o.scenario, scenario, on, *found.stack->profile);
    return std::move(search);
  };
  if (!o.scenario.empty()) remark_scenario(o, job, question, remarks);
  planner::WhatIfResult result =
      planner::whatif(job, question, resolved.profile_on(question.instances.front()), reliability, recommend);
  WriterTeller writers(resolved, question.instances, o.target, remarks);
  for (planner::WhatIfPoint& p : result.points) writers.tell(p);
  if (result.would_do) writers.tell(*result.would_do);
  if (result.reaches) writers.tell(*result.reaches);
  const planner::WhatIfPoint* named = result.would_do ? &*result.would_do : nullptr;
  if (result.recommended >= 0) named = &result.points[static_cast<std::size_t>(result.recommended)];
  if (named != nullptr) {
    const StackRef on =
        resolved.stack_of(on_cluster(job, question.instances, *named->plan), named->plan->strategy);
    remark_release(*on->profile, on->job, remarks);
    const std::string beyond = beyond_the_fit(fmt::format("{} x {}", named->nodes, named->instance).c_str(),
                                              *on->profile, on->job, named->plan->strategy);
    if (!beyond.empty()) remarks.add(beyond, "beyond-fit");
  }
  std::set<std::string> said{named != nullptr ? named->instance : ""};
  for (const planner::WhatIfPoint& p : result.points) {
    if (!p.plan || !said.insert(p.instance).second) continue;
    const StackRef on = resolved.stack_of(on_cluster(job, question.instances, *p.plan), p.plan->strategy);
    remark_site(*on->profile, on->job, remarks);
  }
  return {std::move(result), question, job, reliability};
}

}  // namespace trnplan::api
